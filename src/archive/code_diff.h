// What changed files differ in from their commit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "archive/code_folder.h"
#include "base/result.h"

namespace sl::archive {

// The differences from `code.commit` as `git diff` prints them, whatever the user has configured: files that git has not
// been told of are new ones, binary files are only named. Nothing is written into the repository. Empty: there is no
// commit, or nothing differs. The bytes are those of the files and need not be UTF-8. Errors: those of git().
Result<std::string> diff_of(const CodeFolder& code);

// Of such a diff at most `bytes_max` bytes: a file for which there is no room left is left out as a whole, and the last
// line says how many are: "# 2 more files differ; at most 1024 KiB of a diff are kept".
std::string cut_diff(std::string_view diff, std::size_t bytes_max);

}  // namespace sl::archive
