#include "controller/secret_text.h"

#include <fmt/format.h>
#include <sys/random.h>

#include "archive/digest.h"
#include "base/check.h"

namespace sl::controller {

std::string hex_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string random_text(std::size_t bytes) {
  std::string random(bytes, '\0');
  SL_CHECK(::getrandom(random.data(), bytes, 0) == static_cast<ssize_t>(bytes), "the kernel has entropy");
  return hex_text(random);
}

std::string digest_of(std::string_view secret) {
  archive::Digest digest;
  digest.add(secret);
  return hex_text(digest.take());
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace sl::controller
