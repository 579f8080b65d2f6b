// Which files of a folder are its code, as git sees it: everything but what a .gitignore excludes. Repositories inside
// the folder, submodules included, belong to it with what git sees in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::archive {

struct CodeFolder {
  std::string top;                     // what is packed
  std::string subfolder;               // in which the code is started, relative to `top`; empty: there
  std::vector<std::string> files;      // relative to `top`, in order: files and links
  std::int64_t bytes = 0;              // of the files
  std::string commit;                  // abbreviated; empty: none
  std::vector<std::string> changed;    // files that differ from the commit, new ones included
  std::vector<std::string> untracked;  // of these, those that git has not been told of
};

// `folder` alone, whether it is in a repository or not. Errors: "snapshot-needs-git", "snapshot-failed".
Result<CodeFolder> code_of_folder(const std::string& folder);
// The whole repository that `folder` is in. Errors: also "not-a-repository".
Result<CodeFolder> code_of_repository(const std::string& folder);

// The `count` largest files with their sizes, largest first.
std::vector<std::pair<std::string, std::int64_t>> largest_files(const CodeFolder& code, std::size_t count);

}  // namespace sl::archive
