#include "base/number_ranges.h"

#include <algorithm>
#include <charconv>

namespace sl {
namespace {

constexpr std::int64_t number_max = 1'000'000'000'000'000;

// Takes a whole number from the front of the text.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.front() == '-' || number > number_max) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

NumberRanges NumberRanges::below(std::int64_t count) {
  NumberRanges set;
  if (count > 0) set.ranges_.push_back({0, count - 1});
  return set;
}

NumberRanges NumberRanges::of(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  NumberRanges set;
  for (const std::int64_t number : numbers) set.append({number, number});
  return set;
}

void NumberRanges::append(Range range) {
  if (!empty() && ranges_.back().last + 1 >= range.first)
    ranges_.back().last = range.last;
  else
    ranges_.push_back(range);
}

std::optional<NumberRanges> NumberRanges::parse(std::string_view text) {
  NumberRanges set;
  while (!text.empty()) {
    const auto first = take_number(text);
    if (!first) return std::nullopt;
    const auto last = take(text, '-') ? take_number(text) : first;
    const bool ascends = last && *first <= *last && (set.empty() || set.ranges_.back().last < *first);
    if (!ascends || (!text.empty() && (!take(text, ',') || text.empty()))) return std::nullopt;
    set.append({*first, *last});
  }
  return set;
}

std::string NumberRanges::text() const {
  std::string text;
  for (const Range& range : ranges_) {
    text += (text.empty() ? "" : ",") + std::to_string(range.first);
    if (range.last > range.first) text += "-" + std::to_string(range.last);
  }
  return text;
}

std::int64_t NumberRanges::count() const {
  std::int64_t count = 0;
  for (const Range& range : ranges_) count += range.last - range.first + 1;
  return count;
}

bool NumberRanges::contains(std::int64_t number) const { return place_of(number).has_value(); }

void NumberRanges::remove(std::int64_t number) {
  const auto at = std::ranges::find_if(ranges_, [&](const Range& range) { return number <= range.last; });
  if (at == ranges_.end() || number < at->first) return;
  const Range after{number + 1, at->last};
  at->last = number - 1;
  const bool has_before = at->first <= at->last, has_after = after.first <= after.last;
  if (!has_before && !has_after)
    ranges_.erase(at);
  else if (!has_before)
    *at = after;
  else if (has_after)
    ranges_.insert(at + 1, after);
}

std::int64_t NumberRanges::at(std::int64_t place) const {
  for (const Range& range : ranges_) {
    const std::int64_t size = range.last - range.first + 1;
    if (place < size) return range.first + place;
    place -= size;
  }
  return -1;
}

std::optional<std::int64_t> NumberRanges::place_of(std::int64_t number) const {
  std::int64_t before = 0;
  for (const Range& range : ranges_) {
    if (number < range.first) return std::nullopt;
    if (number <= range.last) return before + number - range.first;
    before += range.last - range.first + 1;
  }
  return std::nullopt;
}

}  // namespace sl
