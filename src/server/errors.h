// Failures to HTTP, in the shape of the dialect that was spoken:
// OpenAI {"error": {"message", "type", "param", "code"}}, Anthropic {"type": "error", "error":
// {"type", "message"}}, Ollama {"error": message}.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "server/http/message.h"

namespace tempo9::server {

// kInvalidArgument and kCorrupt 400, kNotFound 404, kUnsupported 501, kResourceExhausted and
// kCancelled 503, else 500.
int http_status(ErrorCode code);

// param: what stands before the first ": " of the message if that is the name of a field ("stop[1]:
// found ...").
std::string param_of(std::string_view message);

http::Response openai_error(const Error& error);
http::Response openai_error(int status, std::string_view message, std::string_view code);
http::Response anthropic_error(const Error& error);
http::Response ollama_error(const Error& error);

// In the shape of the dialect whose path this is; OpenAI's where it is none's. code is OpenAI's.
http::Response error_for_path(std::string_view path, int status, std::string_view message,
                              std::string_view code);
http::Response error_for_path(std::string_view path, const Error& error);

}  // namespace tempo9::server
