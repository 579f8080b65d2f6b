// What every policy guarantees whatever happens: the rules of policies.md 13.2. (core/core_property_test.cpp checks
// that the same history gives the same decisions and that attaching late changes none.)
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "policies/preemptive/tiresias.h"
#include "policy/spread.h"
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
                                     Refusal::not_interruptible, Refusal::wrong_gpu_count, Refusal::gpus_taken,
                                     Refusal::server_not_up,     Refusal::spans_servers,   Refusal::type_or_memory,
                                     Refusal::resources_taken,   Refusal::world_cannot};

// Each property is a separate test for each policy.
class EveryPolicy : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Policy> policy() const { return Cluster::make(GetParam()); }
  // Checks `holds(seed)` for a hundred seeds.
  template <typename Property>
  static void for_any_seed(Property holds) {
    rc::detail::checkGTest([&] { holds(*rc::gen::arbitrary<std::uint64_t>()); });
  }
};

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, testing::ValuesIn(test::policy_names()),
                         [](const auto& test) { return test.param; });

// Refusals of the latest step, from the record number `first` on, without those that a policy cannot avoid. A job that is
// being stopped still holds its CPUs and memory, so a job that is to follow it, by starting or moving, is told to come
// back later. When a job cannot move for that reason, the one that is to follow it in turn finds its GPUs taken.
std::string refused(const Cluster& cluster, std::size_t first) {
  std::string text;
  Instant cannot_move;  // when that last happened
  for (std::size_t i = first; i < cluster.records.size(); ++i) {
    const Record& record = cluster.records[i];
    if (record.kind != RecordKind::decision_refused) continue;
    if (record.refusal == Refusal::resources_taken) {
      if (cluster.has(record.job.value) && cluster.state(record.job.value) == JobState::running)
        cannot_move = record.at;
      continue;
    }
    if (record.refusal == Refusal::gpus_taken && record.at == cannot_move) continue;
    text += std::string(to_string(record.refusal)) + "; ";
  }
  return text;
}

// Makes 120 steps of the history; which decisions were refused, if any.
std::string refused_in(RandomHistory& history) {
  std::string text;
  for (int i = 0; i < 120 && text.empty(); ++i) {
    const std::size_t before = history.cluster.records.size();
    history.step();
    text = refused(history.cluster, before);
  }
  return text;
}

// The core refuses a decision for a finished job, GPUs that are taken, too few or too many GPUs, a server that is not
// up or not of the right kind: no policy makes one.
TEST_P(EveryPolicy, makes_no_decision_that_is_refused_where_the_world_can_do_everything) {
  for_any_seed([this](std::uint64_t seed) {
    RandomHistory history(seed, policy());
    RC_ASSERT(refused_in(history) == "");
  });
}

