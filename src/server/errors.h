// Failures to HTTP, in the OpenAI shape: {"error": {"message", "type", "param", "code"}}.
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

}  // namespace tempo9::server
