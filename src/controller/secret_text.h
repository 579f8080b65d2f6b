// Secrets that the controller makes, and how they are kept and compared.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sl::controller {

// That many random bytes, as hexadecimal digits.
std::string random_text(std::size_t bytes = 20);
std::string hex_text(std::string_view bytes);
// SHA-256, as hexadecimal digits: enough for secrets of 160 random bits, which nobody can try out.
std::string digest_of(std::string_view secret);
// Compares in a time that does not reveal where two secrets differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace sl::controller
