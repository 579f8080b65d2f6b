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

// What git would need as much memory for as they are large.
Result<Names> large_binaries(const CodeFolder& code, const std::string& index, std::size_t bytes_max) {
  constexpr std::string_view binary = "-\t-\t";  // instead of numbers of lines
  const auto counts = git(code.top,
                          {"diff", "--numstat", "-z", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
                           "--ignore-submodules=all", "HEAD"},
                          {.index = index});
  if (!counts.ok()) return counts.error();
  Names large;
  for (const std::string& entry : split_zeros(*counts)) {
    std::error_code removed;
    if (entry.starts_with(binary) &&
        fs::file_size(fs::path(code.top) / entry.substr(binary.size()), removed) > bytes_max && !removed)
      large.push_back(entry.substr(binary.size()));
  }
  return large;
}

Names files_of(std::string_view diff) {
  Names files;
  while (!diff.empty()) {
    // Lines of files begin with a blank, a sign or @@, those of binary ones have no blank.
    const std::size_t next = diff.find("\ndiff --");
    files.emplace_back(diff.substr(0, next == std::string_view::npos ? next : next + 1));
    diff.remove_prefix(files.back().size());
  }
  return files;
}

bool is_binary(const std::string& file) { return file.find("\nGIT binary patch\n") != std::string::npos; }

}  // namespace

Result<CodeDiff> diff_of(const CodeFolder& code, std::size_t bytes_max) {
  if (code.commit.empty() || code.changed.empty()) return CodeDiff();
  const TemporaryFolder folder;
  if (folder.path().empty()) return unavailable("snapshot-failed", "there is no room for a temporary folder");
  const std::string index = folder.path() + "/index";
  if (Status added = add_untracked(code, index); !added.ok()) return added.error();
  const auto large = large_binaries(code, index, bytes_max);
  if (!large.ok()) return large.error();
  Names words = {"-c",
                 "core.quotePath=false",
                 "diff",
                 "--binary",
                 "--no-color",
                 "--no-ext-diff",
                 "--no-textconv",
                 "--src-prefix=a/",
                 "--dst-prefix=b/",
                 "--submodule=short",
                 "--ignore-submodules=none",
                 "--find-renames",
                 "--unified=3",
                 "HEAD",
                 "--"};
  for (const std::string& name : *large) words.push_back(":(exclude,top,literal)" + name);
  auto text = git(code.top, words, {.index = index});
  if (!text.ok()) return text.error();
  return CodeDiff{std::move(*text), large->size()};
}

std::string cut_diff(const CodeDiff& diff, std::size_t bytes_max) {
  constexpr std::size_t room_for_the_last_line = 100;
  if (diff.left_out == 0 && diff.text.size() <= bytes_max) return diff.text;
  Names files = files_of(diff.text);
  std::size_t room = bytes_max - std::min(bytes_max, room_for_the_last_line), left_out = diff.left_out;
  for (const bool binary : {false, true}) {
    for (std::string& file : files) {
      if (is_binary(file) != binary) continue;
      file.size() <= room ? void(room -= file.size()) : void((file.clear(), ++left_out));
    }
  }
  return fmt::format("{}# {} more file{} differ{}; at most {} KiB of a diff are kept\n", fmt::join(files, ""), left_out,
                     left_out == 1 ? "" : "s", left_out == 1 ? "s" : "", bytes_max >> 10);
}

}  // namespace sl::archive
