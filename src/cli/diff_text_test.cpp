#include "cli/diff_text.h"

#include <gtest/gtest.h>

#include "cli/render.h"

namespace sl::cli {
namespace {

constexpr const char* changed_file =
    "diff --git a/a b/a\n"
    "--- a/a\n"
    "+++ b/a\n"
    "@@ -1,2 +1 @@ f()\n"
    "--- a removed line\n"
    " same\n"
    "\\ No newline at end of file\n"
    "diff --git a/b b/b\n";

TEST(DiffText, lines_have_the_colour_of_what_they_are_not_of_what_they_look_like) {
  EXPECT_EQ(diff_text(changed_file, true),
            "\x1b[1mdiff --git a/a b/a\x1b[0m\n"
            "\x1b[1m--- a/a\x1b[0m\n"
            "\x1b[1m+++ b/a\x1b[0m\n"
            "\x1b[36m@@ -1,2 +1 @@ f()\x1b[0m\n"
            "\x1b[31m--- a removed line\x1b[0m\n"
            " same\n"
            "\\ No newline at end of file\n"
            "\x1b[1mdiff --git a/b b/b\x1b[0m\n");
  EXPECT_EQ(diff_text(changed_file, false), changed_file);
}

TEST(DiffText, one_line_hunks_and_ends_in_the_middle) {
  EXPECT_EQ(diff_text("@@ -1 +1,2 @@\n-a\n+b\n+c\n# 1 more file", true),
            "\x1b[36m@@ -1 +1,2 @@\x1b[0m\n\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n\x1b[32m+c\x1b[0m\n"
            "\x1b[1m# 1 more file\x1b[0m\n");
  EXPECT_EQ(diff_text("@@ -1,9 +1,9 @@\n+half a li", true),
            "\x1b[36m@@ -1,9 +1,9 @@\x1b[0m\n\x1b[32m+half a li\x1b[0m\n");
  EXPECT_EQ(diff_text("", true), "");
}

TEST(DiffText, what_only_git_can_read_of_binary_files_is_not_shown) {
  EXPECT_EQ(diff_text("diff --git a/w b/w\nGIT binary patch\nliteral 3\nKcmYdf\n\nliteral 0\nHcmV?d00001\n\n"
                      "diff --git a/a b/a\n# 1 more file\n",
                      false),
            "diff --git a/w b/w\nGIT binary patch\ndiff --git a/a b/a\n# 1 more file\n");
}

TEST(DiffText, nothing_in_it_reaches_the_terminal_as_an_order) {
  EXPECT_EQ(diff_text("+\x1b]0;title\a\r\n", false), "+^[]0;title^G^M\n");
  EXPECT_EQ(visible("a\xff\tb\xc3"), "a\xEF\xBF\xBD\tb\xEF\xBF\xBD") << "no UTF-8";
  EXPECT_EQ(visible("if \u202e x \u2066y\u2069 \u009b2J \u007f"), "if <U+202E> x <U+2066>y<U+2069> <U+009B>2J ^?");
  EXPECT_EQ(visible("naïve – 訓練"), "naïve – 訓練");
}

}  // namespace
}  // namespace sl::cli
