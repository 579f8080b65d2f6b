// Whatever happens and whatever a policy decides, the ledger stays right; and the same history gives the same
// decisions.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <sstream>

#include "policy/policy_wrapper.h"
#include "support/forgetful.h"
#include "support/random_history.h"

namespace sl {
namespace {

using test::Cluster;
using test::RandomHistory;

// A policy that wants anything: every kind of decision, for any job, on any GPUs.
class Anything : public Policy {
 public:
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    Random& random = snapshot.random;
    for (int i = 0; i < 6; ++i) {
      Decision decision;
      decision.kind = static_cast<DecisionKind>(random.integer(0, static_cast<int>(DecisionKind::dedicate)));
      decision.job =
          JobIndex(static_cast<std::uint32_t>(random.integer(0, static_cast<std::int64_t>(snapshot.jobs.size()) + 1)));
      for (std::int64_t parts = random.integer(0, 2); parts > 0; --parts) {
        decision.gpus.add(ServerIndex(static_cast<std::uint32_t>(random.integer(0, 3))),
                          GpuSet{random() & random() & 0x3F});
      }
      decision.value = random.uniform();
      plan.decisions().push_back(decision);
    }
    if (random.chance(.5)) plan.wake_at(snapshot.now + Duration::whole_seconds(random.integer(-5, 50)));
  }
};

// Asks everything a user may ask, as of that time.
void ask_all(const Core& core, Instant now) {
  for (const JobIndex job : core.queue_order(now)) core.explain(job);
  for (const JobIndex job : core.active()) core.standing(job, now);
  for (const JobIndex job : core.waiting()) core.standing(job, now);
  for (const JobIndex job : core.aside()) core.standing(job, now), core.explain(job);
  for (const JobIndex job : core.all_active()) core.standing(job, now);
  core.reservations(now);
}

// Runs a random history; check_invariants() runs after every step. Returns all records and commands as text.
std::string run_history(std::uint64_t seed, std::unique_ptr<Policy> policy, int steps,
                        const std::vector<std::string>& swaps = {}, bool asks = false) {
  RandomHistory history(seed, std::move(policy));
  Cluster& cluster = history.cluster;
  for (int step = 0; step < steps; ++step) {
    history.step();
    if (asks) ask_all(cluster.core, cluster.now + Duration::whole_seconds(100'000));
    if (!swaps.empty() && step % 10 == 9) cluster.use(swaps[static_cast<std::size_t>(step / 10) % swaps.size()]);
  }
  std::ostringstream text;
  for (const Record& r : cluster.records)
    text << static_cast<int>(r.kind) << ' ' << r.job.value << ' ' << to_string(r.from) << ' ' << to_string(r.to) << ' '
         << r.at.us << ' ' << to_string(r.refusal) << '\n';
  for (const Command& c : cluster.sent) {
    text << static_cast<int>(c.kind) << ' ' << c.job.value << '.' << c.attempt;
    for (const ServerGpus& part : c.gpus.parts()) text << ' ' << part.server.value << ':' << part.gpus.bits;
    text << '\n';
  }
  return text.str();
}

RC_GTEST_PROP(CoreProperty, no_plan_whatever_it_wants_breaks_the_ledger, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  RC_ASSERT(!run_history(seed, std::make_unique<Anything>(), 150).empty());
}

RC_GTEST_PROP(CoreProperty, the_same_history_gives_the_same_records_and_commands, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const PolicyEntry& entry : policies()) {
    RC_ASSERT(run_history(seed, Cluster::make(entry.info.name), 60) ==
              run_history(seed, Cluster::make(entry.info.name), 60));
  }
}

RC_GTEST_PROP(CoreProperty, switching_policies_while_jobs_wait_breaks_nothing, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) names.push_back(entry.info.name);
  RC_ASSERT(!run_history(seed, Cluster::make("fifo"), 120, names).empty());
}

RC_GTEST_PROP(CoreProperty, questions_change_nothing_even_those_about_the_future, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const PolicyEntry& entry : policies()) {
    RC_ASSERT(run_history(seed, Cluster::make(entry.info.name), 60) ==
              run_history(seed, Cluster::make(entry.info.name), 60, {}, true));
  }
}

