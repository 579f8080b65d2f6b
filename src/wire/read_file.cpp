#include "wire/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace sl::wire {
namespace {

Error too_large(const std::string& path, std::size_t most) {
  return invalid("file-too-large", path + " has more than " + std::to_string(most >> 20) + " MiB");
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return not_found("no-such-file", "there is no file " + path);
  if (!file) return denied("cannot-read", "cannot read " + path + ": " + std::strerror(errno));
  struct stat about {};
  ::fstat(::fileno(file.get()), &about);
  if (S_ISDIR(about.st_mode)) return invalid("not-a-file", path + " is a directory");
  if (S_ISCHR(about.st_mode) && ::isatty(::fileno(file.get())) == 0)
    return invalid("not-a-file", path + " is a device").hint("name a file");
  if (about.st_size > 0 && static_cast<std::size_t>(about.st_size) > most) return too_large(path, most);
  std::string text;
  char piece[1 << 16];
  for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, file.get())) > 0;) {
    text.append(piece, got);
    if (text.size() > most) return too_large(path, most);  // a pipe's size is not known in advance
  }
  if (std::ferror(file.get()) != 0) return unavailable("cannot-read", "could not read all of " + path);
  return text;
}

}  // namespace sl::wire
