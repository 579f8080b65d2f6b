// Reads what jobs write: output by offset, and the contents of a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sl::agent {

// Something has this name, also a link that leads nowhere.
bool is_there(const std::string& path);

// A small file, up to 16 MiB of it (a job may have put another in its place); empty when there is none.
std::string read_text(const std::string& path);
// Makes the file, or replaces what is in it, or adds to its end. False (errno): not all of it could be written.
bool write_text(const std::string& path, std::string_view text);
bool append_text(const std::string& path, std::string_view text);

// Up to `limit` bytes of a file from `offset` (negative: that far before its end). `size` is the file's current size.
// Empty if there is no such file, or something else in its place: a pipe would keep its reader waiting.
struct FilePiece {
  std::int64_t offset = 0;
  std::string bytes;
  std::int64_t size = 0;
};
// Bytes [from, to) of a file that were given back to the disk. Reading continues after them; offsets do not change.
struct Gap {
  std::int64_t from = 0, to = 0;
};
std::optional<FilePiece> read_piece(const std::string& path, std::int64_t offset, std::int64_t limit,
                                    const Gap& gap = {});

// The output of an attempt, in its directory: the file `output`, and `gap` ("FROM TO") once its middle was dropped.
Gap output_gap(const std::string& attempt_dir);
// A piece of it, as read_piece() does.
std::optional<FilePiece> read_output(const std::string& attempt_dir, std::int64_t offset, std::int64_t limit);
// Keeps the first quarter of `limit` bytes and the newest three quarters. The job notices nothing. Returns false if the
// file system cannot free the middle of a file.
bool bound_output(const std::string& attempt_dir, std::int64_t limit);

// The contents of a folder: the size of its files and when the newest of them was written. Empty if there is no such
// folder or no file in it. Looks at ten thousand entries at most, not below 32 folders in one another, and not at what is
// in it by a name that is `left_out`.
struct FolderFacts {
  std::int64_t bytes = 0;
  std::int64_t newest_us = 0;  // UTC
};
std::optional<FolderFacts> look_into(const std::string& folder, bool (*left_out)(std::string_view name) = nullptr);

}  // namespace sl::agent
