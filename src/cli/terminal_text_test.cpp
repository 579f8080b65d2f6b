#include "cli/terminal_text.h"

#include <gtest/gtest.h>

namespace sl::cli {
namespace {

// Whole, and in pieces of one character: the same.
std::string shown(std::string_view bytes) {
  TerminalText whole, piecewise;
  std::string at_once = whole.add(bytes);
  at_once += whole.finish();
  std::string text;
  for (const char c : bytes) text += piecewise.add({&c, 1});
  EXPECT_EQ(text + piecewise.finish(), at_once);
  return at_once;
}

TEST(TerminalText, keeps_text_colours_and_progress_bars) {
  for (const char* kept : {"plain\n", "a\tb\r\n", " 45% |###  |\r 46% |###  |\033[K\n", "\033[1;31mred\033[0m\n",
                           "\033[38;5;200mx\033[m", "ünïcode 漢字 😀\n"})
    EXPECT_EQ(shown(kept), kept);
  EXPECT_EQ(shown("\033[31mred"), "\033[31mred\033[0m") << "what follows is not red";
}

TEST(TerminalText, leaves_out_whatever_else_a_terminal_would_obey) {
  EXPECT_EQ(shown("\033]0;mine\007a\033]0;mine\033\\b"), "ab");
  EXPECT_EQ(shown("\033[2J\033[H\033[?1049ha\033[10Ab\033[6nc\033[>4;1md"), "abcd");
  EXPECT_EQ(shown("\033Pq data\033\\a\033(0b\033cc\007d\016e\177"), "abcde");
  EXPECT_EQ(shown("\033]0;without an end\nnext\n"), "\nnext\n");
  EXPECT_EQ(shown("\033[31\nnext"), "\nnext");
  EXPECT_EQ(shown(std::string("\033[") + std::string(100'000, '1') + "ma"), "a");
}

TEST(TerminalText, has_no_controls_of_eight_bits) {
  TerminalText text;
  EXPECT_EQ(text.add("a\xc2\x9b"
                     "31mb"),
            "a?31mb");
  EXPECT_EQ(text.add("\xc2\xa9"), "\xc2\xa9") << "a copyright sign";
  EXPECT_EQ(text.add("\x9b"
                     "31mH\x9d"
                     "0;t\x9c"),
            "?31mH?0;t?");
  EXPECT_EQ(text.add("\xff\x9b"
                     "31m"),
            "\xff?31m")
      << "no character begins so";
  EXPECT_EQ(text.add("\xe2\x94\x80 \xf0\x9f\x98\x80"), "\xe2\x94\x80 \xf0\x9f\x98\x80") << "a line and a face";
}

}  // namespace
}  // namespace sl::cli
