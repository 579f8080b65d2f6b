// Amounts of what a server has besides GPUs: the dimensions that Tetris and dominant resource fairness pack.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sl {

enum class Resource : std::uint8_t { cpu, memory, disk, network };  // cores, bytes, bytes, bits per second
inline constexpr std::size_t resource_count = 4;

struct ResourceVector {
  std::array<double, resource_count> amount{};

  double& operator[](Resource r) { return amount[static_cast<std::size_t>(r)]; }
  double operator[](Resource r) const { return amount[static_cast<std::size_t>(r)]; }
  bool is_zero() const {
    std::uint64_t bits = 0;  // without a branch per dimension: asked a dozen times per start
    for (const double x : amount) bits |= std::bit_cast<std::uint64_t>(x);
    return bits << 1 == 0;  // whatever the sign
  }
  // Whether every amount fits in `there`, up to rounding (policies.md 7: 1e-9 of each dimension). Promises can make what
  // is there negative; nothing still fits in it.
  bool fits_in(const ResourceVector& there) const {
    for (std::size_t d = 0; d < resource_count; ++d) {
      if (amount[d] > std::max(0.0, there.amount[d]) * (1 + 1e-9) + 1e-9) return false;
    }
    return true;
  }
  ResourceVector& operator+=(const ResourceVector& o) {
    for (std::size_t d = 0; d < resource_count; ++d) amount[d] += o.amount[d];
    return *this;
  }
  ResourceVector& operator-=(const ResourceVector& o) {
    for (std::size_t d = 0; d < resource_count; ++d) amount[d] -= o.amount[d];
    return *this;
  }
  friend ResourceVector operator*(ResourceVector a, double k) {
    for (double& x : a.amount) x *= k;
    return a;
  }
  friend bool operator==(const ResourceVector&, const ResourceVector&) = default;
};

}  // namespace sl
