// What each error code means and what to do about it: `schedulearn help error CODE` shows it, and an error that has no
// hint of its own gets the remedy as its hint. tools/tidy checks that every code of the sources is here, and no other.
#pragma once

#include <span>
#include <string_view>

namespace sl::wire {

struct ErrorCode {
  std::string_view code;
  std::string_view meaning;  // when it comes, in a sentence without a full stop
  std::string_view remedy;   // what to do, likewise
};

std::span<const ErrorCode> error_codes();  // by name
const ErrorCode* find_error_code(std::string_view code);

}  // namespace sl::wire
