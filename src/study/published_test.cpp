#include "study/published.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <sstream>

namespace sl::study {
namespace {

std::string unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  std::string text;
  char piece[65536];
  for (int n; (n = gzread(file, piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(n));
  gzclose(file);
  return text;
}

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    auto& row = rows.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
  }
  return rows;
}

struct Case {
  const char *semantics, *policy, *file;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.file; }
};

class Published : public testing::TestWithParam<Case> {};

TEST_P(Published, finishes_and_preempts_every_job_as_its_simulator_does) {
  const std::string folder = SCHEDULEARN_FIXTURES "/simulators/";
  const auto trace = trace::read_trace(folder + "philly-1k.csv.gz", {});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto result = simulate_as(GetParam().semantics, GetParam().policy, *trace, sim::Cluster::uniform(16, 8));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto rows = rows_of(unpacked(folder + GetParam().file));
  ASSERT_EQ(rows.size(), trace->jobs.size());
  int wrong = 0;
  for (const auto& row : rows) {
    const sim::Outcome& outcome = result->outcomes.at(static_cast<std::size_t>(std::stoi(row.at(0))));
    const bool same =
        outcome.finished.us / 1'000'000 == std::stoll(row.at(2)) && outcome.preemptions == std::stoi(row.at(4));
    if (!same && ++wrong <= 3)
      ADD_FAILURE() << "job " << row[0] << " finished " << outcome.finished.us / 1'000'000 << " with "
                    << outcome.preemptions << " preemptions, there " << row[2] << " with " << row[4];
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Simulators, Published,
                         testing::Values(Case{"tiresias", "fifo", "tiresias-fifo-1k.csv.gz"},
                                         Case{"tiresias", "srtf", "tiresias-srtf-1k.csv.gz"},
                                         Case{"tiresias", "tiresias", "tiresias-dlas-gpu-1k.csv.gz"},
                                         Case{"lucid", "fifo", "lucid-fifo-1k.csv.gz"},
                                         Case{"lucid", "srtf", "lucid-srtf-1k.csv.gz"},
                                         Case{"lucid", "tiresias", "lucid-tiresias-1k.csv.gz"}),
                         [](const auto& made) { return std::string(made.param.semantics) + "_" + made.param.policy; });

TEST(PublishedSimulators, what_is_not_reproduced_is_refused_with_what_is) {
  const auto trace = trace::parse_trace("job_id,submit_time_s,gpus,duration_s\n0,0,1,5\n", {});
  EXPECT_EQ(simulate_as("blox", "fifo", *trace, sim::Cluster::uniform(1, 8)).error().code, "bad-semantics");
  EXPECT_EQ(simulate_as("lucid", "edf", *trace, sim::Cluster::uniform(1, 8)).error().code, "semantics-policy");
  EXPECT_EQ(simulate_as("lucid", "fifo", *trace, sim::Cluster::uniform(1, 4)).error().code, "semantics-shape");
  const auto fine = trace::parse_trace("job_id,submit_time_s,gpus,duration_s\n0,0.5,1,5\n", {});
  EXPECT_EQ(simulate_as("lucid", "fifo", *fine, sim::Cluster::uniform(1, 8)).error().code, "semantics-trace");
}

}  // namespace
}  // namespace sl::study
