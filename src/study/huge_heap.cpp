#include "study/huge_heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>

namespace sl::study {

void put_heap_in_huge_pages() {
#ifdef __GLIBC__
  constexpr int mebibyte = 1 << 20;
  constexpr int heap = 48 * mebibyte;              // of the 64 that glibc sets aside for a thread
  mallopt(M_MMAP_THRESHOLD, 32 * mebibyte);        // smaller blocks come from the heap and go back there
  mallopt(M_TRIM_THRESHOLD, INT_MAX);              // the heap keeps what is freed
  mallopt(M_TOP_PAD, heap);                        // it grows by so much at once
  void* const memory = std::malloc(mebibyte / 4);  // more than it has now, so it grows
  if (!memory) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), heap, MADV_HUGEPAGE);
  std::free(memory);
#endif
}

}  // namespace sl::study
