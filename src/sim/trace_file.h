// The text of a trace file, plain or gzip, whichever it is: told by its first bytes, not by its name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::sim {

// Errors: "no-such-file", "cannot-read", "not-a-file" (a directory), "trace-damaged" (gzip that is cut off, damaged or
// followed by something else), "trace-too-large" (beyond 2 GiB of text).
Result<std::string> read_text(const std::string& path);
Result<std::string> inflate_text(std::string_view compressed);

// Writes text to a file, compressed when its name ends in .gz, the same bytes for the same text. The file appears when
// all of it is written; "-" is standard output. Errors: "cannot-write", "disk-full".
Status write_text(const std::string& path, std::string_view text);

}  // namespace sl::sim
