#include "study/published.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "trace/import/importer.h"
#include "trace/text_file.h"

namespace sl::study {
namespace {

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
  const auto rows = rows_of(*trace::read_text(folder + GetParam().file));
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

// 320 trainings in two workloads: the completion times that the authors published (results-jobload/tiresias-1.0).
class PublishedPollux : public testing::TestWithParam<const char*> {};

TEST_P(PublishedPollux, completes_every_training_as_its_simulator_does) {
  const std::string text = *trace::read_text(std::string(SCHEDULEARN_FIXTURES "/simulators/") + GetParam());
  const auto imported = trace::import_trace(trace::ImportFormat::pollux, {text}, {});
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const trace::Trace& trace = imported->trace;
  const auto result = simulate_as("pollux", "tiresias", trace, sim::Cluster::uniform(16, 4));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto rows = rows_of(text);
  ASSERT_EQ(rows.size(), trace.jobs.size());
  for (std::size_t j = 0; j < rows.size(); ++j) {
    ASSERT_EQ(rows[j].at(0), trace.jobs[j].id());
    EXPECT_EQ((result->outcomes[j].finished - trace.jobs[j].submitted).to_seconds(), std::stod(rows[j].at(5)))
        << rows[j].at(0);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, PublishedPollux, testing::Values("pollux-tiresias-2.csv", "pollux-tiresias-3.csv"),
                         [](const auto& made) { return "workload_" + std::string(made.param).substr(16, 1); });

sim::SimulationResult simulated(const char* semantics, const char* policy, const std::string& rows, int servers) {
  const auto trace = trace::parse_trace("job_id,submit_time_s,gpus,duration_s\n" + rows, {});
  EXPECT_TRUE(trace.ok());
  return *simulate_as(semantics, policy, *trace, sim::Cluster::uniform(servers, 8));
}

TEST(PublishedSimulators, in_lucid_twelve_gpus_are_a_server_and_half_of_the_next) {
  const auto result = simulated("lucid", "fifo", "0,0,12,100\n1,0,4,100\n2,0,8,100\n", 2);
  EXPECT_EQ(result.outcomes[0].finished, Instant::at_seconds(100));
  EXPECT_EQ(result.outcomes[1].finished, Instant::at_seconds(100));
  EXPECT_EQ(result.outcomes[2].finished, Instant::at_seconds(200));
}

// Job 1 waits until job 0 has had 18,000 GPU-seconds: 2,251 s, decided at the next full minute.
TEST(PublishedSimulators, lucid_decides_every_minute_also_if_nothing_but_service_has_changed) {
  const auto result = simulated("lucid", "tiresias", "0,0,8,6000\n1,1,8,60\n", 1);
  EXPECT_EQ(result.outcomes[1].started, Instant::at_seconds(2280));
}

// Job 1 gets the GPUs after 408 s, when job 0 falls to the second queue. Until then job 0 was expected to end at 1,000 s,
// and that is when job 2 arrives.
TEST(PublishedSimulators, tiresias_keeps_an_end_that_was_to_coincide_with_an_arrival) {
  const std::string rows = "0,0,8,1000\n1,1,8,500\n2,1000,1,10\n";
  const auto kept = simulated("tiresias", "tiresias", rows, 1),
             mended = simulated("tiresias-mended", "tiresias", rows, 1);
  EXPECT_EQ(kept.outcomes[0].finished, Instant::at_seconds(1000));
  EXPECT_GT(mended.outcomes[0].finished, Instant::at_seconds(1000));
}

TEST(PublishedSimulators, what_is_not_reproduced_is_refused_with_what_is) {
  const auto trace = trace::parse_trace("job_id,submit_time_s,gpus,duration_s\n0,0,1,5\n", {});
  EXPECT_EQ(simulate_as("blox", "fifo", *trace, sim::Cluster::uniform(1, 8)).error().code, "bad-semantics");
  EXPECT_EQ(simulate_as("lucid", "edf", *trace, sim::Cluster::uniform(1, 8)).error().code, "semantics-policy");
  EXPECT_EQ(simulate_as("lucid", "fifo", *trace, sim::Cluster::uniform(1, 4)).error().code, "semantics-shape");
  const auto fine = trace::parse_trace("job_id,submit_time_s,gpus,duration_s\n0,0.5,1,5\n", {});
  EXPECT_EQ(simulate_as("lucid", "fifo", *fine, sim::Cluster::uniform(1, 8)).error().code, "semantics-trace");
  EXPECT_EQ(simulate_as("pollux", "tiresias", *trace, sim::Cluster::uniform(1, 8)).error().code, "semantics-shape");
}

TEST(PublishedSimulators, pollux_passes_over_years_without_jobs) {
  const auto trace = trace::parse_trace(
      "job_id,submit_time_s,gpus,duration_s,model,batch_size\na,0,1,9,ncf,32768\nb,60000000000,1,9,ncf,32768\nc,"
      "60000000001,1,9,ncf,32768\n",
      {});
  ASSERT_TRUE(trace.ok());
  const auto result = simulate_as("pollux", "tiresias", *trace, sim::Cluster::uniform(1, 4));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto jct_s = [&](std::size_t j) {
    return (result->outcomes[j].finished - trace->jobs[j].submitted).to_seconds();
  };
  EXPECT_EQ(result->outcomes[0].started, Instant::at_seconds(60));
  EXPECT_EQ(result->outcomes[1].started, Instant::at_seconds(60'000'000'000));
  EXPECT_EQ(result->outcomes[2].started, Instant::at_seconds(60'000'000'060));
  EXPECT_EQ(jct_s(0), jct_s(1) + 60);
  EXPECT_EQ(jct_s(2), jct_s(1) + 59);
}

TEST(PublishedSimulators, pollux_refuses_trainings_that_were_not_measured) {
  const std::map<std::string, std::string> refused = {
      {"a,0,1,9,,64", "job a: there are no measurements of a training without a name"},
      {"a,0,1,9,gpt,64", "job a: there are no measurements of gpt"},
      {"a,0,1,9,cifar10,64", "job a: cifar10 was not measured with a batch of 64"},
      {"a,0,8,9,cifar10,512", "job a asks for 8 of 4 GPUs"},
      {"a,0,4,9,cifar10,4096\nb,0,1,9,yolov3,512\nc,0,4,9,bert,12",
       "job c: bert was not measured with a batch of 12 on 4 GPUs"}};
  for (const auto& [rows, why] : refused) {
    const auto trace = trace::parse_trace("job_id,submit_time_s,gpus,duration_s,model,batch_size\n" + rows + "\n", {});
    ASSERT_TRUE(trace.ok());
    const auto result = simulate_as("pollux", "tiresias", *trace, sim::Cluster::uniform(1, 4));
    ASSERT_FALSE(result.ok()) << rows;
    EXPECT_EQ(result.error().code, "semantics-trace");
    EXPECT_TRUE(result.error().message.starts_with(why)) << result.error().message;
  }
}

}  // namespace
}  // namespace sl::study
