#include "archive/code_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "archive/git.h"
#include "archive/temporary_folder.h"

namespace sl::archive {
namespace {

Result<Names> list(const std::string& folder, const Names& before = {}) {
  Names words = before;
  words.insert(words.end(), {"ls-files", "-z", "--cached", "--others", "--exclude-standard"});
  auto text = git(folder, words);
  if (!text.ok()) return text.error();
  return split_zeros(*text);
}

// Where a repository that has nothing in it sees the folder, which is in none.
Result<Names> list_outside(const std::string& folder) {
  const TemporaryFolder empty;
  if (empty.path().empty()) return unavailable("snapshot-failed", "there is no room for a temporary folder");
  if (auto made = git(empty.path(), {"init", "--quiet", "--bare"}); !made.ok()) return made.error();
  return list(folder, {"--git-dir=" + empty.path(), "--work-tree=."});
}

bool is_in_repository(const std::string& folder) {
  const auto inside = git(folder, {"rev-parse", "--is-inside-work-tree"});
  return inside.ok() && inside->starts_with("true");
}

// Of folders below the top: whether one on the way there has become a link, so that what git still lists in it is no
// longer there.
class Links {
 public:
  explicit Links(const std::string& top) : top_(top) {}
  bool lead_to(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return false;
    const std::string folder = path.substr(0, slash);
    if (const auto known = known_.find(folder); known != known_.end()) return known->second;
    struct stat info {};
    const bool is_link = ::lstat((top_ + "/" + folder).c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    return known_[folder] = is_link || lead_to(folder);
  }

 private:
  const std::string& top_;
  std::map<std::string, bool> known_;
};

// Adds what is listed, with `prefix` before it. A folder in the list is a repository of its own.
Status add(const Names& names, const std::string& prefix, CodeFolder& into, std::set<std::string>& seen) {
  Links links(into.top);
  for (std::string name : names) {
    while (name.ends_with('/')) name.pop_back();
    const std::string path = prefix + name;
    struct stat info {};
    if (::lstat((into.top + "/" + path).c_str(), &info) != 0 || links.lead_to(path)) continue;
    if (!seen.insert(path).second) continue;
    if (S_ISDIR(info.st_mode)) {
      if (::access((into.top + "/" + path).c_str(), R_OK | X_OK) != 0)
        return invalid("snapshot-failed", path + " cannot be read");
      std::error_code none;
      if (!std::filesystem::exists(into.top + "/" + path + "/.git", none))
        continue;  // a submodule that was not fetched
      const auto inner = list(into.top + "/" + path);
      if (!inner.ok()) return inner.error();
      if (Status added = add(*inner, path + "/", into, seen); !added.ok()) return added;
    } else if (S_ISREG(info.st_mode) || S_ISLNK(info.st_mode)) {
      into.files.push_back(path);
      if (S_ISREG(info.st_mode)) into.bytes += info.st_size;
    }
  }
  return {};
}

Error nothing_in(const std::string& folder) {
  return invalid("snapshot-empty", "there are no files in " + folder + " that a snapshot would hold");
}

Result<CodeFolder> whole(CodeFolder code, const Names& names) {
  std::set<std::string> seen;
  if (Status added = add(names, "", code, seen); !added.ok()) return added.error();
  std::ranges::sort(code.files);
  if (code.files.empty()) return nothing_in(code.top);
  return code;
}

// "XY path", after a renamed one its old name.
void add_changed(const std::string& status, CodeFolder& into) {
  const Names entries = split_zeros(status);
  std::set<std::string> known;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].size() < 4) continue;
    const std::string name = entries[i].substr(3);  // twice, if it is there and no longer tracked
    if (known.insert(name).second) into.changed.push_back(name);
    if (entries[i].starts_with("??") && !name.ends_with('/')) into.untracked.push_back(name);
    if (entries[i][0] == 'R' || entries[i][0] == 'C') ++i;
  }
}

}  // namespace

Result<CodeFolder> code_of_folder(const std::string& folder) {
  CodeFolder code;
  code.top = folder;
  const auto names = is_in_repository(folder) ? list(folder) : list_outside(folder);
  if (!names.ok()) return names.error();
  return whole(std::move(code), *names);
}

Result<CodeFolder> code_of_repository(const std::string& folder) {
  auto top = git(folder, {"rev-parse", "--show-toplevel"});
  if (!top.ok() && top.error().code == "snapshot-failed" &&
      top.error().message.ends_with("(or any of the parent directories): .git"))
    return invalid("not-a-repository", folder + " is in no git repository").hint("--snapshot copy");
  if (!top.ok()) return top.error();
  while (top->ends_with('\n')) top->pop_back();
  CodeFolder code;
  code.top = *top;
  std::error_code failed;
  const std::string below = std::filesystem::relative(folder, code.top, failed).string();
  if (!failed && below != ".") code.subfolder = below;
  if (auto commit = git(code.top, {"rev-parse", "--verify", "--quiet", "--short=12", "HEAD"}); commit.ok())
    code.commit = commit->substr(0, commit->find('\n'));
  const auto status = git(code.top, {"status", "--porcelain=v1", "-z", "--untracked-files=all"});
  if (!status.ok()) return status.error();
  add_changed(*status, code);
  const auto names = list(code.top);
  if (!names.ok()) return names.error();
  auto found = whole(std::move(code), *names);
  const auto is_below = [&](const std::string& file) { return file.starts_with(found->subfolder + "/"); };
  if (found.ok() && !found->subfolder.empty() && std::ranges::none_of(found->files, is_below))
    return nothing_in(folder).note("git ignores them");
  return found;
}

std::vector<std::pair<std::string, std::int64_t>> largest_files(const CodeFolder& code, std::size_t count) {
  std::vector<std::pair<std::string, std::int64_t>> files;
  for (const std::string& name : code.files) {
    struct stat info {};
    if (::lstat((code.top + "/" + name).c_str(), &info) == 0) files.emplace_back(name, info.st_size);
  }
  count = std::min(count, files.size());
  std::ranges::partial_sort(files, files.begin() + static_cast<std::ptrdiff_t>(count), std::greater(),
                            &std::pair<std::string, std::int64_t>::second);
  files.resize(count);
  return files;
}

}  // namespace sl::archive