// Jobs that are alike but for where they may run stand in different lines, and no policy confuses them.
TEST_P(EveryPolicy, starts_jobs_only_on_servers_that_they_choose) {
  Cluster cluster({4, 4, 4}, policy());
  Workload load(cluster);
  const ServerChoice choices[] = {{}, {{"0"}, {}}, {{}, {"0"}}, {{"1", "2"}, {"2"}}};
  const auto choice_of = [&](std::int64_t id) { return choices[static_cast<std::size_t>(id) % std::size(choices)]; };
  for (std::int64_t id = 1; id <= 40; ++id) {
    JobRequest request = id % 3 == 0 ? elastic(1, 4) : gpus(2);
    request.servers_chosen = choice_of(id);
    load.job(id, static_cast<double>(id / 4), 20, request);
  }
  load.run(100'000);
  EXPECT_TRUE(load.all_ended());
  EXPECT_EQ(refused(cluster, 0), "");
  for (const Command& command : cluster.sent) {
    for (const ServerGpus& part : command.gpus.parts())
      EXPECT_TRUE(choice_of(command.job.value).allows(cluster.core.servers()[part.server].description))
          << "job " << command.job.value << " on " << part.server.value;
  }
}

// As max_min did: job 6 is to move to GPUs whose job still holds the CPUs, so it stays, and job 9 cannot have its GPUs.
// Steps later job 6 has ended; what was refused before is not judged again by that.
TEST(Refused, is_excused_by_what_the_job_in_the_way_did_then) {
  Cluster cluster({2});
  cluster.submit(6, test::gpus(1)).at(5);
  const Record cannot_move{
      .kind = RecordKind::decision_refused, .refusal = Refusal::resources_taken, .job = JobId(6), .at = cluster.now};
  const Record follower{
      .kind = RecordKind::decision_refused, .refusal = Refusal::gpus_taken, .job = JobId(9), .at = cluster.now};
  const std::size_t first = cluster.records.size();
  cluster.records.insert(cluster.records.end(), {cannot_move, follower});
  EXPECT_EQ(refused(cluster, first), "");
  EXPECT_EQ(refused(cluster, first + 1), "gpus_taken; ");  // with nobody in the way
  const std::size_t before = cluster.records.size();
  cluster.at(9).finish(6);
  EXPECT_EQ(refused(cluster, before), "");
}

// A decision that the world cannot carry out is refused, and so are those that counted on the GPUs and CPUs it would
// have freed.
bool follows(Refusal why) {
  return why == Refusal::world_cannot || why == Refusal::gpus_taken || why == Refusal::resources_taken;
}

TEST_P(EveryPolicy, is_refused_nothing_else_in_a_world_that_can_neither_suspend_nor_move_nor_resize) {
  CoreSettings settings;
  settings.abilities = {.suspend = false, .freeze = false, .migrate = false, .resize = false};
  for_any_seed([&](std::uint64_t seed) {
    RandomHistory history(seed, policy(), settings);
    const Core& core = history.cluster.core;
    for (int i = 0; i < 120; ++i) {
      history.step();
      for (const Refusal why : every_refusal) RC_ASSERT(follows(why) || core.refusals(why) == 0u);
    }
  });
}

// A job that waits although what its policy would give it is free now. With CPUs and memory to divide, another number of
// GPUs or another way of spreading them may find room where this one does not. `by_skew`: jobs with a skewed model are on
// no more servers than they need.
std::optional<JobId> left_waiting(const Core& core, bool by_skew) {
  for (const JobIndex index : core.waiting()) {
    const JobRequest& request = core.job(index).request;
    const Spread spread = by_skew ? spread_by_skew(request, 0.4) : Spread::few;
    const auto gpus = place(core.ledger().free(), core.servers(), core.job(index), core.gpus_least(index), spread);
    if (gpus && core.ledger().free().fits(*gpus, request)) return request.id;
  }
  return std::nullopt;
}

class WorkConserving : public EveryPolicy {};  // policies that claim to be work-conserving

std::vector<std::string> work_conserving_names() {
  std::vector<std::string> all = test::policy_names();
  std::erase_if(all, [](const std::string& name) { return !find_policy(name)->info.work_conserving; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Claimed, WorkConserving, testing::ValuesIn(work_conserving_names()),
                         [](const auto& test) { return test.param; });

// Whether the GPUs of the last decision are meant for a job that comes next: for it another is being stopped, which
// still holds the CPUs or memory that it needs too.
bool keeps_gpus_for_the_next(const std::vector<Record>& records, std::size_t first) {
  return std::any_of(records.begin() + static_cast<std::ptrdiff_t>(first), records.end(),
                     [](const Record& record) { return record.refusal == Refusal::resources_taken; });
}

// Whether the policy was asked again: jobs without GPUs, and those that come and do not stand in line, are none of its
// concern.
bool was_asked(const Core& core, const std::vector<Record>& records, std::size_t first) {
  return std::any_of(records.begin() + static_cast<std::ptrdiff_t>(first), records.end(), [&](const Record& record) {
    const JobIndex job = core.find(record.job);
    const bool may_concern = !job.valid() || core.job(job).request.needs_gpus();
    return may_concern && (record.kind != RecordKind::job_submitted || (job.valid() && core.job(job).is_waiting()));
  });
}

TEST_P(WorkConserving, leaves_no_gpu_idle_that_a_waiting_job_could_take) {
  for_any_seed([this](std::uint64_t seed) {
    RandomHistory history(seed, policy());
    const std::vector<Record>& records = history.cluster.records;
    bool keeps_gpus = false;
    for (int i = 0; i < 120; ++i) {
      const std::size_t before = records.size();
      history.step();
      if (was_asked(history.cluster.core, records, before)) keeps_gpus = keeps_gpus_for_the_next(records, before);
      RC_ASSERT(keeps_gpus || !left_waiting(history.cluster.core, GetParam().starts_with("tiresias")));
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
    if (core.unfinished() == before) break;  // only held jobs are left
  }
}

// With no other event it asks for at most one decision per second, and for none when no job waits or runs.
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
  request.needs_containers = false;
  request.demand = {};
  request.gpus_max = std::min(request.gpus_max, 4);
  request.gpus = std::min(request.gpus, request.gpus_max);
  if (request.model) {  // budgets end jobs
    JobModel model = *request.model;
    model.budget.reset();
    model.gpu_counts_allowed.clear();
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

// A stream of narrow jobs that keeps all GPUs busy, with one wide job in it. The policies that promise that no job
// waits for ever must let it start; a rule that only ever takes what fits would not.
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
                         testing::Values("fifo", "fifo_first_fit", "fifo_easy", "fifo_conservative", "round_robin",
                                         "ffdl", "gang", "one_gpu", "random_gpu"));

}  // namespace
}  // namespace sl
