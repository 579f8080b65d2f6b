// Bytes in JSON: standard base64 with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sl::wire {

std::string encode_base64(std::string_view bytes);
std::optional<std::string> decode_base64(std::string_view text);  // nothing if the text is malformed

}  // namespace sl::wire
