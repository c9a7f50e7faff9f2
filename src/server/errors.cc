#include "server/errors.h"

#include <nlohmann/json.hpp>

#include "server/json_body.h"

namespace tempo9::server {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 501:
      return "not_implemented_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

http::Response make_response(int status, Json body) {
  http::Response response;
  response.status = status;
  response.body = dump(body);
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  // The OpenAI and Anthropic SDKs try a 5xx again unless told so; what cannot be done stays so.
  if (status == 501) response.headers.emplace_back("x-should-retry", "false");
  return response;
}

http::Response openai_response(int status, std::string_view message, std::string_view param,
                               std::string_view code) {
  Json error = Json::object();
  error["message"] = message;
  error["type"] = error_type(status);
  error["param"] = param.empty() ? Json(nullptr) : Json(param);
  error["code"] = code.empty() ? Json(nullptr) : Json(code);
  return make_response(status, Json{{"error", std::move(error)}});
}

http::Response anthropic_response(int status, std::string_view message) {
  // The SDK knows these types and no others.
  const std::string_view type = status == 413                    ? "request_too_large"
                                : status == 429                  ? "rate_limit_error"
                                : status >= 500 && status != 503 ? "api_error"
                                                                 : error_type(status);
  Json body = Json::object();
  body["type"] = "error";
  body["error"] = {{"type", type}, {"message", message}};
  body["request_id"] = nullptr;
  return make_response(status, std::move(body));
}

http::Response ollama_response(int status, std::string_view message) {
  return make_response(status, Json{{"error", message}});
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kCorrupt:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kCancelled:
      return 503;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return 500;
}

std::string param_of(std::string_view message) {
  const std::string_view name = message.substr(0, message.find(": "));
  if (name.size() == message.size() || name.empty() || !is_name_char(name.front())) return {};
  for (const char c : name) {
    if (!is_name_char(c) && c != '.' && c != '[' && c != ']') return {};
  }
  return std::string(name);
}

http::Response openai_error(const Error& error) {
  const int status = http_status(error.code);
  std::string_view code;
  // Codex, opencode and pi compact the conversation when they see this code.
  if (status == 400 && error.message.find("maximum context length is") != std::string::npos) {
    code = "context_length_exceeded";
  } else if (status == 501) {
    code = "not_available";
  }
  return openai_response(status, error.message, param_of(error.message), code);
}

http::Response openai_error(int status, std::string_view message, std::string_view code) {
  return openai_response(status, message, {}, code);
}

http::Response anthropic_error(const Error& error) {
  return anthropic_response(http_status(error.code), error.message);
}

http::Response ollama_error(const Error& error) {
  return ollama_response(http_status(error.code), error.message);
}

http::Response error_for_path(std::string_view path, int status, std::string_view message,
                              std::string_view code) {
  if (path.starts_with("/v1/messages")) return anthropic_response(status, message);
  if (path.starts_with("/api/")) return ollama_response(status, message);
  return openai_error(status, message, code);
}

http::Response error_for_path(std::string_view path, const Error& error) {
  if (path.starts_with("/v1/messages")) return anthropic_error(error);
  if (path.starts_with("/api/")) return ollama_error(error);
  return openai_error(error);
}

}  // namespace tempo9::server
