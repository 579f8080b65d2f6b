// Distinct integer types for ids and indexes, and a vector that accepts only its own kind of index.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/large_vector.h"

namespace sl {

template <typename Tag, typename Integer>
struct Id {
  Integer value = Integer(-1);  // -1 (all bits set for unsigned types) is "none"

  constexpr Id() = default;
  constexpr explicit Id(Integer v) : value(v) {}
  static constexpr Id none() { return Id(); }
  constexpr bool valid() const { return value != Integer(-1); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

template <typename Index, typename T>
class IndexedVector {
 public:
  T& operator[](Index i) { return items_[static_cast<std::size_t>(i.value)]; }
  const T& operator[](Index i) const { return items_[static_cast<std::size_t>(i.value)]; }
  bool contains(Index i) const { return static_cast<std::size_t>(i.value) < items_.size(); }
  Index push_back(T item) {
    items_.push_back(std::move(item));
    return Index(static_cast<decltype(Index{}.value)>(items_.size() - 1));
  }
  Index emplace_back() {
    items_.emplace_back();
    return Index(static_cast<decltype(Index{}.value)>(items_.size() - 1));
  }
  void resize(std::size_t n) { items_.resize(n); }
  void reserve(std::size_t n) { items_.reserve(n); }
  void clear() { items_.clear(); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  T& back() { return items_.back(); }

 private:
  LargeVector<T> items_;
};

}  // namespace sl

template <typename Tag, typename Integer>
struct std::hash<sl::Id<Tag, Integer>> {
  std::size_t operator()(sl::Id<Tag, Integer> id) const noexcept { return std::hash<Integer>{}(id.value); }
};
