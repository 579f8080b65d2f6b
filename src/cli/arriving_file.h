// A file that arrives piece by piece. It gets its name when it is whole; until then it has one that nothing else has, in the
// same folder. What does not get there is removed, also if a signal ends the program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::cli {

// One at a time.
class ArrivingFile {
 public:
  explicit ArrivingFile(std::filesystem::path place);  // in a folder that is there
  ~ArrivingFile();
  ArrivingFile(const ArrivingFile&) = delete;
  ArrivingFile& operator=(const ArrivingFile&) = delete;

  // False: it cannot be written. finish() says why.
  bool add(std::string_view bytes);
  // `replaces`: in place of what is there. Errors: "file-exists", "cannot-write".
  Status finish(bool replaces);

 private:
  Status not_written() const;

  std::filesystem::path place_;
  std::string made_;  // its name until then; empty: there is no such file
  int file_ = -1;
  int failed_ = 0;  // errno
};

Error file_exists(const std::filesystem::path& place);

}  // namespace sl::cli
