// The heap of what is to come, least first: eight children for each element, which lie together in as few cache lines
// as they fill, so that one of tens of thousands is five fetches deep.
#pragma once

#include <bit>
#include <boost/heap/d_ary_heap.hpp>
#include <cstddef>
#include <functional>
#include <new>

namespace sl::sim {

inline constexpr std::size_t heap_arity = 8;

// Puts the first element so that the second, where the first children begin, is at a multiple of the size of all
// children of one; so are then all others, if that size is a power of two.
template <typename T>
struct HeapAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{std::bit_ceil(heap_arity * sizeof(T))};
  static constexpr std::size_t before = static_cast<std::size_t>(alignment) - sizeof(T);

  HeapAllocator() = default;
  template <typename U>
  explicit HeapAllocator(const HeapAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(::operator new(before + n * sizeof(T), alignment)) + before);
  }
  void deallocate(T* first, std::size_t) { ::operator delete(reinterpret_cast<std::byte*>(first) - before, alignment); }
  friend bool operator==(const HeapAllocator&, const HeapAllocator&) { return true; }
};

template <typename T>
using Heap = boost::heap::d_ary_heap<T, boost::heap::arity<heap_arity>, boost::heap::compare<std::greater<>>,
                                     boost::heap::allocator<HeapAllocator<T>>>;

}  // namespace sl::sim
