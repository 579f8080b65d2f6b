// What every policy keeps to, whatever happens: rules of policies.md 13.2. (That the same history gives the same
// decisions, and that joining late changes none, is in core/core_property_test.cpp.)
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "policy/placer.h"
#include "support/random_history.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::RandomHistory;
using test::Workload;

constexpr Refusal every_refusal[] = {Refusal::unknown_job,       Refusal::not_waiting,     Refusal::not_running,
                                     Refusal::not_interruptible, Refusal::too_soon,        Refusal::wrong_gpu_count,
                                     Refusal::gpus_taken,        Refusal::server_not_up,   Refusal::spans_servers,
                                     Refusal::type_or_memory,    Refusal::resources_taken, Refusal::world_cannot};

// Each property is a test of its own for each policy.
class EveryPolicy : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Policy> policy() const { return Cluster::make(GetParam()); }
  // `holds(seed)` for a hundred seeds.
  template <typename Property>
  static void for_any_seed(Property holds) {
    rc::detail::checkGTest([&] { holds(*rc::gen::arbitrary<std::uint64_t>()); });
  }
};

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, testing::ValuesIn(test::policy_names()),
                         [](const auto& test) { return test.param; });

// Of CPUs and memory a job on its way out still has its part, so who is to follow it is told to come back then.
std::string refused(const Core& core) {
  std::string text;
  for (const Refusal why : every_refusal) {
    if (why != Refusal::resources_taken && core.refusals(why) > 0)
      text += std::string(to_string(why)) + " " + std::to_string(core.refusals(why)) + "; ";
  }
  return text;
}

// The core refuses a decision for a finished job, GPUs that are taken, too few or too many GPUs, a server that is not
// up or not of the right kind: no policy makes one.
TEST_P(EveryPolicy, makes_no_decision_that_is_refused_where_the_world_can_do_everything) {
  for_any_seed([this](std::uint64_t seed) {
    RandomHistory history(seed, policy());
    for (int i = 0; i < 120; ++i) {
      history.step();
      RC_ASSERT(refused(history.cluster.core) == "");
    }
  });
}

// What the world cannot do is refused, and what counted on the GPUs and CPUs that this would have freed.
bool follows(Refusal why) {
  return why == Refusal::world_cannot || why == Refusal::gpus_taken || why == Refusal::resources_taken;
}

TEST_P(EveryPolicy, is_refused_nothing_else_in_a_world_that_can_neither_suspend_nor_move_nor_resize) {
  CoreSettings settings;
  settings.abilities = {false, false, false};
  for_any_seed([&](std::uint64_t seed) {
    RandomHistory history(seed, policy(), settings);
    const Core& core = history.cluster.core;
    for (int i = 0; i < 120; ++i) {
      history.step();
      for (const Refusal why : every_refusal) RC_ASSERT(follows(why) || core.refusals(why) == 0u);
    }
  });
}

// A job that waits though what it asks for is free now.
std::optional<JobId> left_waiting(const Core& core) {
  for (const JobIndex index : core.waiting()) {
    const JobRequest& request = core.job(index).request;
    const auto gpus = place(core.ledger().free(), core.servers(), request, request.gpus);
    if (gpus && core.ledger().resources_suffice(*gpus, request.demand)) return request.id;
  }
  return std::nullopt;
}

class WorkConserving : public EveryPolicy {};  // those that claim to be

