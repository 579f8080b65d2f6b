#include "archive/code_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "archive/git.h"
#include "archive/temporary_folder.h"

namespace sl::archive {
namespace {

namespace fs = std::filesystem;

// Copies the index and adds files to the copy, with nothing in them: then git compares what is in the folder.
Status add_untracked(const CodeFolder& code, const std::string& copy) {
  auto index = git(code.top, {"rev-parse", "--git-path", "index"});
  if (!index.ok()) return index.error();
  while (index->ends_with('\n')) index->pop_back();
  const auto nothing = git(code.top, {"hash-object", "-t", "blob", "--stdin"});
  if (!nothing.ok()) return nothing.error();
  const std::string object = nothing->substr(0, nothing->find('\n'));
  std::error_code failed;
  const fs::path original = fs::path(code.top) / *index;
  if (fs::exists(original, failed)) fs::copy_file(original, copy, failed);
  if (failed) return unavailable("snapshot-failed", "cannot copy " + original.string() + ": " + failed.message());
  std::string entries;
  for (const std::string& name : code.untracked) entries += fmt::format("100644 {}\t{}", object, name) + '\0';
  const auto added = git(code.top, {"update-index", "-z", "--index-info"}, {.input = entries, .index = copy});
  return added.ok() ? Status() : added.error();
}

}  // namespace

Result<std::string> diff_of(const CodeFolder& code) {
  if (code.commit.empty() || code.changed.empty()) return std::string();
  const TemporaryFolder folder;
  if (folder.path().empty()) return unavailable("snapshot-failed", "there is no room for a temporary folder");
  const std::string index = folder.path() + "/index";
  if (Status added = add_untracked(code, index); !added.ok()) return added.error();
  return git(
      code.top,
      {"-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/",
       "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none", "--find-renames", "--unified=3", "HEAD"},
      {.index = index});
}

std::string cut_diff(std::string_view diff, std::size_t bytes_max) {
  constexpr std::size_t room_for_the_last_line = 100;
  if (diff.size() <= bytes_max) return std::string(diff);
  const std::size_t room = bytes_max - std::min(bytes_max, room_for_the_last_line);
  std::string kept;
  std::size_t left_out = 0;
  while (!diff.empty()) {
    // Lines of files begin with a blank, a sign or @@.
    const std::size_t next = diff.find("\ndiff --");
    const std::string_view file = diff.substr(0, next == std::string_view::npos ? next : next + 1);
    kept.size() + file.size() <= room ? void(kept.append(file)) : void(++left_out);
    diff.remove_prefix(file.size());
  }
  return kept + fmt::format("# {} more file{} differ{}; at most {} KiB of a diff are kept\n", left_out,
                            left_out == 1 ? "" : "s", left_out == 1 ? "s" : "", bytes_max >> 10);
}

}  // namespace sl::archive
