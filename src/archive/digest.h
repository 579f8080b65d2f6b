// SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sha256_ctx;  // Nettle's

namespace sl::archive {

// Of bytes that come piece by piece.
class Digest {
 public:
  static constexpr std::size_t size = 32;
  Digest();
  void add(std::string_view bytes);
  std::string take();  // then it begins anew

 private:
  struct Free {
    void operator()(sha256_ctx* context) const;
  };
  std::unique_ptr<sha256_ctx, Free> context_;
};

// Adds the first `length` bytes of the file. False if there are fewer, or they cannot be read.
bool add_file(Digest& digest, int fd, std::int64_t length);

// Of a whole file, as 64 lower-case hexadecimal digits. Errors: "unreadable".
Result<std::string> digest_of_file(const std::string& path);
bool is_digest(std::string_view text);

}  // namespace sl::archive
