#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sl {

void check_failed(const char* condition, const char* meaning, const char* file, int line) {
  std::fprintf(stderr, "schedulearn: broken invariant: %s\n  %s at %s:%d\n", meaning, condition, file, line);
  std::abort();
}

}  // namespace sl
