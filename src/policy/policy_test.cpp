#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "policy/ordered_jobs.h"
#include "policy/placer.h"
#include "policy/policy.h"
#include "policy/satisfiable.h"
#include "policy/waiting_lines.h"

namespace sl {
namespace {

RC_GTEST_PROP(IndexSet, agrees_with_a_plain_set, (const std::vector<std::pair<std::uint32_t, bool>>& steps)) {
  IndexSet set;
  std::set<std::uint32_t> plain;
  for (const auto& [number, insert] : steps) {
    const std::uint32_t i = number % IndexSet::capacity;
    insert ? (set.insert(i), void(plain.insert(i))) : (set.erase(i), void(plain.erase(i)));
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = set.next(); i != IndexSet::none; i = set.next(i + 1)) found.push_back(i);
  RC_ASSERT(found == std::vector<std::uint32_t>(plain.begin(), plain.end()));
  RC_ASSERT(set.empty() == plain.empty());
}

// Enough jobs for several chunks.
RC_GTEST_PROP(OrderedJobs, stays_sorted_whatever_comes_and_goes, (std::uint64_t seed)) {
  Random random(seed);
  OrderedJobs<std::int64_t> jobs;
  std::map<std::int64_t, JobIndex> plain;
  for (std::uint32_t step = 0; step < 1000; ++step) {
    const std::int64_t key = random.integer(0, 9999);
    const auto at = plain.lower_bound(key);
    if (at == plain.end() || random.chance(.7)) {
      if (plain.emplace(key, JobIndex(step)).second) jobs.insert(JobIndex(step), key);
    } else {
      const auto [gone, job] = *(random.chance(.5) ? at : plain.begin());
      RC_ASSERT(jobs.erase(job, gone));
      RC_ASSERT(!jobs.erase(job, gone));
      plain.erase(gone);
    }
    RC_ASSERT(std::equal(jobs.begin(), jobs.end(), plain.begin(), plain.end(), [](const auto& entry, const auto& same) {
      return entry.key == same.first && entry.job == same.second;
    }));
    RC_ASSERT(jobs.size() == plain.size());
  }
}

// Keys in another order, with the numbers of the entries in each chunk as they were.
RC_GTEST_PROP(OrderedJobs, is_sorted_by_the_new_keys_after_a_change_of_all, (std::uint64_t seed)) {
  Random random(seed);
  OrderedJobs<std::int64_t> jobs;
  std::map<std::int64_t, JobIndex> plain;
  const std::int64_t sign = random.chance(.5) ? 1 : -1, factor = random.integer(1, 1000);
  const auto new_key = [&](JobIndex job) { return sign * (std::int64_t{job.value} * factor % 1009); };
  for (std::uint32_t job = 0; job < random.integer(0, 400); ++job) {
    jobs.insert(JobIndex(job), job);
    plain.emplace(new_key(JobIndex(job)), JobIndex(job));
  }
  jobs.rekey(new_key);
  RC_ASSERT(std::equal(jobs.begin(), jobs.end(), plain.begin(), plain.end(), [](const auto& entry, const auto& same) {
    return entry.key == same.first && entry.job == same.second;
  }));
  for (const auto& [key, job] : plain) RC_ASSERT(jobs.erase(job, key));
  RC_ASSERT(jobs.empty());
}

// Of a line, one job, some, or all get new keys.
RC_GTEST_PROP(WaitingLines, some_jobs_with_new_keys_are_where_they_would_be_if_all_were_moved, (std::uint64_t seed)) {
  Random random(seed);
  WaitingLines<std::int64_t> lines, same;
  const std::uint32_t jobs = static_cast<std::uint32_t>(random.integer(1, 300));
  std::vector<std::int64_t> keys;
  for (std::uint32_t job = 0; job < jobs; ++job) {
    keys.push_back(std::int64_t{job} * 1009 % 5003);
    for (auto* each : {&lines, &same}) each->insert_into(job % 3, JobIndex(job), keys[job]);
  }
  std::vector<JobIndex> moved;
  const double share[] = {random.chance(.5) ? .02 : .5, random.chance(.5) ? 0. : 1., .1};
  for (std::uint32_t job = 0; job < jobs; ++job) {
    if (!random.chance(share[job % 3])) continue;
    keys[job] = 10'000 + std::int64_t{job} * 997 % 5003;
    moved.push_back(JobIndex(job));
  }
  for (auto* each : {&lines, &same}) each->forget_changes();
  const auto key_of = [&](JobIndex job) { return keys[job.value]; };
  lines.rekey(moved, key_of);
  same.rekey_all(key_of);
  for (std::uint32_t line = 0; line < lines.lines(); ++line) {
    RC_ASSERT(std::equal(lines[line].begin(), lines[line].end(), same[line].begin(), same[line].end(),
                         [](const auto& a, const auto& b) { return a.key == b.key && a.job == b.job; }));
  }
  const auto changed = [](const auto& of) { return std::set<std::uint32_t>(of.changed().begin(), of.changed().end()); };
  RC_ASSERT(changed(lines) == changed(same));
}

TEST(OrderedJobs, of_several_entries_of_a_job_the_one_with_the_key_is_erased) {
  OrderedJobs<std::int64_t> jobs;
  for (const std::int64_t key : {1, 2, 3}) jobs.insert(JobIndex(7), key);
  EXPECT_TRUE(jobs.erase(JobIndex(7), 2));
  EXPECT_FALSE(jobs.erase(JobIndex(7), 2));
  EXPECT_EQ(jobs.begin()->key, 1);
  EXPECT_EQ(jobs.size(), 2U);
}

struct Placing : testing::Test {
  Placing() {
    for (const int gpus : {4, 2, 4}) {
      Server server;
      server.description.gpus = gpus;
      const ServerIndex index = servers.push_back(server);
      free.set(index, GpuSet::first(gpus), {}, true, gpus);
    }
    request.gpus = 1;
  }
  FreeGpus free;
  ServerTable servers;
  JobRequest request;
};

TEST_F(Placing, best_first_and_worst_fit_take_the_server_their_name_says) {
  EXPECT_EQ(place_single(free, servers, request, 2, Fit::best)->parts().front().server, ServerIndex(1));
  EXPECT_EQ(place_single(free, servers, request, 2, Fit::first)->parts().front().server, ServerIndex(0));
  free.take(ServerIndex(0), GpuSet::first(1), {});
  EXPECT_EQ(place_single(free, servers, request, 2, Fit::worst)->parts().front().server, ServerIndex(2));
  EXPECT_FALSE(place_single(free, servers, request, 5));
}

TEST_F(Placing, a_job_over_servers_takes_whole_ones_first_and_the_rest_where_it_fits_best) {
  request.servers_max = any_number_of_servers;
  const auto six = place_consolidated(free, servers, request, 6);
  ASSERT_TRUE(six);
  EXPECT_EQ(six->on(ServerIndex(0)).count(), 4);
  EXPECT_EQ(six->on(ServerIndex(1)).count(), 2);
  EXPECT_EQ(place_anywhere(free, servers, request, 3)->on(ServerIndex(1)).count(), 2);  // fragments first
  EXPECT_FALSE(place_consolidated(free, servers, request, 11));
  EXPECT_EQ(place_consolidated(free, servers, request, 10)->count(), 10);
}

TEST_F(Placing, a_server_that_lacks_cpus_for_all_of_its_gpus_gives_fewer) {
  FreeGpus scarce;
  ResourceVector cpus;
  cpus[Resource::cpu] = 3;
  scarce.set(ServerIndex(0), GpuSet::first(3), cpus, true, 4);
  scarce.set(ServerIndex(1), GpuSet::first(1), cpus, true, 4);
  request.servers_max = any_number_of_servers;
  request.demand[Resource::cpu] = 4;
  const auto three = place(scarce, servers, request, 3);
  ASSERT_TRUE(three);
  EXPECT_EQ(three->on(ServerIndex(0)).count(), 2);
  EXPECT_EQ(three->on(ServerIndex(1)).count(), 1);
  request.demand[Resource::cpu] = 6;  // four for two of its GPUs
  EXPECT_FALSE(place(scarce, servers, request, 3));
}

TEST_F(Placing, a_job_is_on_no_more_servers_than_it_may_be) {
  request.servers_max = 2;
  EXPECT_EQ(place(free, servers, request, 8)->parts().size(), 2u);
  EXPECT_FALSE(place(free, servers, request, 9));
  free.take(ServerIndex(0), GpuSet::first(3), {});  // 1, 2 and 4 are free
  EXPECT_EQ(place_anywhere(free, servers, request, 3)->parts().size(), 2u);
  const auto four = place_anywhere(free, servers, request, 4);  // as fragments they would be on three
  ASSERT_TRUE(four);
  EXPECT_EQ(four->parts().size(), 1u);
  EXPECT_FALSE(place_anywhere(free, servers, request, 7));
}

// The server with most GPUs has too few CPUs for them: two others do.
TEST_F(Placing, a_limit_of_servers_is_met_where_cpus_are) {
  request.demand[Resource::cpu] = 5;
  request.gpus = request.gpus_min = request.gpus_max = 5;
  request.servers_max = 2;
  const int gpus[] = {4, 3, 2}, cpus[] = {1, 3, 2};
  for (std::uint32_t s = 0; s < 3; ++s) {
    ResourceVector room;
    room[Resource::cpu] = cpus[s];
    free.set(ServerIndex(s), GpuSet::first(gpus[s]), room, true, 4);
  }
  const auto five = place(free, servers, request, 5);
  ASSERT_TRUE(five);
  EXPECT_EQ(five->on(ServerIndex(1)).count(), 3);
  EXPECT_EQ(five->on(ServerIndex(2)).count(), 2);
}

TEST_F(Placing, members_of_a_job_are_on_no_more_servers_than_it_may_be) {
  JobModel model;
  model.roles = {{"worker", 8, 8, 1, {}}};
  model.roles[0].demand[Resource::cpu] = 1;
  request.gpus = request.gpus_min = request.gpus_max = 8;
  request.model = std::make_shared<const JobModel>(model);
  request.demand = Demand(request).of_ranks(0, 8, 8);
  request.servers_max = 2;
  for (std::uint32_t s = 0; s < 3; ++s)
    free.set(ServerIndex(s), free.on(ServerIndex(s)), servers[ServerIndex(s)].description.limits(), true, 4);
  ASSERT_TRUE(place(free, servers, request, 8));
  EXPECT_EQ(place(free, servers, request, 8)->parts().size(), 2u);
  free.take(ServerIndex(2), GpuSet::first(1), {});
  EXPECT_FALSE(place(free, servers, request, 8));
  request.servers_max = 3;
  EXPECT_TRUE(place(free, servers, request, 8));
}

TEST_F(Placing, a_server_that_is_closed_or_of_the_wrong_type_is_found_by_nobody) {
  free.set(ServerIndex(1), GpuSet::first(2), {}, false, 2);
  EXPECT_EQ(place_single(free, servers, request, 2)->parts().front().server, ServerIndex(0));
  servers[ServerIndex(2)].description.gpu_type = GpuTypeIndex(7);
  request.gpu_types = {GpuTypeIndex(7)};
  EXPECT_EQ(place_single(free, servers, request, 1)->parts().front().server, ServerIndex(2));
  request.gpu_memory_bytes = 1;
  EXPECT_FALSE(place_single(free, servers, request, 1));  // its memory is unknown
}

TEST_F(Placing, what_is_not_known_of_a_server_keeps_no_job_away) {
  servers[ServerIndex(0)].description.capacity[Resource::cpu] = 8;
  request.demand[Resource::memory] = 5;
  EXPECT_TRUE(is_satisfiable(servers, request, 4));
  request.demand[Resource::cpu] = 9;
  EXPECT_TRUE(is_satisfiable(servers, request, 4));  // on server 2
  servers[ServerIndex(2)].description.capacity[Resource::cpu] = 8;
  EXPECT_FALSE(is_satisfiable(servers, request, 4));
}

TEST_F(Placing, a_job_with_roles_is_possible_where_every_member_fits_on_some_server) {
  for (Server& server : servers) server.description.capacity[Resource::cpu] = 8;
  JobModel model;
  model.roles = {{"server", 1, 1, 0, {}}, {"worker", 4, 4, 1, {}}};
  model.roles[0].demand[Resource::cpu] = 6;
  model.roles[1].demand[Resource::cpu] = 2;
  const auto asks = [&] {
    request.gpus = request.gpus_min = request.gpus_max = 4;
    request.model = std::make_shared<const JobModel>(model);
    request.demand = Demand(request).of_ranks(0, 4, 4);
  };
  asks();
  EXPECT_FALSE(is_satisfiable(servers, request, 4));  // on one server they need 14
  request.servers_max = any_number_of_servers;
  EXPECT_TRUE(is_satisfiable(servers, request, 4));
  model.roles[0].demand[Resource::cpu] = 9;
  asks();
  EXPECT_FALSE(is_satisfiable(servers, request, 4));
  model.roles[0].demand[Resource::cpu] = 1;
  model.roles[0].count_wanted = 0;
  asks();
  EXPECT_FALSE(is_satisfiable(servers, request, 4));  // a required role has no member
}

TEST_F(Placing, a_trial_puts_everything_back) {
  {
    Trial trial(free);
    trial.take(Allocation(ServerIndex(0), GpuSet::first(4)));
    const std::size_t mark = trial.mark();
    trial.take(Allocation(ServerIndex(1), GpuSet::first(1)));
    trial.rewind(mark);
    EXPECT_EQ(free.total(), 6);
  }
  EXPECT_EQ(free.total(), 10);
}

}  // namespace
}  // namespace sl
