// Which jobs can run on some servers, and what the others lack, in words.
#include "policy/satisfiable.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/random.h"
#include "model/demand.h"

namespace sl {
namespace {

constexpr double gib = 1 << 30;

struct Satisfiable : testing::Test {
  ServerTable servers;
  JobRequest request;

  Server& add(int gpus, double cpus = 0, double memory_gib = 0) {
    Server server;
    server.description.name = "s" + std::to_string(servers.size());
    server.description.gpus = gpus;
    server.description.capacity[Resource::cpu] = cpus;
    server.description.capacity[Resource::memory] = memory_gib * gib;
    return servers[servers.push_back(std::move(server))];
  }
  JobRequest& asks(int gpus, int servers_max = 1) {
    request.gpus = request.gpus_min = request.gpus_max = gpus;
    request.servers_max = servers_max;
    return request;
  }
  std::string lack() const { return lack_text(could_ever_run(servers, request, request.gpus)); }
};

TEST_F(Satisfiable, a_job_in_a_container_runs_only_where_there_is_an_engine) {
  add(8);
  add(2).description.runs_containers = true;
  asks(2).needs_containers = true;
  EXPECT_EQ(lack(), "");
  asks(3);
  EXPECT_EQ(lack(), "needs 3 GPUs on one server, the largest server has 2");
  servers[ServerIndex(1)].description.runs_containers = false;
  EXPECT_EQ(lack(), "it runs in a container, and no server has a container engine");
  servers[ServerIndex(1)].had_containers = true;  // its engine may come back
  asks(2);
  EXPECT_EQ(lack(), "");
  EXPECT_EQ(could_run_now(servers, request, 2).lack, Lack::containers);
  request.needs_containers = false;
  EXPECT_EQ(lack(), "");
}

TEST_F(Satisfiable, a_job_runs_only_on_servers_that_it_names_or_on_all_but_those) {
  add(2).description.labels = {"rack=a"};
  add(4).description.labels = {"rack=b", "gpu=fast"};
  add(8).description.labels = {"rack=b"};
  asks(3).servers_chosen = {{"s0", "rack=b"}, {}};
  EXPECT_EQ(lack(), "");
  request.servers_chosen = {{"rack=b"}, {"s2"}};
  asks(5);
  EXPECT_EQ(lack(), "needs 5 GPUs on one server, the largest server has 4");
  asks(1).servers_chosen = {{"rack=c"}, {}};
  EXPECT_EQ(lack(), "no server has a name or a label that it asks for");
  request.servers_chosen = {{}, {"s0", "rack=b"}};
  EXPECT_EQ(lack(), "no server has a name or a label that it asks for");
  request.servers_chosen = {{}, {"s0", "gpu=fast"}};
  EXPECT_EQ(lack(), "");
  EXPECT_EQ(awaited_servers(servers, asks(8), 8).size(), 0u);
  servers[ServerIndex(2)].state = ServerState::down;
  EXPECT_EQ(awaited_servers(servers, request, 8), std::vector{ServerIndex(2)});
}

TEST_F(Satisfiable, who_may_run_where_is_compared_by_what_it_says) {
  const ServerChoice any, one({"a"}, {}), same({"a"}, {}), other({}, {"a"});
  EXPECT_EQ(one, same);
  EXPECT_EQ(one.hash(), same.hash());
  EXPECT_FALSE(one == other);
  EXPECT_FALSE(one == any);
  EXPECT_TRUE(any == ServerChoice({}, {}));
  EXPECT_NE(one < other, other < one);
  EXPECT_TRUE(any < one && !(one < any) && !(any < any));
  EXPECT_EQ(ServerChoice({"a", "rack=b"}, {"c"}).text(), "on a or rack=b, not on c");
}

TEST_F(Satisfiable, each_thing_a_job_lacks_is_named_with_what_there_is) {
  add(8, 96, 384).description.gpu_memory_bytes = 24 * (std::int64_t{1} << 30);
  add(2, 128, 64);
  asks(8);
  EXPECT_EQ(lack(), "");
  asks(9);
  EXPECT_EQ(lack(), "needs 9 GPUs on one server, the largest server has 8");
  asks(11, any_number_of_servers);
  EXPECT_EQ(lack(), "needs 11 GPUs, all servers together have 10");
  asks(1).demand[Resource::cpu] = 129;
  EXPECT_EQ(lack(), "needs 129 CPUs, the largest server has 128");
  request.demand[Resource::cpu] = 0;
  request.demand[Resource::memory] = 512 * gib;
  EXPECT_EQ(lack(), "needs 512 GiB of memory, the largest server has 384 GiB");
  request.demand = {};
  request.gpu_memory_bytes = 80 * (std::int64_t{1} << 30);
  EXPECT_EQ(lack(), "needs GPUs with 80.0 GiB, the largest have 24.0 GiB");
  request.gpu_memory_bytes.reset();
  request.gpu_types = {GpuTypeIndex(3)};
  EXPECT_EQ(lack(), "no server has the GPU type it asks for");
}

TEST_F(Satisfiable, what_a_job_needs_must_be_on_one_and_the_same_server) {
  add(8, 96);
  add(1, 128);
  asks(2).demand[Resource::cpu] = 120;
  EXPECT_EQ(lack(), "needs 120 CPUs, the largest server has 96") << "of those with 2 GPUs";
  asks(1);
  EXPECT_EQ(lack(), "");
}

TEST_F(Satisfiable, disk_and_network_count_and_what_is_unknown_of_a_server_keeps_nobody_away) {
  add(4).description.capacity[Resource::network] = 10e9;
  asks(1).demand[Resource::network] = 25e9;
  EXPECT_EQ(lack(), "needs 25.0 Gbit/s of network, the largest server has 10.0 Gbit/s");
  request.demand = {};
  request.demand[Resource::disk] = 1e15;
  EXPECT_EQ(lack(), "");
}

TEST_F(Satisfiable, a_limit_of_servers_counts_those_that_have_most) {
  add(8, 64);
  add(4, 64);
  add(4, 64);
  asks(12, 2);
  EXPECT_EQ(lack(), "");
  asks(13, 2);
  EXPECT_EQ(lack(), "needs 13 GPUs on at most 2 servers, the 2 largest together have 12");
  asks(12, 2).demand[Resource::cpu] = 140;
  EXPECT_EQ(lack(), "needs 140 CPUs on at most 2 servers, the 2 largest together have 128");
}

// 16 GPUs with 8 CPUs each fit on two servers of 64 CPUs; with 9 each they do not.
TEST_F(Satisfiable, cpus_of_a_job_on_several_servers_must_be_beside_its_gpus) {
  add(8, 64);
  add(8, 64);
  asks(16, any_number_of_servers).demand[Resource::cpu] = 128;
  EXPECT_EQ(lack(), "");
  request.demand[Resource::cpu] = 144;
  EXPECT_EQ(lack(), "needs 144 CPUs, all servers together have 128");
  add(1, 64);
  EXPECT_EQ(lack(), "no division of its members over the servers was found that has room for all at once");
}

// Whether the ranks from `first` on can be divided over the servers that are left, in any order.
bool can_be_divided(const ServerTable& servers, const JobRequest& request, int first, std::uint32_t used) {
  if (first == request.gpus) return true;
  if (std::popcount(used) == request.servers_max) return false;
  for (std::uint32_t s = 0; s < servers.size(); ++s) {
    const ServerDescription& server = servers[ServerIndex(s)].description;
    if ((used >> s & 1) != 0) continue;
    for (int here = std::min(server.gpus, request.gpus - first); here > 0; --here) {
      if (Demand(request).of_ranks(first, here, request.gpus).fits_in(server.limits()) &&
          can_be_divided(servers, request, first + here, used | 1U << s))
        return true;
    }
  }
  return false;
}

Role members(int count, int gpus, double cpus) {
  Role role{"r", count, count, gpus, {}};
  role.demand[Resource::cpu] = cpus;
  return role;
}

// In every one of three thousand draws, about half of which fit.
TEST_F(Satisfiable, members_find_their_servers_if_any_division_has_room_for_them) {
  Random random(1);
  int possible = 0;
  constexpr int draws = 3000;
  for (int draw = 0; draw < draws; ++draw) {
    servers.clear();
    for (auto n = random.integer(1, 4); n > 0; --n)
      add(static_cast<int>(random.integer(1, 3)), static_cast<double>(random.integer(1, 6)));
    auto model = std::make_shared<JobModel>();
    int gpus = 0;
    for (auto n = random.integer(1, 3); n > 0; --n) {
      const bool on_gpus = gpus == 0 || random.chance(0.6);
      const int count = static_cast<int>(random.integer(1, on_gpus ? 3 : 2));
      model->roles.push_back(members(count, on_gpus ? 1 : 0, static_cast<double>(random.integer(0, 3))));
      gpus += on_gpus ? count : 0;
    }
    asks(gpus, random.chance(0.5) ? any_number_of_servers : static_cast<int>(random.integer(2, 3))).model = model;
    request.demand = Demand(request).of_ranks(0, gpus, gpus);
    if (request.demand.is_zero()) continue;
    const bool expected = can_be_divided(servers, request, 0, 0);
    possible += expected;
    EXPECT_EQ(lack().empty(), expected) << "draw " << draw << ": " << lack();
  }
  EXPECT_GT(possible, draws / 4);
  EXPECT_LT(possible, draws * 3 / 4);
}

TEST_F(Satisfiable, a_broken_gpu_and_a_server_that_is_away_count_as_possible_later) {
  add(4);
  add(8).state = ServerState::down;
  asks(8);
  EXPECT_TRUE(is_satisfiable(servers, request, 8));
  EXPECT_EQ(lack_text(could_run_now(servers, request, 8)), "needs 8 GPUs on one server, the largest server has 4");
  EXPECT_EQ(awaited_servers(servers, request, 8), std::vector{ServerIndex(1)});
  servers[ServerIndex(1)].state = ServerState::up;
  EXPECT_TRUE(could_run_now(servers, request, 8).possible());
  servers[ServerIndex(1)].unavailable = GpuSet::only(2);
  EXPECT_FALSE(could_run_now(servers, request, 8).possible());
  EXPECT_EQ(awaited_servers(servers, request, 8), std::vector{ServerIndex(1)});
}

TEST_F(Satisfiable, who_waits_for_the_memory_of_a_frozen_job_cannot_run_now) {
  Server& server = add(2);
  server.description.gpu_memory_bytes = 80 << 20;
  server.frozen_bytes = {60 << 20, 0};
  asks(2).gpu_memory_bytes = 40 << 20;
  EXPECT_FALSE(could_run_now(servers, request, 2).possible());
  EXPECT_TRUE(awaits_frozen_memory(servers, request, 2));
  request.gpu_memory_bytes = 20 << 20;
  EXPECT_TRUE(could_run_now(servers, request, 2).possible());
  EXPECT_FALSE(awaits_frozen_memory(servers, request, 2));
}

TEST_F(Satisfiable, where_no_single_server_would_do_nobody_in_particular_is_awaited) {
  for (int i = 0; i < 3; ++i) add(4).state = ServerState::draining;
  asks(8, any_number_of_servers);
  EXPECT_TRUE(is_satisfiable(servers, request, 8));
  EXPECT_TRUE(awaited_servers(servers, request, 8).empty());
  servers[ServerIndex(0)].state = ServerState::up;
  EXPECT_EQ(awaited_servers(servers, request, 8), (std::vector{ServerIndex(1), ServerIndex(2)}));
}

TEST_F(Satisfiable, a_removed_server_does_not_count) {
  add(8).description.gpus = 0;  // as the core leaves it
  servers[ServerIndex(0)].state = ServerState::removed;
  asks(1);
  EXPECT_FALSE(is_satisfiable(servers, request, 1));
  EXPECT_TRUE(awaited_servers(servers, request, 1).empty());
}

}  // namespace
}  // namespace sl
