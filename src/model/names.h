// Strings that many jobs share, as small integers: user names, families, GPU types. Kept by the core.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sl {

template <typename Index>
class Names {
 public:
  Index intern(std::string_view text) {
    const auto [at, is_new] =
        by_text_.try_emplace(std::string(text), Index(static_cast<decltype(Index{}.value)>(texts_.size())));
    if (is_new) texts_.emplace_back(text);
    return at->second;
  }
  const std::string& text(Index index) const {
    static const std::string unknown;
    return index.valid() && index.value < texts_.size() ? texts_[index.value] : unknown;
  }
  std::size_t size() const { return texts_.size(); }

 private:
  boost::unordered_flat_map<std::string, Index> by_text_;
  std::vector<std::string> texts_;
};

}  // namespace sl
