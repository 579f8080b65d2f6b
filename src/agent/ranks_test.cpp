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
      order_with({{"scheduler", 1, 1, 0, {}}, {"server", 3, 1, 0, {}}, {"worker", 4, 1, 1, {}}}), {}, {}, {});
  EXPECT_EQ(e.arguments[2], "scheduler@0/0/1,server@1/0/1,worker@2/0/2:1,worker@3/1/2:3");  // 2 of 1 to 4 GPUs
  EXPECT_NE(std::ranges::find(e.environment, "WORLD_SIZE=4"), e.environment.end());
  EXPECT_EQ(make_execution(order_with({}), {}, {}, {}).arguments[2], "2@0");
}

TEST(Ranks, members_are_read_back_from_the_launchers_command_line) {
  const std::vector<Member> members = {{"server", 0, 2, "", 3}, {"server", 1, 2, "", 4}, {"worker", 0, 1, "7", 5}};
  EXPECT_EQ(to_text(members), "server@3/0/2,server@4/1/2,worker@5/0/1:7");
  EXPECT_EQ(parse_members(to_text(members)), members);
  const std::vector<Member> plain = {{.rank = 2}, {.rank = 3}, {.rank = 4}};
  EXPECT_EQ(to_text(plain), "3@2");
  EXPECT_EQ(parse_members("3@2"), plain);
  for (const char* text : {"", "3", "worker", "worker@1/2", "worker:1"})
    EXPECT_TRUE(parse_members(text).empty()) << text;
}

// Four GPUs, three of them on the second server. The n servers are spread evenly over the workers.
TEST(Ranks, each_server_starts_the_members_that_its_gpus_are_for) {
  wire::StartAttempt order = order_with({{"server", 2, 2, 0, {}}, {"worker", 4, 1, 1, {}}});
  const std::vector<wire::AttemptPart> parts = {{"a", "10.0.0.1", 7000, 1}, {"b", "10.0.0.2", 7100, 3}};
  order.placement = {0, 2, {2}, {}};
  EXPECT_EQ(make_execution(order, parts, {}, {}).arguments[2], "server@0/0/2,worker@2/0/4:2");
  order.placement = {1, 2, {0, 1, 2}, {}};
  const Execution e = make_execution(order, parts, {}, {});
  EXPECT_EQ(e.arguments[2], "server@1/1/2,worker@3/1/4:0,worker@4/2/4:1,worker@5/3/4:2");
  for (const char* entry : {"WORLD_SIZE=6", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=7000", "NNODES=2", "NODE_RANK=1",
                            "SCHEDULEARN_NUM_GPUS=4", "SCHEDULEARN_GPUS_PER_SERVER=3", "SCHEDULEARN_NUM_SERVERS=2",
                            "SCHEDULEARN_SERVER_RANK=1", "SCHEDULEARN_SERVER_IPS=10.0.0.1,10.0.0.2"})
    EXPECT_NE(std::ranges::find(e.environment, entry), e.environment.end()) << entry;
  order.spec.roles = {};
  EXPECT_EQ(make_execution(order, parts, {}, {}).arguments[2], "3@1");
  order.spec.launch = "torchrun";
  EXPECT_NE(
      make_execution(order, parts, {}, {})
          .arguments[2]
          .find("--nnodes 2 --node_rank 1 --nproc_per_node 3 --rdzv_id 0 --master_addr 10.0.0.1 --master_port 7000"),
      std::string::npos);
}

}  // namespace
}  // namespace sl::agent
