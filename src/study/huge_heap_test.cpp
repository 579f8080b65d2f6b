#include "study/huge_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

namespace sl::study {
namespace {

// Whether the kernel has been told to provide the memory at this address in huge pages.
bool is_advised(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-')
      is_here = begin <= reinterpret_cast<std::uintptr_t>(address) && reinterpret_cast<std::uintptr_t>(address) < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

bool system_has_huge_pages() { return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good(); }

TEST(HugeHeap, what_a_thread_allocates_lies_in_huge_pages) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another malloc than glibc's";
#endif
  if (!system_has_huge_pages()) GTEST_SKIP() << "this kernel has no transparent huge pages";
  bool small = false, large = false;
  std::thread([&] {
    put_heap_in_huge_pages();
    put_heap_in_huge_pages();  // nothing changes
    const auto few = std::make_unique<char[]>(4096), many = std::make_unique<char[]>(std::size_t{20} << 20);
    small = is_advised(few.get());
    large = is_advised(many.get() + (std::size_t{20} << 20) - 1);
  }).join();
  EXPECT_TRUE(small);
  EXPECT_TRUE(large);
}

}  // namespace
}  // namespace sl::study
