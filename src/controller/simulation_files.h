// What simulations and uploaded traces keep in files, and what commands print about them.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "wire/json.h"

namespace sl::controller {

// Nothing of a file that is not there.
std::string contents_of(const std::filesystem::path& path);

// All of it or nothing: a reader never sees half a file. Error "disk-full".
Status write_whole(const std::filesystem::path& path, const std::string& text);

// The document that a command printed; keys that T lacks are ignored.
template <typename T>
Result<T> read_printed(const Result<std::string>& printed) {
  if (!printed.ok()) return printed.error();
  return wire::read_json<T>(*printed, wire::Unknown::ignore);
}

}  // namespace sl::controller
