// Asks git.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::archive {

using Names = std::vector<std::string>;

struct GitUse {
  std::string input = {};  // what it reads
  std::string index = {};  // the file that takes the place of the repository's index; empty: none
};

// What `git -C folder words...` prints. Errors: "snapshot-needs-git", "snapshot-failed" with git's own words.
Result<std::string> git(const std::string& folder, const Names& words, const GitUse& use = {});

// Names that end with a zero byte, as git's -z prints them.
Names split_zeros(std::string_view text);

}  // namespace sl::archive
