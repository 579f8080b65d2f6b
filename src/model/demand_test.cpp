#include "model/demand.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/gpu_counts.h"

namespace sl {
namespace {

Role role(const char* name, int least, int wanted, int gpus, double cpus) {
  Role made{name, least, wanted, gpus, {}};
  made.demand[Resource::cpu] = cpus;
  return made;
}

JobRequest with_roles(std::vector<Role> roles, int gpus) {
  JobRequest request;
  request.gpus = request.gpus_min = request.gpus_max = gpus;
  auto model = std::make_shared<JobModel>();
  model->roles = std::move(roles);
  request.model = std::move(model);
  request.demand = Demand(request).of_ranks(0, gpus, gpus);
  return request;
}

Allocation on(std::initializer_list<std::pair<std::uint32_t, int>> parts) {
  Allocation gpus;
  for (const auto& [server, count] : parts) gpus.append(ServerIndex(server), GpuSet::first(count));
  return gpus;
}

double cpus(const JobRequest& request, const Allocation& gpus, std::uint32_t server) {
  return Demand(request).on(gpus, ServerIndex(server))[Resource::cpu];
}

TEST(Demand, without_roles_is_divided_evenly_over_the_gpus) {
  JobRequest request;
  request.demand[Resource::cpu] = 8;
  const Allocation gpus = on({{0, 3}, {1, 1}});
  EXPECT_EQ(cpus(request, gpus, 0), 6);
  EXPECT_EQ(cpus(request, gpus, 1), 2);
  EXPECT_EQ(cpus(request, gpus, 2), 0);
  EXPECT_EQ(Demand(request).on(2)[Resource::cpu], 8);
}

TEST(Demand, of_members_is_whole_where_each_of_them_is) {
  const JobRequest request = with_roles({role("scheduler", 1, 1, 0, 1), role("chief", 1, 1, 1, 4),
                                         role("server", 2, 2, 0, 8), role("worker", 3, 3, 1, 2)},
                                        4);
  EXPECT_EQ(request.demand[Resource::cpu], 1 + 4 + 16 + 6);
  const Allocation gpus = on({{0, 2}, {1, 2}});  // chief, worker | worker, worker
  EXPECT_EQ(cpus(request, gpus, 0), 1 + 4 + 2 + 8);
  EXPECT_EQ(cpus(request, gpus, 1), 2 + 2 + 8);
}

TEST(Demand, the_first_server_of_an_allocation_has_the_first_members) {
  const JobRequest request = with_roles({role("server", 1, 1, 0, 8), role("worker", 2, 2, 1, 1)}, 2);
  EXPECT_EQ(cpus(request, on({{0, 1}, {1, 1}}), 0), 9);
  EXPECT_EQ(cpus(request, on({{1, 1}, {0, 1}}), 0), 1);
  EXPECT_EQ(cpus(request, on({{1, 1}, {0, 1}}), 1), 9);
}

TEST(Demand, members_are_added_in_order_of_roles_and_those_without_a_gpu_in_proportion) {
  const std::vector<Role> roles = {role("server", 1, 3, 0, 0), role("chief", 1, 2, 1, 0), role("worker", 1, 4, 1, 0)};
  EXPECT_EQ(member_counts(roles, 2), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(member_counts(roles, 3), (std::vector<int>{1, 2, 1}));
  EXPECT_EQ(member_counts(roles, 4), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(member_counts(roles, 6), (std::vector<int>{3, 2, 4}));
  EXPECT_EQ(member_counts(roles, 7), (std::vector<int>{3, 2, 5}));  // more GPUs than the roles want
  EXPECT_EQ(member_counts(roles, 1), (std::vector<int>{1, 1, 0}));
}

RC_GTEST_PROP(DemandProperty, the_parts_add_up_to_the_whole_and_every_gpu_has_a_member, ()) {
  const auto count = [](int low, int high) { return *rc::gen::inRange(low, high); };
  std::vector<Role> roles;
  int gpus_min = 0, gpus_max = 0;
  for (int i = count(1, 5); i > 0; --i) {
    const int least = count(1, 4);
    roles.push_back(role("r", least, least + count(0, 4), i == 1 ? 1 : count(0, 2), count(0, 9)));
    gpus_min += roles.back().gpus * least;
    gpus_max += roles.back().gpus * roles.back().count_wanted;
  }
  const int gpus = count(gpus_min, gpus_max + 1);
  const std::vector<int> members = member_counts(roles, gpus);
  int held = 0;
  double needed = 0;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    RC_ASSERT(members[i] >= roles[i].count_min && members[i] <= roles[i].count_wanted);
    held += members[i] * roles[i].gpus;
    needed += members[i] * roles[i].demand[Resource::cpu];
  }
  RC_ASSERT(held == gpus);
  const JobRequest request = with_roles(roles, gpus);
  Allocation parts;
  for (int left = gpus, server = 9; left > 0; --server) {
    const int here = count(1, left + 1);
    parts.append(ServerIndex(static_cast<std::uint32_t>(server)), GpuSet::first(here));
    left -= here;
    if (server == 0) return;
  }
  double sum = 0;
  for_each_share(parts, request, [&](const ServerGpus&, const ResourceVector& share) { sum += share[Resource::cpu]; });
  RC_ASSERT(sum == needed);
}

TEST(GpuCounts, are_those_of_the_list_between_the_least_and_the_most) {
  JobRequest request;
  request.gpus_min = 2, request.gpus = request.gpus_max = 8;
  EXPECT_EQ(allowed_gpus(request, 7), 7);
  EXPECT_EQ(allowed_gpus(request, 9), 8);
  EXPECT_EQ(allowed_gpus(request, 1), 0);
  JobModel model;
  model.gpu_counts_allowed = {1, 2, 4, 8};
  request.model = std::make_shared<const JobModel>(model);
  EXPECT_EQ(allowed_gpus(request, 7), 4);
  EXPECT_EQ(allowed_gpus(request, 1), 0);
  EXPECT_TRUE(may_run_on(request, 8));
  EXPECT_FALSE(may_run_on(request, 3));
  EXPECT_TRUE(is_possible_range(request, 1, 4));
  EXPECT_FALSE(is_possible_range(request, 3, 4));
}

}  // namespace
}  // namespace sl
