// Reading what jobs write: output by offset, and the last complete line of a metrics file.
#pragma once

#include <optional>
#include <string>

#include "wire/agent_protocol.h"

namespace sl::agent {

// Up to `limit` bytes of a file from `offset` (negative: from that far before its end). `size` is the file's now. Empty
// when there is no such file.
struct FilePiece {
  std::int64_t offset = 0;
  std::string bytes;
  std::int64_t size = 0;
};
// Bytes [from, to) of a file that were given back to the disk. Reading goes on behind them; offsets stay what they
// were.
struct Gap {
  std::int64_t from = 0, to = 0;
};
std::optional<FilePiece> read_piece(const std::string& path, std::int64_t offset, std::int64_t limit,
                                    const Gap& gap = {});

// The output of an attempt, in its directory: the file `output`, and `gap` ("FROM TO") once its middle had to go.
Gap output_gap(const std::string& attempt_dir);
// Keeps the first quarter of `limit` bytes and the newest three quarters. The job that writes notices nothing. Returns
// false when the file system cannot give back the middle of a file.
bool bound_output(const std::string& attempt_dir, std::int64_t limit);

std::string encode_base64(std::string_view bytes);

// A line of the metrics file: {"epoch": 3, "epochs": 5, "loss": 0.41, "accuracy": 0.87} or "step"/"steps". Anything
// else: empty.
std::optional<wire::Progress> parse_metrics_line(std::string_view line);

}  // namespace sl::agent
