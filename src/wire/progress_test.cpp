#include "wire/progress.h"

#include <gtest/gtest.h>

namespace sl::wire {
namespace {

// "done/total", "done" or "".
std::string found(const std::string& pattern, const std::string& line, std::optional<double> total = {}) {
  const auto progress = find_progress({pattern, total}, line);
  if (!progress) return "";
  const auto text = [](double number) {
    return std::to_string(number).substr(0, std::to_string(number).find('.') + 2);
  };
  return text(progress->done) + (progress->total ? "/" + text(*progress->total) : "");
}

TEST(ProgressPattern, numbers_stand_where_the_pattern_says) {
  EXPECT_EQ(found("epoch {done}/{total}", "[12:00] epoch 3/10 loss 0.4"), "3.0/10.0");
  EXPECT_EQ(found("epoch {done}/{total}", "epoch 3 of 10"), "");
  EXPECT_EQ(found("step {done} of {total}", "step   12\tof 34"), "12.0/34.0") << "a space is any number of blanks";
  EXPECT_EQ(found("of {total}: {done}", "of 20: 7"), "7.0/20.0");
  EXPECT_EQ(found("{done}%", "  42.5%|####", 100), "42.5/100.0");
  EXPECT_EQ(found("{done}%", "142%"), "142.0") << "a number begins where it begins";
  EXPECT_EQ(found("it {done}", "it 1, it 2, it 3"), "3.0") << "the last place counts";
  EXPECT_EQ(found("it {done}", "it x"), "");
  EXPECT_EQ(found("it {done}", "it 99999999999999999999"), "") << "no number that anybody counts to";
  EXPECT_EQ(found("(a.*) {done}", "(a.*) 5"), "5.0") << "everything else stands for itself";
  EXPECT_EQ(found("it {done}", ""), "");
}

TEST(ProgressPattern, one_that_cannot_be_meant_is_refused) {
  for (const char* bad : {"", "epoch", "{done}{done}", "{total}", "{done} {total} {total}", "a  {done}", "{done}\nb"})
    EXPECT_EQ(check_progress_pattern(bad).error().code, "bad-progress") << bad;
  EXPECT_FALSE(check_progress_pattern(std::string(200, 'x') + "{done}").ok());
  EXPECT_TRUE(check_progress_pattern("{done}").ok());
}

TEST(ProgressPattern, a_line_is_read_in_time_in_proportion_to_its_length) {
  const std::string pattern = std::string(190, 'a') + "{done}", line(4'096, 'a');
  for (int i = 0; i < 100; ++i) EXPECT_EQ(found(pattern, line), "");
}

}  // namespace
}  // namespace sl::wire
