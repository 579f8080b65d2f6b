#include "archive/git.h"

#include <algorithm>
#include <utility>

#include "archive/program.h"

namespace sl::archive {

Result<std::string> git(const std::string& folder, const Names& words, const GitUse& use) {
  Names arguments = {"git", "-C", folder};
  if (!use.index.empty()) arguments.insert(arguments.begin(), {"env", "GIT_INDEX_FILE=" + use.index});
  arguments.insert(arguments.end(), words.begin(), words.end());
  auto end = run_program(arguments, use.input);
  if (!end.ok() && end.error().code == "program-missing")
    return not_found("snapshot-needs-git", "a snapshot needs git, which says what a .gitignore excludes")
        .hint("install git")
        .hint("or leave snapshot out: the code runs in its own folder");
  if (!end.ok()) return end.error();
  if (end->status == 0) return std::move(end->output);
  std::string said = end->errors.substr(0, end->errors.find('\n'));
  if (said.starts_with("fatal: ")) said.erase(0, 7);
  return invalid("snapshot-failed", "git says of " + folder + ": " + said);
}

Names split_zeros(std::string_view text) {
  Names names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    if (end > 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

}  // namespace sl::archive
