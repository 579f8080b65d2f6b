// JSON for people and their programs: numbers as they are written by hand (120 and 0.5, not 1.2E2 and 5E-1).
#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace sl::wire {

// The shortest text that reads as the same number, without an exponent where that is not long; "null" if it is infinite
// or no number.
std::string number_text(double number);

// In one line, without blanks.
std::string json_text(const boost::json::value& value);

}  // namespace sl::wire
