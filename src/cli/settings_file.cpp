#include "cli/settings_file.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/shell_words.h"

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* project_file = ".schedulearn.toml";
constexpr std::size_t settings_bytes_max = 1 << 20;

Ownership ownership(const struct stat& found) { return {found.st_uid, found.st_gid, found.st_mode}; }

std::optional<Ownership> ownership_of(const std::string& path, bool follows_links) {
  struct stat found {};
  const int failed = follows_links ? ::stat(path.c_str(), &found) : ::lstat(path.c_str(), &found);
  return failed == 0 ? std::optional(ownership(found)) : std::nullopt;
}

// Up to one byte more than settings may have.
std::string read_from(int file) {
  std::string text;
  std::array<char, 65'536> piece{};
  while (text.size() <= settings_bytes_max) {
    const ssize_t read = ::read(file, piece.data(), piece.size());
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(read));
  }
  return text;
}

Error no_settings(const std::string& problem) {
  return invalid("malformed-toml", problem).hint("settings are a TOML file: docs/guide/command-line.md");
}

std::string name_of(uid_t user) {
  const passwd* entry = ::getpwuid(user);
  return entry && entry->pw_name ? entry->pw_name : "user " + std::to_string(user);
}

// Many systems give each user a group of their own, named after them, and let it write whatever they make.
Reader this_reader() {
  const passwd* user = ::getpwuid(::geteuid());
  const std::string name = user && user->pw_name ? user->pw_name : "";
  const group* own = user ? ::getgrgid(user->pw_gid) : nullptr;
  bool is_own = own && own->gr_name == name;
  for (char** member = is_own ? own->gr_mem : nullptr; member && *member; ++member) is_own = is_own && *member == name;
  return {::geteuid(), is_own ? std::optional(own->gr_gid) : std::nullopt};
}

UnusedSettings untrusted(const fs::path& folder, const Ownership& owner, Distrust distrust) {
  const std::string path = (folder / project_file).string();
  const std::string copy = "copy what you need of it: schedulearn config edit";
  switch (distrust) {
    case Distrust::none:
      return {};
    case Distrust::file_of_other:
      return {path, "it belongs to " + name_of(owner.user), copy};
    case Distrust::others_write_file:
      return {path, "others may write it", "if it is still as it should be: chmod go-w " + shell_word(path)};
    case Distrust::folder_of_other:
      return {path, "its folder belongs to somebody else, who may replace it", copy};
    case Distrust::others_write_folder:
      return {path, "others may write its folder, and so replace it",
              "if it is still as it should be: chmod go-w " + shell_word(folder.string())};
  }
  return {};
}

// Takes it, or says why not. Who put a link there counts as well as who wrote what it leads to.
void use(const fs::path& folder, const Ownership& entry, const Reader& reader, ProjectSettings& into) {
  const std::string path = (folder / project_file).string();
  const auto around = ownership_of(folder.string(), true);
  if (!around) return;
  const auto is_refused = [&](const Ownership& owner) {
    const Distrust distrust = distrust_of(owner, *around, reader);
    if (distrust != Distrust::none) into.unused.push_back(untrusted(folder, owner, distrust));
    return distrust != Distrust::none;
  };
  Ownership link = entry;
  if (S_ISLNK(entry.mode)) link.mode &= ~static_cast<mode_t>(S_IWGRP | S_IWOTH);  // of a link these bits mean nothing
  if (is_refused(link)) return;
  auto settings = read_settings(path);
  if (!settings.ok()) return into.unused.push_back({path, settings.error().message, "remove it, or move it away"});
  if (!*settings) return into.unused.push_back({path, "it cannot be read", "give yourself the right to read it"});
  if (is_refused((*settings)->owner)) return;
  into.path = path, into.text = std::move((*settings)->text);
}

}  // namespace

Result<std::optional<SettingsFile>> read_settings(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return std::optional<SettingsFile>();
  struct stat found {};
  const bool is_file = ::fstat(file, &found) == 0 && S_ISREG(found.st_mode);
  SettingsFile settings{is_file ? read_from(file) : "", ownership(found)};
  ::close(file);
  if (!is_file) return no_settings("it is no regular file");
  if (settings.text.size() > settings_bytes_max) return no_settings("it is longer than 1 MiB, which no settings are");
  return std::optional(std::move(settings));
}

Distrust distrust_of(const Ownership& file, const Ownership& folder, const Reader& reader) {
  const auto is_of_other = [&](const Ownership& owner) { return owner.user != reader.user && owner.user != 0; };
  const auto others_write = [&](const Ownership& owner) {
    return (owner.mode & S_IWOTH) != 0 || ((owner.mode & S_IWGRP) != 0 && owner.group != reader.own_group);
  };
  if (is_of_other(file)) return Distrust::file_of_other;
  if (others_write(file)) return Distrust::others_write_file;
  if (is_of_other(folder)) return Distrust::folder_of_other;
  if (others_write(folder) && (folder.mode & S_ISVTX) == 0) return Distrust::others_write_folder;
  return Distrust::none;
}

ProjectSettings find_project_settings() {
  ProjectSettings settings;
  const Reader reader = this_reader();
  std::error_code failed;
  for (fs::path folder = fs::current_path(failed); !failed && settings.path.empty(); folder = folder.parent_path()) {
    if (const auto entry = ownership_of((folder / project_file).string(), false)) use(folder, *entry, reader, settings);
    if (folder == folder.parent_path()) break;
  }
  return settings;
}

}  // namespace sl::cli
