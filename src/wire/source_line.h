// Errors in a user's text: the position, and the line with a caret below it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::wire {

struct Place {
  std::size_t line = 1;    // from 1
  std::size_t column = 1;  // from 1, in bytes
};

std::string place_text(Place place);  // "line 2, column 7"

// The error with two notes: the line of the text and the caret. A line that is long, empty or has control characters is
// not shown.
Error with_source_line(Error error, std::string_view text, Place place);

}  // namespace sl::wire
