#include "notify/hmac.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

namespace sl::notify {

std::string hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts) {
  const auto bytes = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  crypto_auth_hmacsha256_state state;
  ::crypto_auth_hmacsha256_init(&state, bytes(key), key.size());
  for (const std::string_view part : parts) ::crypto_auth_hmacsha256_update(&state, bytes(part), part.size());
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> code{};
  ::crypto_auth_hmacsha256_final(&state, code.data());
  std::string text;
  for (const unsigned char byte : code) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace sl::notify
