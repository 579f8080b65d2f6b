#include "base/shell_words.h"

#include <string_view>

namespace sl {

std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:=/@%";
  return !word.empty() && word.find_first_not_of(plain) == std::string::npos ? word : shell_quoted(word);
}

}  // namespace sl
