// Reads a whole file that a user names.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace sl::wire {

inline constexpr std::size_t document_bytes_max = std::size_t{64} << 20;  // TOML and JSON that people write
inline constexpr std::size_t table_bytes_max = std::size_t{2} << 30;      // CSV and results, as large as traces

// A file, a pipe or standard input. Errors: "no-such-file", "cannot-read", "not-a-file" (a directory, or a device that
// never ends), "file-too-large" (no more than `most` bytes and one piece are read).
Result<std::string> read_file(const std::string& path, std::size_t most);

}  // namespace sl::wire
