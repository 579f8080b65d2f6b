#include "cli/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace sl::cli {
namespace {

Context terminal(std::size_t columns) {
  Context context;
  context.columns = columns;
  return context;
}

TEST(Render, wide_characters_take_two_columns_and_colours_none) {
  EXPECT_EQ(display_width("訓練"), 4u);
  EXPECT_EQ(display_width("e\u0301t\u00e9"), 3u) << "a combining accent";
  EXPECT_EQ(display_width("\x1b[32m● running\x1b[0m"), 9u);
  EXPECT_EQ(display_width("\xff\xfe"), 2u) << "no UTF-8";
}

TEST(Render, figures_that_are_small_or_large_are_in_powers_of_ten) {
  EXPECT_EQ(figure_text(0.71234, 3), "0.712");
  EXPECT_EQ(figure_text(0, 3), "0.000");
  EXPECT_EQ(figure_text(-0.001, 3), "-0.001");
  EXPECT_EQ(figure_text(-1e-5, 3), "-1e-05");
  EXPECT_EQ(figure_text(3e-4, 4), "0.0003");
  EXPECT_EQ(figure_text(1e30, 3), "1e+30");
}

TEST(Render, sentences_name_times_as_the_user_s_clock_shows_them) {
  ::setenv("TZ", "UTC-1", 1);  // an hour before UTC
  ::tzset();
  EXPECT_EQ(with_own_times("drained since 2026-04-05 08:30:00 UTC: new PSU until 2026-04-05 23:00:11 UTC"),
            "drained since 2026-04-05 09:30:00: new PSU until 2026-04-06 00:00:11");
  EXPECT_EQ(with_own_times("for 2026-04-05T08:30:00.125Z, not 2026-04-05T08:30:00"),
            "for 2026-04-05 09:30:00, not 2026-04-05T08:30:00");
  EXPECT_EQ(with_own_times("on trial since 10:23:11 UTC"), "on trial since 11:23:11");
  EXPECT_EQ(with_own_times("99:30:00 UTC of 2026-13-05 08:30:00 UTC"), "99:30:00 UTC of 2026-13-05 09:30:00")
      << "what is no time stays";
  EXPECT_EQ(with_own_times("run x08:30:00 UTC and 8:30:00 UTC of 2026-04-05T08:30"),
            "run x08:30:00 UTC and 8:30:00 UTC of 2026-04-05T08:30");
  ::unsetenv("TZ");
  ::tzset();
}

TEST(Render, records_of_a_list_are_lines_and_a_document_is_a_line_for_each_value) {
  EXPECT_EQ(records_text(
                json::parse(R"({"items":[{"a":"","b":1,"c":null,"d":"x\ty"},{"a":"p","b":[1,{"q":2}]},7],"total":3})")),
            "\t1\t\tx\\ty\np\t[1,{\"q\":2}]\n7\n");
  EXPECT_EQ(records_text(json::parse(R"({"a":{"b":[1,"two\n"]},"c":null,"d":false})")),
            "a.b[0]\t1\na.b[1]\ttwo\\n\nd\tfalse\n");
  EXPECT_EQ(records_text(json::parse(R"({"items":[]})")), "");
}

TEST(Render, long_names_are_cut_in_the_middle_and_text_at_its_end) {
  EXPECT_EQ(cut_middle("resnet50-imagenet-seed-1", 11, "…"), "resne…eed-1");
  EXPECT_EQ(cut_middle("訓練訓練訓練", 7, "…"), "訓練…練");
  EXPECT_EQ(cut_end("needs 4 GPUs", 8, "…"), "needs 4…");
  EXPECT_EQ(cut_end("short", 5, "…"), "short");
}

TEST(Render, a_table_keeps_to_the_terminal_and_gives_up_the_least_needed_first) {
  Table table({"ID", "NAME", "GPUS", "USER", ""}, {0, 2});
  table.may_shrink(1, {3});
  table.add({"1", "resnet50-imagenet-seed-1", "2", "mei", "behind job 3, which needs 4 GPUs on one server"});
  table.add({"2", "訓練", "16", "ali", ""});
  const auto widest = [&](std::size_t columns) {
    std::size_t most = 0;
    std::string line;
    for (std::istringstream text(table.text(terminal(columns))); std::getline(text, line);)
      most = std::max(most, display_width(line));
    return most;
  };
  for (const std::size_t columns : {30, 40, 60, 80, 200}) EXPECT_LE(widest(columns), columns);
  EXPECT_EQ(table.text(terminal(60)),
            "  ID  NAME              GPUS  USER\n"
            "   1  resnet50…-seed-1     2  mei   behind job 3, which nee…\n"
            "   2  訓練                16  ali\n");
  EXPECT_NE(table.text(terminal(0)).find("on one server"), std::string::npos);
  Context quiet = terminal(60);
  quiet.quiet = true;
  EXPECT_EQ(table.text(quiet), "1\n2\n");
}

}  // namespace
}  // namespace sl::cli
