// A job that can never run changes nothing for the others, under any policy, on any workload.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::Workload;

constexpr std::int64_t impossible_id = 1000;

// One of the ways in which a job can be impossible on {4, 2, 4} servers with 8 CPUs each.
JobRequest impossible(Random& random) {
  JobRequest request = random.chance(0.5) ? gpus(1) : elastic(1, 4);
  request.priority = static_cast<int>(random.integer(0, 2));
  if (random.chance(0.3)) request.deadline = Instant::at_seconds(static_cast<double>(random.integer(1, 200)));
  switch (random.integer(0, 4)) {
    case 0:
      return request.gpus = request.gpus_min = request.gpus_max = 5, request;
    case 1:
      return request.demand[Resource::cpu] = 120, request;
    case 2:
      return request.gpu_types = {GpuTypeIndex(7)}, request;
    case 3:
      return request.gpu_memory_bytes = 1, request;
    default:  // on several servers: enough GPUs, not enough CPUs beside them
      request.gpus = request.gpus_min = request.gpus_max = 8;
      request.servers_max = any_number_of_servers;
      request.demand[Resource::cpu] = 25;
      return request;
  }
}

JobRequest possible(Random& random) {
  const int least = static_cast<int>(random.integer(1, 2));
  JobRequest request = elastic(least, least + static_cast<int>(random.integer(0, 2)));
  request.priority = static_cast<int>(random.integer(0, 2));
  request.user = UserIndex(static_cast<std::uint32_t>(random.integer(0, 2)));
  request.family = FamilyIndex(static_cast<std::uint32_t>(random.integer(0, 2)));
  if (random.chance(0.3)) request.demand[Resource::cpu] = static_cast<double>(random.integer(0, 8));
  if (random.chance(0.2)) request.servers_max = any_number_of_servers;
  if (random.chance(0.3)) request.deadline = Instant::at_seconds(static_cast<double>(random.integer(1, 500)));
  return request;
}

// The records of all jobs but the impossible one, and whether that one ever ran.
std::string run(const std::string& policy, std::uint64_t seed, bool with_impossible) {
  Random random(seed);
  Cluster cluster({4, 2, 4}, policy);
  for (int s = 0; s < 3; ++s) {
    ServerDescription server = cluster.core.servers()[ServerIndex(static_cast<std::uint32_t>(s))].description;
    server.capacity[Resource::cpu] = 8;
    cluster.feed(ServerJoined{server});
  }
  Workload load(cluster);
  double at = 0;
  for (std::int64_t id = 1; id <= 12; ++id) {
    at += random.chance(0.4) ? 0 : static_cast<double>(random.integer(1, 60));
    const auto seconds = static_cast<double>(random.integer(1, 200));
    load.job(id, at, seconds, possible(random));
  }
  Random other(seed + 1);
  JobRequest request = impossible(other);
  const double arrives = static_cast<double>(other.integer(0, static_cast<std::int64_t>(at)));
  if (with_impossible) load.job(impossible_id, arrives, 10, std::move(request));
  load.run(20'000);
  std::ostringstream text;
  for (const Record& r : cluster.records) {
    if (r.kind == RecordKind::job_progress) continue;
    if (r.job == JobId(impossible_id)) {
      if (r.to == JobState::starting) text << "the impossible job starts\n";
      continue;
    }
    const std::int64_t at_ms = (r.at.us + 500) / 1000;  // work that is counted in other pieces ends a microsecond later
    text << static_cast<int>(r.kind) << ' ' << r.job.value << ' ' << to_string(r.from) << ' ' << to_string(r.to) << ' '
         << at_ms << '\n';
  }
  for (const Command& c : cluster.sent) {
    text << static_cast<int>(c.kind) << ' ' << c.job.value;
    for (const ServerGpus& part : c.gpus.parts()) text << ' ' << part.server.value << ':' << part.gpus.bits;
    text << '\n';
  }
  return text.str();
}

class ImpossibleJob : public testing::TestWithParam<std::string> {};

TEST_P(ImpossibleJob, changes_nothing_for_the_others) {
  rc::detail::checkGTest([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    RC_ASSERT(run(GetParam(), seed, false) == run(GetParam(), seed, true));
  });
}
INSTANTIATE_TEST_SUITE_P(All, ImpossibleJob, testing::ValuesIn(test::policy_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace sl
