// Checks of broken invariants, active in release builds too. A failed check ends the process and prints the broken
// rule: continuing with a wrong ledger would run two jobs on one GPU. Expected failures are `Result`, never this.
#pragma once

namespace sl {

[[noreturn]] void check_failed(const char* condition, const char* meaning, const char* file, int line);

}  // namespace sl

#define SL_CHECK(condition, meaning)                               \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      ::sl::check_failed(#condition, meaning, __FILE__, __LINE__); \
  } while (false)
