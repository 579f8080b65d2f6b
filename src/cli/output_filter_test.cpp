#include "cli/output_filter.h"

#include <gtest/gtest.h>

#include "wire/job_spec.h"

namespace sl::cli {
namespace {

struct Shown {
  std::string text;
  bool has_found = false;
  std::int64_t untimed = 0;
};

// In pieces of every length, which must not matter.
Shown shown(const LineChoice& choice, const std::string& output) {
  std::optional<Shown> first;
  for (const std::size_t piece : {1, 2, 3, 7, 1'000'000'000}) {
    Shown result;
    auto filter = OutputFilter::make(choice, [&](std::string_view bytes) { return result.text += bytes, true; });
    EXPECT_TRUE(filter.ok());
    if (!filter.ok()) return {};
    for (std::size_t at = 0; at < output.size(); at += piece) EXPECT_TRUE(filter->add(output.substr(at, piece)));
    EXPECT_TRUE(filter->finish());
    result.has_found = filter->has_found(), result.untimed = filter->untimed();
    if (!first) first = result;
    EXPECT_EQ(result.text, first->text) << piece;
  }
  return *first;
}

TEST(OutputFilterTest, lines_that_match_are_shown_as_they_are) {
  const std::string output = "epoch 1\nloss 0.5\n\nepoch 2 \xFF\nend of epoch";
  EXPECT_EQ(shown({.grep = "epoch [0-9]"}, output).text, "epoch 1\nepoch 2 \xFF\n");
  EXPECT_EQ(shown({.grep = "epoch$"}, output).text, "end of epoch");
  EXPECT_EQ(shown({.grep = "^$"}, output).text, "\n");
  EXPECT_FALSE(shown({.grep = "accuracy"}, output).has_found);
  EXPECT_EQ(shown({.grep = "b"}, std::string("a\0b\nc\n", 6)).text, std::string("a\0b\n", 4));
}

TEST(OutputFilterTest, every_match_is_highlighted) {
  EXPECT_EQ(shown({.grep = "ab", .color = true}, "xababy ab\n").text,
            "x\x1b[1;31mab\x1b[0m\x1b[1;31mab\x1b[0my \x1b[1;31mab\x1b[0m\n");
  EXPECT_EQ(shown({.grep = "^a", .color = true}, "aa\n").text, "\x1b[1;31ma\x1b[0ma\n");
  EXPECT_EQ(shown({.grep = "b*", .color = true}, "abc\n").text, "a\x1b[1;31mb\x1b[0mc\n");
}

TEST(OutputFilterTest, errors_begin_at_the_first_line_that_looks_like_one) {
  for (const char* line :
       {"Traceback (most recent call last):", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate",
        "x: NCCL error in: a.cpp", "gpu1:1:2 [0] NCCL WARN Connect", "Segmentation fault (core dumped)",
        "ValueError: bad", "custom.MyException: x", "RUNTIMEERROR: x"})
    EXPECT_EQ(shown({.errors = true}, std::string("fine\n") + line + "\nafter\n").text,
              std::string(line) + "\nafter\n");
  for (const char* line : {"error rate 0.1", "errors: 0", "NCCL INFO ok", "no Errors", "Traceback", "memory out"})
    EXPECT_FALSE(shown({.errors = true}, std::string(line) + "\n").has_found) << line;
  EXPECT_EQ(shown({.grep = "b", .errors = true}, "b 1\nKeyError: a\nb 2\n").text, "b 2\n");
}

TEST(OutputFilterTest, lines_since_a_time_and_those_whose_time_is_unknown) {
  const std::string output =
      "- of old\n2026-11-23T19:00:00.000Z early\n2026-11-23T20:00:00.000Z \n2026-11-23T20:00:01.000Z 2 late\n";
  LineChoice choice{.since_us = *wire::parse_time_us("2026-11-23T20:00:00Z")};
  const Shown plain = shown(choice, output);
  EXPECT_EQ(plain.text, "of old\n\n2 late\n");
  EXPECT_EQ(plain.untimed, 1);
  choice.shows_times = true, choice.grep = "^2";
  EXPECT_EQ(shown(choice, output).text, "2026-11-23T20:00:01.000Z 2 late\n");
  // The rest of a line that is very long has the time of its beginning, and nothing of it is taken for one.
  const std::string dashes(3 << 20, '-');
  choice.grep = "", choice.shows_times = false;
  EXPECT_EQ(shown(choice, "2026-11-23T19:00:00.000Z " + dashes + "\n2026-11-23T21:00:00.000Z - b\n").text, "- b\n");
}

TEST(OutputFilterTest, what_is_no_pattern_is_refused) {
  for (const char* pattern : {"(", "[a", "*{", "a{2,1}", "\\"}) {
    const auto filter = OutputFilter::make({.grep = pattern}, nullptr);
    ASSERT_FALSE(filter.ok()) << pattern;
    EXPECT_EQ(filter.error().code, "bad-pattern");
  }
}

TEST(OutputFilterTest, it_ends_when_nobody_reads) {
  auto filter = OutputFilter::make({.grep = "a"}, [](std::string_view) { return false; });
  ASSERT_TRUE(filter.ok());
  EXPECT_FALSE(filter->add("a\nb\n"));
}

}  // namespace
}  // namespace sl::cli
