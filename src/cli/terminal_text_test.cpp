#include "cli/terminal_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sl::cli {
namespace {

// Whole, in two pieces cut at any place, and in pieces of one character: the same.
std::string shown(std::string_view bytes) {
  std::string at_once, text;
  for (std::size_t cut = 0; cut <= std::min<std::size_t>(bytes.size(), 100); ++cut) {
    TerminalText pieces;
    text = pieces.add(bytes.substr(0, cut));
    text += pieces.add(bytes.substr(cut));
    text += pieces.finish();
    if (cut == 0) at_once = text;
    EXPECT_EQ(text, at_once) << "cut at " << cut;
  }
  TerminalText piecewise;
  text.clear();
  for (const char c : bytes) text += piecewise.add({&c, 1});
  EXPECT_EQ(text + piecewise.finish(), at_once);
  return at_once;
}

// Of the bytes that the test below uses.
bool is_harmless(std::string text) {
  for (const std::string_view harmless : {"\033[m", "\033[0m", "\xe2\x9b\x9b", "\xe2\x9b"}) {
    for (std::size_t at; (at = text.find(harmless)) != text.npos;) text.replace(at, harmless.size(), ".");
  }
  return text.find_first_of("\033\x9b") == text.npos;
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
  EXPECT_EQ(shown("a\xc2\x9b"
                  "31mb"),
            "a?31mb");
  EXPECT_EQ(shown("\xc2\xa9"), "\xc2\xa9") << "a copyright sign";
  EXPECT_EQ(shown("\x9b"
                  "31mH\x9d"
                  "0;t\x9c"),
            "?31mH?0;t?");
  EXPECT_EQ(shown("\xff\x9b"
                  "31m"),
            "\xff?31m")
      << "no character begins so";
  EXPECT_EQ(shown("\xe2\x94\x80 \xf0\x9f\x98\x80"), "\xe2\x94\x80 \xf0\x9f\x98\x80") << "a line and a face";
}

TEST(TerminalText, no_control_of_eight_bits_arises_around_a_sequence_and_nothing_is_lost_beside_half_a_character) {
  EXPECT_EQ(shown("\xc2\033[m\x9b"
                  "1049h"),
            "\xc2\033[m?1049h");
  EXPECT_EQ(shown("\xe2\033]0;t\a\x9b"
                  "31m"),
            "\xe2?31m");
  EXPECT_EQ(shown("\xc2\nnext\xc2\xc2\x9b\xc2"), "\xc2\nnext\xc2?\xc2");
}

TEST(TerminalText, passes_on_nothing_that_is_obeyed_however_texts_are_composed_and_cut) {
  constexpr std::string_view bytes = "a\n\033[m\xc2\x9b\xe2";
  constexpr int count = 8 * 8 * 8 * 8 * 8;
  for (int number = 0; number < count; ++number) {
    std::string text;
    for (int rest = number; rest > 0; rest /= 8) text += bytes[static_cast<std::size_t>(rest % 8)];
    ASSERT_TRUE(is_harmless(shown(text))) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace sl::cli
