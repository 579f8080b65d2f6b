// Whatever happens and whatever a policy wants, the ledger stays right; and the same history gives the same decisions.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;

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
      decision.at = snapshot.now + Duration::whole_seconds(random.integer(-5, 50));
      decision.value = random.uniform();
      plan.decisions().push_back(decision);
    }
  }
};

JobRequest random_request(Random& random) {
  JobRequest request;
  request.gpus_min = static_cast<int>(random.integer(1, 3));
  request.gpus = request.gpus_min + static_cast<int>(random.integer(0, 2));
  request.gpus_max = request.gpus + static_cast<int>(random.integer(0, 2));
  request.capability = static_cast<Capability>(random.integer(0, 2));
  request.single_server = random.chance(0.7);
  request.shareable = random.chance(0.3);
  request.priority = static_cast<int>(random.integer(0, 2));
  if (random.chance(0.2)) request.time_limit = Duration::whole_seconds(random.integer(1, 30));
  if (random.chance(0.3)) request.demand[Resource::cpu] = static_cast<double>(random.integer(0, 4));
  return request;
}

JobId some_job(Random& random, const Cluster& cluster) {
  const auto all = cluster.core.active().size() + cluster.core.waiting().size();
  if (all == 0 || random.chance(0.1)) return JobId(random.integer(0, 50));
  const auto pick = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(all) - 1));
  const JobIndex index = pick < cluster.core.active().size()
                             ? cluster.core.active()[pick]
                             : cluster.core.waiting()[pick - cluster.core.active().size()];
  return cluster.core.job(index).request.id;
}

Event random_event(Random& random, Cluster& cluster, std::int64_t& next_id) {
  const JobId job = some_job(random, cluster);
  const bool stale = random.chance(0.1);  // drawn in any case: whether a job is still there must not shift the stream
  const int attempt = cluster.has(job.value) && !stale ? cluster.job(job.value).attempt : 1;
  const std::string server = std::to_string(random.integer(0, 3));
  switch (random.integer(0, 13)) {
    case 0:
      return JobCancelled{job};
    case 1:
      return JobHeld{job, random.chance(0.5)};
    case 2:
      return AttemptStarted{job, attempt};
    case 3:
      return AttemptSuspended{job, attempt};
    case 4:
      return AttemptReleased{job, attempt};
    case 5:
    case 6:
      return AttemptExited{
          job, attempt, {random.chance(0.7) ? FailureKind::none : FailureKind::exit, 1}, random.chance(0.2)};
    case 7:
      return ServerLost{server};
    case 8:
      return ServerDrained{server, random.chance(0.3)};
    case 9:
      return TelemetrySampled{server, std::vector<GpuFacts>(4), GpuSet{random() & random() & random() & 0xF}, {}};
    case 10: {
      ServerDescription description;
      description.name = server;
      description.gpus = static_cast<int>(random.integer(2, 6));
      description.capacity[Resource::cpu] = 8;
      return ServerJoined{description};
    }
    case 11:
      return random.chance(0.5) ? Event(ServerSilent{server})
                                : Event(JobEdited{job, static_cast<int>(random.integer(0, 3)), 1, 4, {}});
    default: {
      JobRequest request = random_request(random);
      request.id = JobId(next_id++);
      request.submitted = cluster.now;
      return JobSubmitted{std::move(request), random.chance(0.05)};
    }
  }
}

// Runs a random history; check_invariants() runs after every step. Returns all records and commands as text.
std::string run_history(std::uint64_t seed, std::unique_ptr<Policy> policy, int steps,
                        const std::vector<std::string>& swaps = {}) {
  CoreSettings settings;
  settings.seed = seed;
  Cluster cluster({4, 2, 6}, std::move(policy), settings);
  Random random(seed);
  std::int64_t next_id = 1;
  for (int step = 0; step < steps; ++step) {
    cluster.now = cluster.now + Duration::milliseconds(random.integer(0, 3000));
    cluster.obeys = random.chance(0.7);
    cluster.feed(random_event(random, cluster, next_id));
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

// Replacing a policy by a fresh one of its kind must not change a decision: all it knows can be rebuilt from facts.
RC_GTEST_PROP(CoreProperty, a_policy_that_joins_late_decides_as_one_that_was_there_from_the_start, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto decisions = [](const std::string& history) {  // without the records of the policy changes themselves
    std::string text;
    std::istringstream lines(history);
    for (std::string line; std::getline(lines, line);)
      text +=
          line.starts_with(std::to_string(static_cast<int>(RecordKind::policy_changed)) + " -1 ") ? "" : line + "\n";
    return text;
  };
  for (const PolicyEntry& entry : policies()) {
    RC_LOG(entry.info.name);
    RC_ASSERT(decisions(run_history(seed, Cluster::make(entry.info.name), 80)) ==
              decisions(run_history(seed, Cluster::make(entry.info.name), 80, {entry.info.name})));
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
      ledger.release(held[pick].first, held[pick].second, {}, [](JobIndex) {});
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
