// Runs a program without a shell and waits for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sl::archive {

struct ProgramEnd {
  int status = 0;  // its exit status, or 128 + the signal that ended it
  std::string output, errors;
};

// `arguments[0]` is found by PATH. `input`: what it reads. Errors: "program-missing", "cannot-run".
Result<ProgramEnd> run_program(const std::vector<std::string>& arguments, const std::string& input = "");

}  // namespace sl::archive
