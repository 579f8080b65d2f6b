// `--servers pool:N`: one number of GPUs, any of which a job may have.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "policies/registry.h"
#include "study/metrics.h"
#include "support/trace_rows.h"

namespace sl::sim {
namespace {

using test::trace_of;

// Counts the GPUs in use by what the world reports.
class InUse : public WorldObserver {
 public:
  explicit InUse(std::size_t jobs) : held_(jobs, 0) {}
  void happened(const WorldEvent& event) override {
    switch (event.kind) {
      case WorldEventKind::start:
      case WorldEventKind::resume:
      case WorldEventKind::resize:
      case WorldEventKind::migrate:
        return hold(event.job, event.gpus->count());
      case WorldEventKind::suspend:
      case WorldEventKind::stop:
      case WorldEventKind::finish:
      case WorldEventKind::fail:
        return hold(event.job, 0);
      default:
        return;
    }
  }
  int most() const { return most_; }

 private:
  void hold(std::size_t job, int gpus) {
    now_ += gpus - held_[job];
    held_[job] = gpus;
    most_ = std::max(most_, now_);
  }
  std::vector<int> held_;
  int now_ = 0, most_ = 0;
};

SimulationResult run_on_pool(const trace::Trace& trace, const std::string& policy, const std::string& pool,
                             WorldObserver* observer = nullptr) {
  SimulationSettings settings;
  settings.cluster = *read_cluster(pool);
  settings.observer = observer;
  return simulate(trace, std::move(*make_policy(policy)), settings);
}

std::vector<double> starts_s(const SimulationResult& result) {
  std::vector<double> seconds;
  for (const Outcome& outcome : result.outcomes)
    seconds.push_back((outcome.started - Instant::at_seconds(0)).to_seconds());
  return seconds;
}

// 100 GPUs, more than one server of the core has: a has 64 until 5, b 36 until 100. c needs 80 and heads the line: it
// can start at 100, when 100 - 80 = 20 are left over. d (10 GPUs, 500 s) takes ten of those now, wherever they are free.
// e (20 GPUs, 500 s) would leave too few at 100, f (20 GPUs, 90 s) ends before.
constexpr const char* easy_rows = "a,0,64,5\nb,0,36,100\nc,6,80,50\nd,7,10,500\ne,8,20,500\nf,9,20,90\n";
const std::vector<double> easy_starts = {0, 0, 100, 7, 150, 9};

TEST(Pool, easy_by_hand) {
  EXPECT_EQ(starts_s(run_on_pool(trace_of(easy_rows), "fifo_easy", "pool:100")), easy_starts);
}

// a has 90 of 100 GPUs until 100. b is promised 100 to 150, c (70 GPUs) 150 to 200. d (10 GPUs, 500 s) fits beside both and starts at
// once. e (30 GPUs, 60 s) would take ten GPUs from b at 100 and from c at 150: 200. f (20 GPUs, 50 s) fits beside b.
TEST(Pool, conservative_by_hand) {
  const trace::Trace trace = trace_of("a,0,90,100\nb,1,70,50\nc,2,70,50\nd,3,10,500\ne,4,30,60\nf,5,20,50\n");
  EXPECT_EQ(starts_s(run_on_pool(trace, "fifo_conservative", "pool:100")),
            (std::vector<double>{0, 100, 150, 3, 200, 100}));
}

trace::Trace random_jobs(Random& random, int widest) {
  std::string rows;
  for (int i = 0; i < 40; ++i) {
    const auto wide = random.integer(0, 9) == 0;
    rows += std::to_string(i) + "," + std::to_string(random.integer(0, 300)) + "," +
            std::to_string(random.integer(1, wide ? widest : 12)) + "," + std::to_string(random.integer(1, 100)) + "\n";
  }
  return trace_of(rows);
}

RC_GTEST_PROP(PoolProperty, every_policy_ends_every_job_and_never_uses_more_gpus_than_there_are, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const int gpus = static_cast<int>(random.integer(12, 200));
  const trace::Trace trace = random_jobs(random, gpus);
  for (const PolicyEntry& entry : policies()) {
    InUse in_use(trace.jobs.size());
    const SimulationResult result = run_on_pool(trace, entry.info.name, "pool:" + std::to_string(gpus), &in_use);
    RC_ASSERT(result.unfinished == 0);
    RC_ASSERT(result.failed == 0);
    RC_ASSERT(in_use.most() <= gpus);
    RC_ASSERT(in_use.most() > 0);
    RC_ASSERT(result.decisions_refused == 0u);
    RC_ASSERT(result.fragmented_gpu_s == 0);
  }
}

// Nothing but numbers of GPUs decides: a pool of up to 64 GPUs is one server.
RC_GTEST_PROP(PoolProperty, a_pool_that_fits_on_a_server_is_that_server_to_policies_of_the_queue, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const trace::Trace trace = random_jobs(random, 64);
  for (const char* policy : {"fifo", "fifo_first_fit", "sjf", "srjf", "fifo_easy", "fifo_conservative"})
    RC_ASSERT(starts_s(run_on_pool(trace, policy, "pool:64")) == starts_s(run_on_pool(trace, policy, "1x64")));
}

TEST(Pool, jobs_that_name_cpus_as_archives_do_need_gpus_alone) {
  std::string rows = easy_rows;
  for (std::size_t at = rows.find('\n'); at != std::string::npos; at = rows.find('\n', at + 4)) rows.insert(at, ",64");
  EXPECT_EQ(starts_s(run_on_pool(trace_of(rows, ",cpus"), "fifo_easy", "pool:100")), easy_starts);
}

TEST(Pool, is_as_many_servers_as_it_takes) {
  EXPECT_EQ(read_cluster("pool:320")->gpus(), 320);
  EXPECT_EQ(read_cluster("pool:320")->servers(), 5);
  EXPECT_EQ(read_cluster("pool:100")->servers(), 2);
  EXPECT_EQ(read_cluster("pool:1")->gpus(), 1);
  EXPECT_EQ(read_cluster("pool:1000000")->gpus(), 1'000'000);
  EXPECT_EQ(read_cluster("pool:100")->gpus_per_server_max(), 100);
  EXPECT_TRUE(read_cluster("pool:100")->descriptions().back().in_pool);
  EXPECT_FALSE(read_cluster("1x64")->descriptions().back().in_pool);
}

TEST(Pool, a_wrong_one_is_refused_with_the_way_to_write_it) {
  for (const char* wrong :
       {"pool:0", "pool:-1", "pool:x", "pool:", "pool:8x8", "pool:8.5", "pool:99999999", "pool:1000001",
        "pool:99999999999999999999", "pool:4+4x8", "4x8+pool:4", "pool:4+pool:4", "pool: 4"}) {
    const auto cluster = read_cluster(wrong);
    ASSERT_FALSE(cluster.ok()) << wrong;
    EXPECT_EQ(cluster.error().code, "bad-servers") << wrong;
    EXPECT_EQ(cluster.error().message, std::string("not a pool: ") + wrong);
  }
}

}  // namespace
}  // namespace sl::sim
