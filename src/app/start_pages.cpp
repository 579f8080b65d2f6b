#include "app/start_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace sl::app {
namespace {

constexpr Duration start_takes = Duration::whole_seconds(5);

// Segments that nothing can have written to since they were loaded, not even the dynamic linker.
int release_constant_segments(dl_phdr_info* object, std::size_t, void*) {
  if (std::string_view(object->dlpi_name).starts_with("linux-vdso")) return 0;  // the kernel's own
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // advice: without it, all stays as it is
  }
  return 0;
}

}  // namespace

std::shared_ptr<net::EventLoop::Timer> release_start_pages(net::EventLoop& loop) {
  return loop.after(start_takes, [] { dl_iterate_phdr(release_constant_segments, nullptr); });
}

}  // namespace sl::app
