// A set of GPUs of one server, by index 0..63. GPUs are always counted and taken in ascending index.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>

#include "base/check.h"

namespace sl {

struct GpuSet {
  std::uint64_t bits = 0;

  static constexpr int capacity = 64;
  static constexpr GpuSet first(int n) { return {n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1}; }
  static constexpr GpuSet only(int index) { return {std::uint64_t{1} << index}; }

  constexpr int count() const { return std::popcount(bits); }
  constexpr bool empty() const { return bits == 0; }
  constexpr bool has(int index) const { return (bits >> index & 1) != 0; }
  constexpr bool contains(GpuSet other) const { return (other.bits & ~bits) == 0; }
  constexpr int lowest() const { return std::countr_zero(bits); }

  // The `n` members of lowest index. The set must have that many.
  GpuSet lowest(int n) const {
    SL_CHECK(n <= count(), "a set gives no more GPUs than it has");
    std::uint64_t rest = bits;
    for (int i = 0; i < n; ++i) rest &= rest - 1;
    return {bits & ~rest};
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) visit(std::countr_zero(rest));
  }

  friend constexpr auto operator<=>(GpuSet, GpuSet) = default;
  friend constexpr GpuSet operator|(GpuSet a, GpuSet b) { return {a.bits | b.bits}; }
  friend constexpr GpuSet operator&(GpuSet a, GpuSet b) { return {a.bits & b.bits}; }
  friend constexpr GpuSet operator-(GpuSet a, GpuSet b) { return {a.bits & ~b.bits}; }
  GpuSet& operator|=(GpuSet o) {
    bits |= o.bits;
    return *this;
  }
  GpuSet& operator-=(GpuSet o) {
    bits &= ~o.bits;
    return *this;
  }
};

}  // namespace sl