std::vector<std::string> work_conserving_names() {
  std::vector<std::string> all = test::policy_names();
  std::erase_if(all, [](const std::string& name) { return !find_policy(name)->info.work_conserving; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Claimed, WorkConserving, testing::ValuesIn(work_conserving_names()),
                         [](const auto& test) { return test.param; });

TEST_P(WorkConserving, leaves_no_gpu_idle_that_a_waiting_job_could_take) {
  for_any_seed([this](std::uint64_t seed) {
    RandomHistory history(seed, policy());
    for (int i = 0; i < 120; ++i) {
      history.step();
      RC_ASSERT(!left_waiting(history.cluster.core));
    }
  });
}

// All servers obey, all jobs end at once.
void end_everything(Cluster& cluster) {
  const Core& core = cluster.core;
  while (core.unfinished() > 0) {
    const std::size_t before = core.unfinished();
    if (!core.waiting().empty()) cluster.feed(JobCancelled{core.job(core.waiting()[0]).request.id});
    if (!core.active().empty()) {
      const Job& job = core.job(core.active()[0]);
      cluster.feed(AttemptExited{job.request.id, job.attempt, {}});
    }
    if (core.unfinished() == before) break;  // those that are held
  }
}

// Left alone it wants a decision every second at most, and none when nobody waits or runs.
TEST_P(EveryPolicy, asks_for_finitely_many_wake_ups_and_none_after_the_last_job) {
  for_any_seed([this](std::uint64_t seed) {
    RandomHistory history(seed, policy());
    for (int i = 0; i < 80; ++i) history.step();
    Cluster& cluster = history.cluster;
    cluster.obeys = true;
    cluster.turn();
    const Instant end = cluster.now + Duration::whole_seconds(1200);
    int wakes = 0;
    for (Instant next = cluster.core.next_wake(); next < end; next = cluster.core.next_wake()) {
      RC_ASSERT(next >= cluster.now);
      RC_ASSERT(++wakes < 1200);
      cluster.now = next;
      cluster.turn();
    }
    end_everything(cluster);
    for (int i = 0; i < 100 && !cluster.core.next_wake().is_never(); ++i) {
      cluster.now = cluster.core.next_wake();
      cluster.turn();
    }
    RC_ASSERT(!cluster.core.waiting().empty() || !cluster.core.active().empty() || cluster.core.next_wake().is_never());
  });
}

JobRequest random_feasible(Random& random) {
  JobRequest request = test::random_request(random);
  request.time_limit.reset();
  request.gpu_types.clear();
  request.gpu_memory_bytes.reset();
  request.demand = {};
  request.gpus_max = std::min(request.gpus_max, 4);
  request.gpus = std::min(request.gpus, request.gpus_max);
  if (request.model) {  // budgets end jobs, and Workload wants a speed for every count
    JobModel model = *request.model;
    model.budget.reset();
    model.speedup.clear();
    model.run_time_s.clear();
    request.model = std::make_shared<const JobModel>(model);
  }
  return request;
}

TEST_P(EveryPolicy, lets_every_job_end_when_no_more_arrive) {
  for_any_seed([this](std::uint64_t seed) {
    Random random(seed);
    Cluster cluster({4, 4}, GetParam());
    Workload load(cluster);
    for (int id = 1; id <= 25; ++id)
      load.job(id, random.uniform(0, 600), random.uniform(1, 400), random_feasible(random));
    load.run();
    RC_ASSERT(load.all_ended());
  });
}

// A stream of narrow jobs that keeps all GPUs busy, and one wide job in it. Those policies that promise that nobody
// waits for ever let it start; a rule that only ever takes what fits would not.
class NobodyStarves : public testing::TestWithParam<const char*> {};

TEST_P(NobodyStarves, a_wide_job_in_a_stream_of_narrow_ones_gets_its_turn) {
  Cluster cluster({4}, GetParam());
  Workload load(cluster);
  for (int id = 1; id <= 2000; ++id) load.job(id, 2.0 * id, 9, gpus(1));
  load.job(5000, 101, 20, gpus(4));
  load.run(4000);
  EXPECT_GT(load.ended(5000), 0);
}
INSTANTIATE_TEST_SUITE_P(Promised, NobodyStarves,
                         testing::Values("fifo", "fifo_strict", "fifo_first_fit", "fifo_easy", "fifo_conservative",
                                         "round_robin", "ffdl", "gang", "one_gpu", "random_gpu"));

}  // namespace
}  // namespace sl
