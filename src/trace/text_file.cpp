#include "trace/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/check.h"
#include "base/shell_words.h"

namespace sl::trace {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error too_large(std::size_t most) {
  return invalid("trace-too-large", "the trace has more than " + std::to_string(most >> 20) + " MiB of text");
}

// Appends everything up to the end; the size of a pipe is not known in advance.
Status read_all(int fd, std::size_t expected, std::size_t most, std::string& text) {
  if (expected > most) return too_large(most);
  text.resize(expected + 1);
  std::size_t used = 0;
  while (true) {
    const ssize_t n = ::read(fd, text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unavailable("cannot-read", std::string("reading stopped: ") + std::strerror(errno));
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > most) return too_large(most);
    if (used == text.size()) text.resize(text.size() * 2);
  }
  text.resize(used);
  return {};
}

struct FreeCodec {
  void operator()(libdeflate_compressor* codec) const { libdeflate_free_compressor(codec); }
  void operator()(libdeflate_decompressor* codec) const { libdeflate_free_decompressor(codec); }
};
template <typename Codec>
using CodecPointer = std::unique_ptr<Codec, FreeCodec>;

// The last four bytes are the length modulo 2^32, of the last member only: a hint, not a promise.
std::size_t size_hint(std::string_view gzip, std::size_t most) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(gzip[gzip.size() - 1 - i]);
  return std::min({size, gzip.size() * 20, most}) + 64;
}

Error damaged(const std::string& how) { return invalid("trace-damaged", "the compressed trace is " + how); }

bool is_gzip(std::string_view bytes) { return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

// What else a trace may have been compressed with, by how such files begin.
struct Compression {
  std::string_view begin, after_4_bytes;
  const char *name, *unpack;
};
constexpr Compression unread[] = {{"\xFD\x37zXZ", "", "xz", "xz -dc"},
                                  {"BZh", "1AY&SY", "bzip2", "bzip2 -dc"},
                                  {"\x28\xB5\x2F\xFD", "", "zstd", "zstd -dc"},
                                  {"PK\x03\x04", "", "zip", "unzip -p"}};

Status check_compression(std::string_view bytes, const std::string& path) {
  for (const auto& [begin, after_4_bytes, name, unpack] : unread) {
    if (!bytes.starts_with(begin) || !bytes.substr(std::min<std::size_t>(4, bytes.size())).starts_with(after_4_bytes))
      continue;
    const std::string unpacked = std::filesystem::path(path).replace_extension().string();
    return invalid("trace-compression", fmt::format("the trace is compressed with {}, and only gzip is read", name))
        .hint(fmt::format("{} {} | gzip > {}", unpack, shell_word(path), shell_word(unpacked + ".gz")));
  }
  return {};
}

}  // namespace

Result<std::string> inflate_text(std::string_view compressed, std::size_t most) {
  if (compressed.size() < 4) return damaged("cut off");
  const CodecPointer<libdeflate_decompressor> inflater(libdeflate_alloc_decompressor());
  SL_CHECK(inflater, "there is the memory to begin with");
  std::string text(size_hint(compressed, most), '\0');
  std::size_t used = 0;
  while (!compressed.empty()) {  // several members form one text
    if (!is_gzip(compressed)) return damaged("followed by something that is not gzip");
    std::size_t in = 0, out = 0;
    switch (libdeflate_gzip_decompress_ex(inflater.get(), compressed.data(), compressed.size(), text.data() + used,
                                          text.size() - used, &in, &out)) {
      case LIBDEFLATE_SUCCESS:
        compressed.remove_prefix(in);
        used += out;
        break;
      case LIBDEFLATE_INSUFFICIENT_SPACE:  // the member is unpacked again
        if (text.size() > most) return too_large(most);
        text.resize(std::min(text.size() * 2, most + 1));
        break;
      default:
        return damaged("damaged or cut off");
    }
  }
  if (used > most) return too_large(most);
  text.resize(used);
  return text;
}

Result<std::string> read_text(const std::string& path, std::size_t most) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 && (errno == ENOENT || errno == ENOTDIR))
    return not_found("no-such-file", "there is no file " + path)
        .hint("schedulearn trace ls shows workloads that need no file");
  if (file.fd < 0) return denied("cannot-read", "cannot read " + path + ": " + std::strerror(errno));
  struct stat about {};
  if (::fstat(file.fd, &about) == 0 && S_ISDIR(about.st_mode))
    return invalid("not-a-file", path + " is a directory").hint("name the trace inside it");
  std::string bytes;
  if (Status read = read_all(file.fd, static_cast<std::size_t>(std::max<off_t>(about.st_size, 0)), most, bytes);
      !read.ok())
    return Error(read.error()).note("in " + path);
  if (!is_gzip(bytes)) {
    const Status readable = check_compression(bytes, path);
    return readable.ok() ? Result<std::string>(std::move(bytes)) : readable.error();
  }
  Result<std::string> text = inflate_text(bytes, most);
  if (!text.ok()) return Error(text.error()).note("in " + path);
  return text;
}

namespace {

bool write_plain(std::FILE* file, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fflush(file) == 0 && written;
}

std::string gzipped(std::string_view text) {
  constexpr int usual_level = 6;
  const CodecPointer<libdeflate_compressor> deflater(libdeflate_alloc_compressor(usual_level));
  SL_CHECK(deflater, "there is the memory to begin with");
  std::string packed(libdeflate_gzip_compress_bound(deflater.get(), text.size()), '\0');
  packed.resize(libdeflate_gzip_compress(deflater.get(), text.data(), text.size(), packed.data(), packed.size()));
  return packed;
}

// Closes the file.
bool write_all(int fd, bool zipped, std::string_view text) {
  std::FILE* file = ::fdopen(fd, "wb");
  const bool written = zipped ? write_plain(file, gzipped(text)) : write_plain(file, text);
  return std::fclose(file) == 0 && written;
}

// Also if there is nothing yet where they lead.
std::filesystem::path where_links_lead(std::filesystem::path path) {
  constexpr int most = 40;  // as the kernel follows
  std::error_code missing;
  for (int links = 0; links < most; ++links) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, missing);
    if (missing) break;
    path = path.parent_path() / next;  // unless it is absolute
  }
  return path;
}

Error cannot_write(const std::string& path) {
  return denied("cannot-write", "cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace

bool is_standard_output(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

Status write_text(const std::string& path, std::string_view text) {
  if (path == "-" || is_standard_output(path)) {
    if (write_plain(stdout, text)) return {};
    return denied("cannot-write", "standard output accepts no more data");
  }
  const bool zipped = path.ends_with(".gz");
  struct stat there {};
  const bool is_there = ::stat(path.c_str(), &there) == 0;
  if (is_there && !S_ISREG(there.st_mode)) {  // a device or a pipe is written to; a directory cannot be
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return cannot_write(path);
    return write_all(fd, zipped, text) ? Status() : denied("cannot-write", "could not write all to " + path);
  }
  const std::string whole = where_links_lead(path).string();
  std::string part;
  int fd = -1;
  for (int number = 0; fd < 0; ++number) {  // what was killed may have left such a file
    part = whole + "." + std::to_string(number) + ".part";
    fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) return cannot_write(path);
  }
  if (is_there) ::fchmod(fd, there.st_mode & 0777);
  if (write_all(fd, zipped, text) && std::rename(part.c_str(), whole.c_str()) == 0) return {};
  std::remove(part.c_str());
  return unavailable("disk-full", "could not write all of " + path);
}

}  // namespace sl::trace
