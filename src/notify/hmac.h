// HMAC-SHA256 (RFC 2104) of the parts, one after the other, in hexadecimal digits.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace sl::notify {

std::string hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts);

}  // namespace sl::notify
