// A set of whole numbers from 0, kept as ranges without gaps: "0-99,105". Ten thousand numbers in a row take no more
// memory than two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sl {

class NumberRanges {
 public:
  NumberRanges() = default;
  // 0 to count - 1
  static NumberRanges below(std::int64_t count);
  // Numbers not below 0, in any order, also more than once.
  static NumberRanges of(std::vector<std::int64_t> numbers);
  // Reads what text() writes. Nothing if it is malformed, not ascending, or a number is negative or above 10^15.
  static std::optional<NumberRanges> parse(std::string_view text);
  std::string text() const;  // empty: no number

  bool empty() const { return ranges_.empty(); }
  std::int64_t count() const;
  std::int64_t first() const { return ranges_.front().first; }  // of a set that is not empty
  bool contains(std::int64_t number) const;
  bool at_or_above(std::int64_t number) const { return !empty() && ranges_.back().last >= number; }  // has any there
  void remove(std::int64_t number);  // no effect if it is not there
  void clear() { ranges_.clear(); }

  // The number at this place in ascending order, from 0; the place must be below count().
  std::int64_t at(std::int64_t place) const;
  std::optional<std::int64_t> place_of(std::int64_t number) const;

  friend bool operator==(const NumberRanges&, const NumberRanges&) = default;

 private:
  struct Range {
    std::int64_t first = 0, last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  void append(Range range);  // it begins at or after the end of the last one

  std::vector<Range> ranges_;  // ascending, with gaps between them
};

}  // namespace sl
