// Seeded random numbers that are the same on every machine (the standard distributions are not): splitmix64 to seed,
// xoshiro256** to draw (Blackman & Vigna 2018, public domain algorithm). Use one stream per concern, made by `fork`.
#pragma once

#include <cmath>
#include <cstdint>

namespace sl {

class Random {
 public:
  using result_type = std::uint64_t;
  explicit Random(std::uint64_t seed = 1) {
    for (auto& word : state_) word = split_mix(seed);
  }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  result_type operator()() {
    const std::uint64_t result = rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  // Uniform real number in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform whole number in [low, high], both ends included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(span == 0 ? (*this)() : (*this)() % span);
  }
  bool chance(double probability) { return uniform() < probability; }
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  // A new stream, independent of later draws from this one.
  Random fork(std::uint64_t stream) { return Random((*this)() ^ (stream * 0x9E3779B97F4A7C15ULL)); }

 private:
  static std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  static std::uint64_t split_mix(std::uint64_t& seed) {
    std::uint64_t z = (seed += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_[4];
};

}  // namespace sl
