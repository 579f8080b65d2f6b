// The folder of a whole comparison: its document run.json, and the CSV files that this names.
#pragma once

#include <string>

#include "base/result.h"

namespace sl::study {

// As long as it lives, nobody else writes results to the folder.
class ResultFolder {
 public:
  ResultFolder() = default;
  // Makes the folder and removes the results of an earlier run from it, lest a run that is killed leaves a mixture of
  // both. Errors: "cannot-write", "folder-in-use".
  static Result<ResultFolder> claim(const std::string& path);

  ResultFolder(ResultFolder&& other) noexcept;
  ResultFolder& operator=(ResultFolder&& other) noexcept;
  ~ResultFolder();

 private:
  explicit ResultFolder(int lock) : lock_(lock) {}
  int lock_ = -1;  // the folder itself, locked
};

}  // namespace sl::study
