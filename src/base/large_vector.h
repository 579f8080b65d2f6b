// A vector for tables that may become large: from a few megabytes on it uses huge pages, where the system offers them.
// Otherwise random access to a large table costs more for finding its pages than for reading them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace sl {

template <typename T>
struct LargeAllocator {
  using value_type = T;
  static constexpr std::size_t huge_page = std::size_t{2} << 20;
  static constexpr std::size_t large = 2 * huge_page;

  LargeAllocator() = default;
  template <typename U>
  explicit LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(std::size_t n) {
    const std::size_t size = n * sizeof(T);
    void* memory = ::operator new(size, alignment(size));
    if (size >= large) ::madvise(memory, size, MADV_HUGEPAGE);  // advice only: a failure changes nothing
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) { ::operator delete(memory, alignment(n * sizeof(T))); }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }

 private:
  static std::align_val_t alignment(std::size_t size) {
    return std::align_val_t{size >= large ? huge_page : alignof(T)};
  }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace sl