// Replacing a policy by a fresh one of its kind must not change a decision: everything it knows can be rebuilt from
// facts.
class JoiningLate : public testing::TestWithParam<std::string> {};

TEST_P(JoiningLate, a_policy_decides_as_one_that_was_there_from_the_start) {
  rc::detail::checkGTest([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    RC_ASSERT(run_history(seed, Cluster::make(GetParam()), 120) ==
              run_history(seed, std::make_unique<test::Forgetful>(GetParam(), 10), 120));
  });
}
INSTANTIATE_TEST_SUITE_P(All, JoiningLate, testing::ValuesIn(test::policy_names()),
                         [](const auto& test) { return test.param; });

// Keeps the jobs that its notices tell of, and counts what it could not have known from them.
class Listening : public PolicyWrapper {
 public:
  Listening(const std::string& name, int& surprises) : PolicyWrapper(Cluster::make(name)), surprises_(surprises) {}
  void attach(const Snapshot& snapshot) override {
    told_ = present(snapshot);
    PolicyWrapper::attach(snapshot);
  }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    const bool is_of_known = kind == NoticeKind::running || kind == NoticeKind::stopping || kind == NoticeKind::edited;
    if (is_of_known && !told_.contains(job)) ++surprises_;
    if (kind == NoticeKind::ended) told_.erase(job);
    if (kind == NoticeKind::waiting || kind == NoticeKind::active) told_.insert(job);
    PolicyWrapper::notice(snapshot, kind, job);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (told_ != present(snapshot)) ++surprises_;
    PolicyWrapper::decide(snapshot, plan);
  }

 private:
  static std::set<JobIndex> present(const Snapshot& snapshot) {
    std::set<JobIndex> jobs(snapshot.waiting.begin(), snapshot.waiting.end());
    jobs.insert(snapshot.active.begin(), snapshot.active.end());
    return jobs;
  }
  std::set<JobIndex> told_;
  int& surprises_;
};

RC_GTEST_PROP(CoreProperty, notices_tell_a_policy_of_all_jobs_that_are_its_concern_and_of_no_others, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const char* name : {"fifo", "srtf", "elastic_fifo", "gandiva"}) {
    int surprises = 0;
    run_history(seed, std::make_unique<Listening>(name, surprises), 120);
    RC_ASSERT(surprises == 0);
  }
}

RC_GTEST_PROP(LedgerProperty, taking_and_releasing_restores_what_was_free, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  Ledger ledger;
  for (int s = 0; s < 3; ++s) {
    ServerDescription server;
    server.name = std::to_string(s);
    server.gpus = static_cast<int>(random.integer(1, 8));
    ledger.add_server(server);
  }
  const int total = ledger.free().total();
  std::vector<std::pair<JobIndex, Allocation>> held;
  for (int step = 0; step < 200; ++step) {
    if (!held.empty() && random.chance(0.5)) {
      const auto pick = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(held.size()) - 1));
      ledger.release(held[pick].first, held[pick].second, {}, Instant{0}, [](JobIndex) {});
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
    } else {
      const ServerIndex server(static_cast<std::uint32_t>(random.integer(0, 2)));
      const GpuSet wanted = GpuSet{random()} & ledger.servers()[server].all();
      const Allocation gpus(server, wanted);
      const bool possible = !wanted.empty() && ledger.free().on(server).contains(wanted);
      RC_ASSERT(ledger.all_free(gpus) == (wanted.empty() || possible));
      if (!possible) continue;
      held.emplace_back(JobIndex(static_cast<std::uint32_t>(step)), gpus);
      RC_ASSERT(ledger.take(held.back().first, gpus, {}, Instant{0}) == 0);
    }
    int in_use = 0;
    for (const auto& [job, gpus] : held) in_use += gpus.count();
    RC_ASSERT(ledger.gpus_in_use() == in_use);
    RC_ASSERT(ledger.free().total() == total - in_use);
  }
}

}  // namespace
}  // namespace sl
