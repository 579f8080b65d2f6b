// A short list, nearly always of one item. A single item is stored in place and needs no allocation; several are stored
// on the heap. T{} stands for "no item" and cannot be an item.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sl {

template <typename T>
class OneOrMore {
 public:
  OneOrMore() = default;
  OneOrMore(const OneOrMore& other)
      : one_(other.one_), several_(other.several_ ? std::make_unique<std::vector<T>>(*other.several_) : nullptr) {}
  OneOrMore(OneOrMore&& other) noexcept : one_(std::exchange(other.one_, T{})), several_(std::move(other.several_)) {}
  OneOrMore& operator=(OneOrMore other) noexcept {
    one_ = other.one_;
    several_ = std::move(other.several_);
    return *this;
  }

  std::span<const T> items() const {
    if (several_) [[unlikely]]
      return *several_;
    return {&one_, one_ == T{} ? 0u : 1u};
  }
  std::span<T> items() {
    const std::span<const T> same = std::as_const(*this).items();
    return {const_cast<T*>(same.data()), same.size()};
  }
  bool empty() const { return !several_ && one_ == T{}; }

  // Inserts before position `at`, or at the end.
  void insert(std::size_t at, const T& item) {
    if (empty()) {
      one_ = item;
      return;
    }
    if (!several_) several_ = std::make_unique<std::vector<T>>(1, std::exchange(one_, T{}));
    several_->insert(several_->begin() + static_cast<std::ptrdiff_t>(at), item);
  }
  void erase(std::size_t at) {
    if (!several_) {
      one_ = T{};
      return;
    }
    several_->erase(several_->begin() + static_cast<std::ptrdiff_t>(at));
    if (several_->size() > 1) return;
    one_ = several_->front();
    several_.reset();
  }

  friend bool operator==(const OneOrMore& a, const OneOrMore& b) {
    return a.several_ || b.several_ ? std::ranges::equal(a.items(), b.items()) : a.one_ == b.one_;
  }

 private:
  T one_{};                                  // T{} if the list is empty or has several items
  std::unique_ptr<std::vector<T>> several_;  // two or more
};

}  // namespace sl
