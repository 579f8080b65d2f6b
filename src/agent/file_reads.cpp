#include "agent/file_reads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "agent/checkpoint_files.h"
#include "net/http.h"
#include "wire/base64.h"
#include "wire/json.h"

namespace sl::agent {
namespace {

constexpr std::size_t entries_at_once = 1'000;
constexpr std::int64_t read_bytes_max = 256 << 10;
constexpr std::array job_roots = {"output", "checkpoints", "code"};

struct LeftPlace {
  std::string root;   // a folder of ours
  std::string below;  // in it; empty: itself
};

// An unknown root is the name of no file.
LeftPlace place_of(const AttemptFolders& folders, const std::string& key, const std::string& path) {
  const std::size_t slash = std::min(path.find('/'), path.size());
  const std::string root = path.substr(0, slash);
  std::string below = path.substr(std::min(slash + 1, path.size()));
  while (below.ends_with('/')) below.pop_back();
  if (root == "attempt") return {folders.of_attempt(key), below};
  if (std::ranges::find(job_roots, root) != job_roots.end()) return {folders.of_job(key) + "/" + root, below};
  return {};
}

std::int64_t changed_at_us(const struct stat& info) {
  return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000 + info.st_mtim.tv_nsec / 1'000;
}

wire::LeftFile described(int folder, const std::string& name) {
  wire::LeftFile file;
  file.name = net::percent_encode(name);
  struct stat info {};
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return file;
  file.kind = S_ISREG(info.st_mode)   ? "file"
              : S_ISDIR(info.st_mode) ? "folder"
              : S_ISLNK(info.st_mode) ? "link"
                                      : "other";
  file.bytes = S_ISREG(info.st_mode) ? info.st_size : 0;
  file.changed_us = changed_at_us(info);
  return file;
}

std::vector<std::string> sorted_names(int folder) {
  std::vector<std::string> names;
  DIR* entries = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  while (const dirent* entry = entries ? ::readdir(entries) : nullptr) {
    if (entry->d_name != std::string_view(".") && entry->d_name != std::string_view(".."))
      names.push_back(entry->d_name);
  }
  if (entries) ::closedir(entries);
  std::ranges::sort(names);
  return names;
}

void answer_with(wire::LogChunk& chunk, const std::vector<wire::LeftFile>& files) {
  chunk.kind = "folder";
  chunk.data = wire::encode_base64(wire::write_json(files));
}

void list_folder(int folder, std::int64_t offset, wire::LogChunk& chunk) {
  const std::vector<std::string> names = sorted_names(folder);
  std::vector<wire::LeftFile> files;
  chunk.size = static_cast<std::int64_t>(names.size());
  for (std::size_t i = static_cast<std::size_t>(std::max<std::int64_t>(offset, 0));
       i < names.size() && files.size() < entries_at_once; ++i)
    files.push_back(described(folder, names[i]));
  answer_with(chunk, files);
}

// The folders that are there.
void list_roots(const AttemptFolders& folders, const std::string& key, wire::LogChunk& chunk) {
  std::vector<wire::LeftFile> files;
  for (const char* root : {"attempt", "checkpoints", "code", "output"}) {
    struct stat info {};
    if (::lstat(place_of(folders, key, root).root.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      files.push_back({root, "folder", 0, changed_at_us(info)});
  }
  chunk.size = static_cast<std::int64_t>(files.size());
  answer_with(chunk, files);
}

void read_piece_of(int fd, const wire::LogRead& request, std::int64_t size, wire::LogChunk& chunk) {
  const std::int64_t from = request.offset < 0 ? std::max<std::int64_t>(0, size + request.offset) : request.offset;
  std::string bytes(static_cast<std::size_t>(std::clamp<std::int64_t>(request.limit, 0, read_bytes_max)), '\0');
  const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), from);
  if (n < 0) {
    chunk.error = "unreadable", chunk.text = std::strerror(errno);
    return;
  }
  bytes.resize(static_cast<std::size_t>(n));
  chunk.offset = from;
  chunk.size = size;
  chunk.data = wire::encode_base64(bytes);
}

// Looked at before it is opened: opening a device or a pipe may have effects.
void read_place(const LeftPlace& place, const wire::LogRead& request, wire::LogChunk& chunk) {
  constexpr int look = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor root(place.root.empty() ? -1 : ::open(place.root.c_str(), look | O_DIRECTORY));
  const Descriptor seen(place.below.empty() ? ::fcntl(root.get(), F_DUPFD_CLOEXEC, 0)
                                            : open_beneath(root.get(), place.below, look));
  struct stat info {};
  if (!root.valid() || !seen.valid() || ::fstat(seen.get(), &info) != 0) {
    chunk.error = "no-such-file";
    return;
  }
  const bool is_folder = S_ISDIR(info.st_mode);
  if (!is_folder && !S_ISREG(info.st_mode)) {
    chunk.error = "no-such-file", chunk.text = S_ISLNK(info.st_mode) ? "it is a link" : "it is neither file nor folder";
    return;
  }
  const Descriptor open(::open(("/proc/self/fd/" + std::to_string(seen.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!open.valid()) {
    chunk.error = "unreadable", chunk.text = std::strerror(errno);
    return;
  }
  is_folder ? list_folder(open.get(), request.offset, chunk) : read_piece_of(open.get(), request, info.st_size, chunk);
}

}  // namespace

wire::LogChunk read_left_file(const AttemptFolders& folders, const wire::LogRead& request) {
  const std::string key = key_of(request.incarnation);
  const std::string path = net::percent_decode(request.path.value_or(""), false);
  wire::LogChunk chunk;
  chunk.request = request.request;
  struct stat info {};
  if (::lstat(folders.of_attempt(key).c_str(), &info) != 0)
    chunk.error = "unknown-attempt";
  else if (path.empty())
    list_roots(folders, key, chunk);
  else
    read_place(place_of(folders, key, path), request, chunk);
  return chunk;
}

}  // namespace sl::agent
