// Expected failures as values: `Status` (ok or an Error) and `Result<T>` (a T or an Error).
//
// An Error is what a user reads, in the fixed form of the command line and of problem+json: a stable code
// ("gpus-unsatisfiable"), a message in lower case without a full stop, facts in `notes`, remedies in `hints`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace sl {

enum class ErrorKind {
  invalid,      // the request itself is wrong: bad value, unknown key, unsatisfiable (exit 2, HTTP 400/422)
  not_found,    // no such job, server, policy (exit 3, 404)
  denied,       // not allowed (exit 4, 401/403)
  conflict,     // not possible in the current state (exit 5, 409)
  unavailable,  // the other side cannot be reached or has no room (exit 6, 503)
  too_large,    // body over the limit (413)
  internal,     // our fault or the machine's (exit 1, 500)
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string code;                     // stable, kebab-case, the same in CLI and REST
  std::string message;                  // what happened, to which thing
  std::vector<std::string> notes = {};  // facts
  std::vector<std::string> hints = {};  // at most two remedies, each with an exact command where possible
  std::string pointer = {};             // JSON pointer or "line 3, column 7" of the offending input, may be empty

  Error&& note(std::string text) && {
    notes.push_back(std::move(text));
    return std::move(*this);
  }
  Error&& hint(std::string text) && {
    hints.push_back(std::move(text));
    return std::move(*this);
  }
  Error&& at(std::string where) && {
    pointer = std::move(where);
    return std::move(*this);
  }
};

inline Error invalid(std::string code, std::string message) {
  return {ErrorKind::invalid, std::move(code), std::move(message)};
}
inline Error not_found(std::string code, std::string message) {
  return {ErrorKind::not_found, std::move(code), std::move(message)};
}
inline Error denied(std::string code, std::string message) {
  return {ErrorKind::denied, std::move(code), std::move(message)};
}
inline Error conflict(std::string code, std::string message) {
  return {ErrorKind::conflict, std::move(code), std::move(message)};
}
inline Error unavailable(std::string code, std::string message) {
  return {ErrorKind::unavailable, std::move(code), std::move(message)};
}
inline Error internal_error(std::string code, std::string message) {
  return {ErrorKind::internal, std::move(code), std::move(message)};
}

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor): `return invalid(…)`
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    SL_CHECK(error_.has_value(), "only a failed status has an error");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    check();
    return std::get<0>(state_);
  }
  const T& value() const& {
    check();
    return std::get<0>(state_);
  }
  T&& value() && {
    check();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    SL_CHECK(!ok(), "only a failed result has an error");
    return std::get<1>(state_);
  }

 private:
  void check() const { SL_CHECK(ok(), "only a successful result has a value"); }
  std::variant<T, Error> state_;
};

}  // namespace sl
