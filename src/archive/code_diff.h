// What changed files differ in from their commit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "archive/code_folder.h"
#include "base/result.h"

namespace sl::archive {

struct CodeDiff {
  std::string text;          // its bytes are those of the files and need not be UTF-8
  std::size_t left_out = 0;  // files that differ and are not in it
};

// The differences from `code.commit` as `git diff --binary` prints them, for `git apply`, whatever the user has
// configured: files that git has not been told of are new ones. Binary files above `bytes_max` are left out. Nothing is
// written into the repository. Empty: there is no commit, or nothing differs. Errors: those of git().
Result<CodeDiff> diff_of(const CodeFolder& code, std::size_t bytes_max);

// Of such a diff at most `bytes_max` bytes. A file for which there is no room left is left out as a whole, binary ones
// before others, and the last line says how many are: "# 2 more files differ; at most 1024 KiB of a diff are kept".
std::string cut_diff(const CodeDiff& diff, std::size_t bytes_max);

}  // namespace sl::archive
