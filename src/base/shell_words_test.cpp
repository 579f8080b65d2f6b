#include "base/shell_words.h"

#include <gtest/gtest.h>

namespace sl {
namespace {

TEST(Shell, quotes_keep_everything_as_it_is) {
  EXPECT_EQ(shell_quoted("if"), "'if'");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(Shell, a_word_has_quotes_only_if_it_needs_them) {
  EXPECT_EQ(shell_word("/data/run_1-a.b,c:d=e@f%g+H"), "/data/run_1-a.b,c:d=e@f%g+H");
  for (const char* word : {"", "two words", "$HOME", "a;b", "*", "~", "ä", "a\nb", "\"", "#"})
    EXPECT_EQ(shell_word(word), shell_quoted(word));
}

}  // namespace
}  // namespace sl
