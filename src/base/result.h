// Result<T>: a value or an Error. The one way that failure travels in this project.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace tempo9 {

// What kind of failure, for those who must decide (HTTP status, exit code). The message is for
// people.
enum class ErrorCode {
  kInvalidArgument,    // the caller asked for something that can never work (400, exit 2 on the
                       // command line)
  kNotFound,           // a named thing does not exist
  kCorrupt,            // a file or body is damaged or breaks its format
  kUnsupported,        // valid, but this build or model cannot do it (501)
  kResourceExhausted,  // memory, context or queue is full
  kCancelled,          // the one who asked has gone
  kIo,                 // the operating system said no
  kInternal,           // our fault
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // names the thing, what was found, what was expected, what to do
};

// A class and not an alias, so that it can be [[nodiscard]].
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Error error)
      : Base(tl::unexpected<Error>(std::move(error))) {}  // NOLINT(google-explicit-constructor)
};

using Status = Result<void>;

// make_error(ErrorCode::kCorrupt, "{}: found {} tensors, expected at most {}", path, n, max)
template <typename... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace tempo9

#define T9_CONCAT_INNER(a, b) a##b
#define T9_CONCAT(a, b) T9_CONCAT_INNER(a, b)

// T9_TRY(expr): returns the error of a Status or Result whose value is not needed.
// T9_TRY(auto x, expr): declares x from the value, or returns the error.
#define T9_TRY_1(expr)                         \
  do {                                         \
    if (auto t9_status = (expr); !t9_status) { \
      return std::move(t9_status).error();     \
    }                                          \
  } while (false)
#define T9_TRY_2(decl, expr)                                   \
  auto T9_CONCAT(t9_result_, __LINE__) = (expr);               \
  if (!T9_CONCAT(t9_result_, __LINE__)) {                      \
    return std::move(T9_CONCAT(t9_result_, __LINE__)).error(); \
  }                                                            \
  decl = std::move(*T9_CONCAT(t9_result_, __LINE__))
#define T9_TRY_PICK(_1, _2, name, ...) name
#define T9_TRY(...) T9_TRY_PICK(__VA_ARGS__, T9_TRY_2, T9_TRY_1)(__VA_ARGS__)
