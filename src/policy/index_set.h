// A set of small integers that finds its least member, and the next one from a given number on, in a few machine words:
// three 64-ary levels of bits (262,144 members). Used for "servers with exactly n free GPUs".
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace sl {

class IndexSet {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t capacity = 64 * 64 * 64;

  bool empty() const { return top_ == 0; }

  void insert(std::uint32_t i) {
    SL_CHECK(i < capacity, "more members than an IndexSet can hold");
    if ((i >> 6) >= words_.size()) grow(i >> 6);
    std::uint64_t& word = words_[i >> 6];
    if (word == 0) {
      middle_[i >> 12] |= bit(i >> 6);
      top_ |= bit(i >> 12);
    }
    word |= bit(i);
  }

  void erase(std::uint32_t i) {
    if ((i >> 6) >= words_.size()) return;
    if ((words_[i >> 6] &= ~bit(i)) != 0) return;
    if ((middle_[i >> 12] &= ~bit(i >> 6)) != 0) return;
    top_ &= ~bit(i >> 12);
  }

  bool contains(std::uint32_t i) const { return (i >> 6) < words_.size() && (words_[i >> 6] & bit(i)) != 0; }

  // The least member >= `from`, or `none`.
  std::uint32_t next(std::uint32_t from = 0) const {
    if ((from >> 6) >= words_.size()) return none;
    if (const std::uint64_t here = words_[from >> 6] >> (from & 63)) return from + trailing(here);
    const std::uint32_t word = (from >> 6) + 1;
    if (const std::uint64_t beside = above(middle_[from >> 12], word, from >> 12)) {
      return least_in_word(((from >> 12) << 6) + trailing(beside));
    }
    const std::uint32_t block = (from >> 12) + 1;
    const std::uint64_t later = block >= 64 ? 0 : top_ >> block << block;
    if (later == 0) return none;
    const std::uint32_t found = trailing(later);
    return least_in_word((found << 6) + trailing(middle_[found]));
  }

 private:
  static std::uint64_t bit(std::uint32_t i) { return std::uint64_t{1} << (i & 63); }
  static std::uint32_t trailing(std::uint64_t w) { return static_cast<std::uint32_t>(std::countr_zero(w)); }
  // The words of `middle` (of block `block`) from `word` on that have members.
  static std::uint64_t above(std::uint64_t middle, std::uint32_t word, std::uint32_t block) {
    return (word >> 6) != block ? 0 : middle >> (word & 63) << (word & 63);
  }
  std::uint32_t least_in_word(std::uint32_t word) const { return (word << 6) + trailing(words_[word]); }
  void grow(std::uint32_t word) { words_.resize(word + 1); }

  std::uint64_t top_ = 0;
  std::array<std::uint64_t, 64> middle_{};
  std::vector<std::uint64_t> words_;
};

}  // namespace sl
