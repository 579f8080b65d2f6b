// The text of a trace file, plain or gzip; its first bytes decide, not its name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::trace {

// Errors: "no-such-file", "cannot-read", "not-a-file" (a directory), "trace-damaged" (gzip that is cut off, damaged or
// followed by something else), "trace-too-large" (more than `most` bytes of text; no more than that is unpacked).
inline constexpr std::size_t text_bytes_max = std::size_t{2} << 30;
Result<std::string> read_text(const std::string& path, std::size_t most = text_bytes_max);
Result<std::string> inflate_text(std::string_view compressed, std::size_t most = text_bytes_max);

// Whether this names the standard output, which may be a file that something else is in already: it is written to as it
// is open.
bool is_standard_output(std::string_view path);

// Writes text to a file, compressed if its name ends in .gz; the same text gives the same bytes. The file, or that which
// a link of this name leads to, appears or changes once all of it is written. Pipes and devices are written to as they
// are; "-" is standard output. Errors: "cannot-write", "disk-full".
Status write_text(const std::string& path, std::string_view text);

}  // namespace sl::trace
