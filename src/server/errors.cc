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

http::Response make_response(int status, std::string_view message, std::string_view param,
                             std::string_view code) {
  Json error;
  error["message"] = message;
  error["type"] = error_type(status);
  error["param"] = param.empty() ? Json(nullptr) : Json(param);
  error["code"] = code.empty() ? Json(nullptr) : Json(code);
  http::Response response;
  response.status = status;
  response.body = dump(Json{{"error", std::move(error)}});
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
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
  return make_response(status, error.message, param_of(error.message), code);
}

http::Response openai_error(int status, std::string_view message, std::string_view code) {
  return make_response(status, message, {}, code);
}

}  // namespace tempo9::server
