// "Did you mean": the known word nearest to one that was mistyped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sl {

// The candidate within a third of the word's length in single edits (at least one, neighbours swapped count as one);
// empty when none is near. Ties: the first.
std::optional<std::string> did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace sl
