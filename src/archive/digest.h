// SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_md_ctx_st;  // OpenSSL's

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
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// Adds the first `length` bytes of the file. False if there are fewer, or they cannot be read.
bool add_file(Digest& digest, int fd, std::int64_t length);

// Of a whole file, as 64 lower-case hexadecimal digits. Errors: "unreadable".
Result<std::string> digest_of_file(const std::string& path);
bool is_digest(std::string_view text);

}  // namespace sl::archive
