#include "controller/series.h"

#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

TEST(MinuteRing, keeps_the_means_of_the_minutes_of_a_day) {
  MinuteRing ring;
  EXPECT_EQ(ring.at(10), std::nullopt);
  ring.add(10, 1), ring.add(10, 3);
  EXPECT_EQ(ring.at(10), 2) << "the minute that has not ended";
  ring.add(12, 8);
  EXPECT_EQ(ring.at(10), 2);
  EXPECT_EQ(ring.at(11), std::nullopt) << "a gap";
  EXPECT_EQ(ring.at(13), std::nullopt) << "the future";
  ring.add(9 + MinuteRing::minutes_max, 5);
  EXPECT_EQ(ring.at(10), 2);
  EXPECT_EQ(ring.at(9), std::nullopt);
  ring.add(11 + MinuteRing::minutes_max, 5);
  EXPECT_EQ(ring.at(10), std::nullopt) << "more than a day ago";
  EXPECT_EQ(ring.at(12), 8);
  EXPECT_EQ(ring.at(10 + MinuteRing::minutes_max), std::nullopt);
  ring.add(100 * MinuteRing::minutes_max, 1);
  for (std::int64_t minute = 99 * MinuteRing::minutes_max + 1; minute < 100 * MinuteRing::minutes_max; ++minute)
    ASSERT_EQ(ring.at(minute), std::nullopt) << "after a long gap";
}

class SeriesTest : public LogicTest {
 protected:
  const Series::Line* find(const Series::Piece& piece, const std::string& name, const std::string& gpu = "") {
    for (const Series::Line& line : piece.lines) {
      if (line.name == name && (gpu.empty() || line.labels.at("gpu") == gpu)) return &line;
    }
    return nullptr;
  }
  Series series;
};

TEST_F(SeriesTest, shows_at_most_a_thousand_steps_of_whole_minutes) {
  hello();
  series.sample(*logic, now);
  for (const std::int64_t hours : {1, 3, 24}) {
    const Series::Piece piece = series.cluster(now, hours);
    const std::size_t steps = piece.lines.at(0).values.size();
    EXPECT_LE(steps, 1000U);
    EXPECT_EQ(piece.to_us - piece.from_us, static_cast<std::int64_t>(steps) * piece.step_s * 1'000'000);
    EXPECT_GE(piece.to_us, now.us);
    EXPECT_LE(piece.from_us, now.us - (hours - 1) * 3'600'000'000);
    EXPECT_TRUE(piece.lines.at(0).values.back().has_value()) << "the last step is now";
    EXPECT_FALSE(piece.lines.at(0).values.front().has_value());
  }
}

TEST_F(SeriesTest, counts_gpus_and_jobs) {
  hello();
  submit(1), settle();
  series.sample(*logic, now);
  const Series::Piece piece = series.cluster(now, 1);
  ASSERT_TRUE(find(piece, "gpus_total"));
  EXPECT_EQ(find(piece, "gpus_allocated")->values.back(), 1);
  EXPECT_EQ(find(piece, "jobs_pending")->values.back(), 0);
  series.sample(*logic, now);
  EXPECT_EQ(find(series.cluster(now, 1), "gpus_allocated")->values.back(), 1);
}

TEST_F(SeriesTest, shows_each_server_in_at_most_a_hundred_steps) {
  hello();
  hello({}, 2, "b", "t");
  submit(1), settle();
  series.sample(*logic, now);
  const Series::Piece piece = series.servers(now, 24);
  std::map<std::string, std::optional<double>> held;
  for (const Series::Line& line : piece.lines) {
    EXPECT_LE(line.values.size(), 100U);
    if (line.name == "gpus_allocated") held[line.labels.at("server")] = line.values.back();
    if (line.name == "gpu_utilization_pct") {
      EXPECT_EQ(line.values.back(), std::nullopt) << "no GPU has said how busy it is";
    }
  }
  const std::map<std::string, std::optional<double>> expected = {{"s", 1}, {"t", 0}};
  EXPECT_EQ(held, expected);
}

TEST_F(SeriesTest, what_a_training_reports_is_on_the_time_of_its_gpus) {
  hello();
  submit(1), settle();
  tell(report(1, 1, "running"));
  wire::Progress progress;
  progress.incarnation = report(1, 1, "").incarnation;
  progress.step = 7, progress.loss = 0.5;
  progress.at_us = progress.step_at_us = now.us;
  logic->on_agent_message(1, progress, now);
  series.sample(*logic, now);
  const Series::Piece piece = series.job(*logic->book().find(JobId(1)), now, 1);
  ASSERT_TRUE(find(piece, "loss"));
  EXPECT_EQ(find(piece, "loss")->values.back(), 0.5);
  EXPECT_EQ(find(piece, "loss")->values.size(), find(series.cluster(now, 1), "gpus_total")->values.size());
}

}  // namespace
}  // namespace sl::controller::test
