#include "agent/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/environment.h"

namespace sl::agent {
namespace {

wire::StartAttempt order_with(std::vector<wire::RoleSpec> roles) {
  wire::StartAttempt order;
  order.placement.gpus = {1, 3};
  order.spec.command = "train.py";
  order.spec.launch = "ranks";
  order.spec.roles = std::move(roles);
  return order;
}

TEST(Ranks, with_roles_as_many_members_start_as_the_gpus_are_for) {
  const Execution e = make_execution(
      order_with({{"scheduler", 1, 1, 0, {}}, {"server", 3, 1, 0, {}}, {"worker", 4, 1, 1, {}}}), {}, {});
  EXPECT_EQ(e.arguments[2], "scheduler,server,worker:1,worker:3");  // 2 of 1 to 4 GPUs
  EXPECT_NE(std::ranges::find(e.environment, "WORLD_SIZE=4"), e.environment.end());
  EXPECT_EQ(make_execution(order_with({}), {}, {}).arguments[2], "2");
}

TEST(Ranks, members_are_read_back_from_the_launchers_command_line) {
  const std::vector<Member> members = {{"server", 0, 2, ""}, {"server", 1, 2, ""}, {"worker", 0, 1, "7"}};
  EXPECT_EQ(to_text(members), "server,server,worker:7");
  EXPECT_EQ(parse_members("server,server,worker:7"), members);
  EXPECT_EQ(parse_members("3"), std::vector<Member>(3));
  EXPECT_EQ(to_text(std::vector<Member>(3)), "3");
}

}  // namespace
}  // namespace sl::agent
