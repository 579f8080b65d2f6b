// Names as people type them: which spellings are the same name, and the known word nearest to a mistyped one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sl {

// Case, `_`, `-` and spaces do not matter: "FIFO First-Fit" is fifo_first_fit.
bool is_same_name(std::string_view a, std::string_view b);

// The nearest candidate within a third of the word's length in single edits (at least one; swapping two neighbouring
// letters counts as one edit); nothing if none is that near. Ties: the first.
std::optional<std::string> did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace sl
