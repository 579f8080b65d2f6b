#include "archive/digest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace sl::archive {

void Digest::Free::operator()(sha256_ctx* context) const { delete context; }

Digest::Digest() : context_(new sha256_ctx) { ::sha256_init(context_.get()); }

void Digest::add(std::string_view bytes) {
  ::sha256_update(context_.get(), bytes.size(), reinterpret_cast<const unsigned char*>(bytes.data()));
}

std::string Digest::take() {
  std::string digest(size, '\0');
  ::sha256_digest(context_.get(), size, reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

bool add_file(Digest& digest, int fd, std::int64_t length) {
  std::vector<char> piece(1 << 20);
  for (std::int64_t at = 0; at < length;) {
    const auto want = static_cast<std::size_t>(std::min<std::int64_t>(length - at, 1 << 20));
    const ssize_t n = ::pread(fd, piece.data(), want, at);
    if (n <= 0) return false;
    digest.add({piece.data(), static_cast<std::size_t>(n)});
    at += n;
  }
  return true;
}

Result<std::string> digest_of_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  Digest digest;
  const bool is_read = fd >= 0 && ::fstat(fd, &info) == 0 && add_file(digest, fd, info.st_size);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_read) return unavailable("unreadable", "cannot read " + path + ": " + std::strerror(error));
  std::string text;
  for (const char c : digest.take()) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

bool is_digest(std::string_view text) {
  return text.size() == 2 * Digest::size && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace sl::archive
