#include "study/range_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "estimate/length_distribution.h"
#include "policies/registry.h"

namespace sl::study {
namespace {

// Users with trainings of their own length, each run off by a factor, on servers that are busy four fifths of the time.
trace::Trace busy_trace(std::size_t jobs) {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 10'000; ++i) all.push_back(std::to_string(i));
    return all;
  }();
  trace::Trace trace;
  trace.users = {"", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"};
  Random random(5);
  double at_s = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    const auto user = static_cast<std::uint32_t>(random.integer(1, 8));
    const double usual_s = 200.0 * static_cast<double>(user * user);
    trace::TraceJob& job = trace.jobs.emplace_back();
    at_s += random.exponential(530);
    job.submitted = Instant::at_seconds(at_s);
    job.duration = Duration::seconds(usual_s * std::exp(0.5 * normal(random)));
    job.gpus = static_cast<std::int32_t>(random.integer(1, 4));
    job.user = user;
    job.id_text = ids[i].c_str(), job.id_size = static_cast<std::uint32_t>(ids[i].size());
  }
  return trace;
}

std::map<std::pair<forecast::Target, std::string>, RangeScore> scores_of(const std::string& policy) {
  RangeStudy study{.cluster = sim::Cluster::uniform(8, 4),
                   .policy_name = policy,
                   .make_policy = [policy] { return std::move(*sl::make_policy(policy)); },
                   .moments = 600};
  std::map<std::pair<forecast::Target, std::string>, RangeScore> scores;
  for (RangeScore& score : score_ranges(busy_trace(3'000), study)) {
    if (score.horizon.empty()) scores[{score.target, score.method}] = score;
  }
  return scores;
}

TEST(RangeScores, eighty_percent_ranges_hold_in_about_eighty_percent_and_are_narrower_than_a_mean_with_its_spread) {
  for (const char* policy : {"fifo", "fifo_easy"}) {
    auto scores = scores_of(policy);
    for (const forecast::Target target : {forecast::Target::start, forecast::Target::finish}) {
      const RangeScore& ours = scores[{target, as_shown}];
      const RangeScore& plain = scores[{target, plain_mean}];
      std::printf("%s %s: %zu ranges, %.0f %% held, width %.0f s; plain %.0f %%, %.0f s; uncorrected %.0f %%\n", policy,
                  to_string(target), ours.ranges, 100 * ours.covered, ours.width_s, 100 * plain.covered, plain.width_s,
                  100 * scores[{target, uncorrected}].covered);
      EXPECT_GT(ours.ranges, 100U);
      EXPECT_NEAR(ours.covered, 0.8, 0.07) << policy << " " << to_string(target);
    }
    EXPECT_LT((scores[{forecast::Target::finish, as_shown}].width_s),
              (scores[{forecast::Target::finish, plain_mean}].width_s));
  }
}

}  // namespace
}  // namespace sl::study
