// The worked examples of each rule, by hand.
#include <gtest/gtest.h>

#include "policy/placer.h"
#include "policy/satisfiable.h"
#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;

JobRequest sharing(int count) {
  JobRequest request = gpus(count);
  request.shareable = true;
  return request;
}

void set_utilization(Cluster& cluster, const std::string& server, const std::vector<double>& percent) {
  std::vector<GpuFacts> facts(percent.size());
  for (std::size_t i = 0; i < percent.size(); ++i) {
    facts[i].utilization_pct = percent[i];
    facts[i].sampled = cluster.now;
  }
  cluster.feed(TelemetrySampled{server, facts, {}, {}});
}

// Server A util [95,20,90,10], B [0,0,0,0]: r=2 gets A{1,3}, since 90 is not below 90.
TEST(Fifo, the_seed_rule_takes_gpus_below_ninety_percent_of_the_first_server_that_has_enough) {
  Cluster cluster({4, 4}, "fifo", {{"preset", "seed"}});
  set_utilization(cluster, "0", {95, 20, 90, 10});
  set_utilization(cluster, "1", {0, 0, 0, 0});
  cluster.submit(1, sharing(2));
  EXPECT_EQ(cluster.where(1), "0:1,3");
}

TEST(Fifo, the_seed_rule_goes_to_the_next_server_when_the_first_has_too_few) {
  Cluster cluster({4, 4}, "fifo", {{"preset", "seed"}});
  set_utilization(cluster, "0", {95, 20, 90, 10});
  set_utilization(cluster, "1", {0, 0, 0, 0});
  cluster.submit(1, sharing(3));
  EXPECT_EQ(cluster.where(1), "1:0,1,2");
}

TEST(Fifo, the_seed_rule_shares_a_gpu_once_its_first_job_has_settled_and_leaves_it_below_theta) {
  Cluster cluster({1}, "fifo", {{"preset", "seed"}});
  cluster.submit(1, sharing(1)).submit(2, sharing(1));
  EXPECT_EQ(cluster.state(2), JobState::pending);  // between launch and first kernel a GPU's utilization is 0 %
  cluster.at(20);
  set_utilization(cluster, "0", {60});
  cluster.turn();
  EXPECT_EQ(cluster.where(2), "0:0");
}

TEST(Fifo, under_the_seed_rule_jobs_that_come_together_share_once_the_first_has_settled) {
  Cluster cluster({1}, "fifo", {{"preset", "seed"}});
  JobRequest first = sharing(1);
  first.id = JobId(1);
  cluster.engine.feed(JobSubmitted{std::move(first)}, cluster.now);
  cluster.submit(2, sharing(1));
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(15));
  cluster.at(15).turn();
  EXPECT_EQ(cluster.where(2), "0:0");
}

TEST(Fifo, under_the_seed_rule_a_gpu_without_jobs_need_not_settle) {
  Cluster cluster({1}, "fifo", {{"preset", "seed"}});
  cluster.submit(1, sharing(1)).at(5).submit(2, sharing(1)).at(10).finish(1);
  EXPECT_EQ(cluster.where(2), "0:0");
}

TEST(Fifo, under_the_seed_rule_a_job_that_waits_for_utilization_to_fall_is_looked_at_again) {
  Cluster cluster({1}, "fifo", {{"preset", "seed"}});
  set_utilization(cluster, "0", {95});
  cluster.submit(1, sharing(1));
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(15));
  set_utilization(cluster, "0", {5});
  cluster.at(15).turn();
  EXPECT_EQ(cluster.where(1), "0:0");
}

// The second needs three of the four CPUs, two of which the first takes.
TEST(Fifo, under_the_seed_rule_what_jobs_that_start_together_ask_of_a_server_is_added_up) {
  for (const bool shares : {true, false}) {
    Cluster cluster({}, "fifo", {{"preset", "seed"}});
    ServerDescription server;
    server.name = "0", server.gpus = 4, server.capacity[Resource::cpu] = 4;
    cluster.feed(ServerJoined{server}).submit(1, gpus(4));
    JobRequest first = sharing(1), second = shares ? sharing(1) : gpus(1), third = gpus(1);
    first.demand[Resource::cpu] = 2, second.demand[Resource::cpu] = 3, third.demand[Resource::cpu] = 1;
    cluster.at(1).submit(2, first).at(2).submit(3, second).at(3).submit(4, third).at(10).finish(1);
    EXPECT_EQ(cluster.state(2), JobState::running);
    EXPECT_EQ(cluster.state(3), JobState::pending);
    EXPECT_EQ(cluster.state(4), JobState::pending) << "it would pass the one before it";
    EXPECT_EQ(cluster.core.refusals(Refusal::resources_taken), 0U);
  }
}

TEST(Fifo, five_gpus_never_fit_servers_of_four) {
  Cluster cluster({4, 4});
  EXPECT_FALSE(is_satisfiable(cluster.core.servers(), gpus(5), 5));
  EXPECT_TRUE(is_satisfiable(cluster.core.servers(), gpus(4), 4));
}

// 4 free GPUs, queue r = 3,2,1: strict starts the first only.
TEST(Fifo, the_head_of_the_line_blocks_the_rest) {
  Cluster cluster({4});
  cluster.submit(1, gpus(3)).submit(2, gpus(2)).submit(3, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

TEST(Fifo, higher_priority_goes_first_then_earlier_submission) {
  Cluster cluster({1});
  cluster.submit(1, gpus(1)).at(1).submit(2, gpus(1));
  JobRequest urgent = gpus(1);
  urgent.priority = 5;
  cluster.at(2).submit(3, urgent).finish(1);
  EXPECT_EQ(cluster.state(3), JobState::running);
  cluster.finish(3);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(Fifo, best_fit_keeps_wide_holes_for_wide_jobs) {
  Cluster cluster({4, 2});
  cluster.submit(1, gpus(2)).submit(2, gpus(4));
  EXPECT_EQ(cluster.where(1), "1:0,1");
  EXPECT_EQ(cluster.where(2), "0:0,1,2,3");
}

TEST(FifoFirstFit, a_job_that_does_not_fit_lets_smaller_ones_pass) {
  Cluster cluster({4}, "fifo_first_fit");
  cluster.submit(1, gpus(3)).submit(2, gpus(2)).submit(3, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST(FifoFirstFit, a_job_overtaken_too_often_blocks_the_line) {
  Cluster cluster({2}, "fifo_first_fit", {{"skip_limit", "2"}});
  cluster.submit(1, gpus(1)).submit(2, gpus(2));
  cluster.submit(3, gpus(1)).finish(1).submit(4, gpus(1)).finish(3).submit(5, gpus(1));
  EXPECT_EQ(cluster.state(5), JobState::pending);  // two have passed job 2, the third may not
  cluster.finish(4);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

// 3 servers of 4: r=1,1,1,1 go to 0,1,2,0; then r=4 waits and the pointer stays.
TEST(RoundRobin, each_job_goes_to_the_server_after_the_last_one) {
  Cluster cluster({4, 4, 4}, "round_robin");
  for (std::int64_t id = 1; id <= 4; ++id) cluster.submit(id, gpus(1));
  EXPECT_EQ(cluster.where(1), "0:0");
  EXPECT_EQ(cluster.where(2), "1:0");
  EXPECT_EQ(cluster.where(3), "2:0");
  EXPECT_EQ(cluster.where(4), "0:1");
  cluster.submit(5, gpus(4));
  EXPECT_EQ(cluster.state(5), JobState::pending);
  EXPECT_EQ(cluster.core.memory().last_server, ServerIndex(0));
}

TEST(RoundRobin, strict_rotation_waits_for_exactly_the_next_server) {
  Cluster cluster({4, 4, 4}, "round_robin", {{"mode", "strict_rotation"}});
  for (std::int64_t id = 1; id <= 4; ++id) cluster.submit(id, gpus(1));
  cluster.submit(5, gpus(4)).finish(3);
  EXPECT_EQ(cluster.state(5), JobState::pending);  // server 2 is empty, but it is not server 2's turn
  cluster.finish(2);
  EXPECT_EQ(cluster.where(5), "1:0,1,2,3");
}

TEST(RoundRobin, strict_rotation_passes_over_a_server_that_could_never_hold_the_job) {
  Cluster cluster({4, 2}, "round_robin", {{"mode", "strict_rotation"}});
  cluster.submit(1, gpus(1)).submit(2, gpus(4)).submit(3, gpus(2));
  EXPECT_EQ(cluster.state(2), JobState::pending);  // server 1 has two GPUs, and server 0 is not empty yet
  cluster.finish(1);
  EXPECT_EQ(cluster.where(2), "0:0,1,2,3");
  EXPECT_EQ(cluster.where(3), "1:0,1");
}

TEST(RoundRobin, the_pointer_survives_a_change_of_policy) {
  Cluster cluster({2, 2}, "round_robin");
  cluster.submit(1, gpus(1)).use("fifo").use("round_robin").submit(2, gpus(1));
  EXPECT_EQ(cluster.where(2), "1:0");
}

TEST(Switching, changes_the_order_of_a_waiting_queue_and_loses_nobody) {
  Cluster cluster({4});
  cluster.submit(1, gpus(3));
  for (std::int64_t id = 2; id <= 51; ++id) cluster.submit(id, gpus(id % 2 == 0 ? 2 : 1));
  EXPECT_EQ(cluster.core.waiting().size(), 50u);
  cluster.use("fifo_first_fit");
  EXPECT_EQ(cluster.state(3), JobState::running);  // the first job of one GPU passes job 2
  EXPECT_EQ(cluster.core.waiting().size() + cluster.core.active().size(), 51u);
}

TEST(Registry, finds_policies_whatever_the_spelling_and_says_what_there_is) {
  EXPECT_NE(find_policy("Round Robin"), nullptr);
  EXPECT_NE(find_policy("FIFO-first-fit"), nullptr);
  EXPECT_EQ(make_policy("fifoo").error().code, "unknown-policy");
  EXPECT_EQ(make_policy("fifo", {{"theta", "120"}}).error().code, "bad-parameter");
  EXPECT_EQ(make_policy("fifo", {{"thetta", "1"}}).error().code, "unknown-parameter");
}

TEST(Registry, what_is_nearest_to_a_misspelled_name_is_proposed) {
  const Error policy = make_policy("edff").error();
  EXPECT_EQ(policy.hints.front(), "did you mean edf?");
  EXPECT_NE(policy.notes.front().find("round_robin"), std::string::npos) << "the list";
  EXPECT_EQ(make_policy("edf", {{"late_modes", "keep"}}).error().hints.front(), "did you mean late_mode?");
}

TEST(Registry, every_policy_says_what_it_is_good_for_what_it_needs_and_what_it_assumes_otherwise) {
  for (const PolicyEntry& entry : policies()) {
    const PolicyInfo& info = entry.info;
    SCOPED_TRACE(info.name);
    for (const std::string& text : {info.title, info.summary, info.good_for, info.weak_for}) EXPECT_FALSE(text.empty());
    EXPECT_FALSE(info.needs.empty());
    for (const Need& need : info.needs) {
      EXPECT_FALSE(to_string(need).empty());
      EXPECT_TRUE(!need.otherwise.empty() || need.fact == Fact::none) << to_string(need);
    }
    EXPECT_EQ(find_policy(info.name), &entry) << "a name or alias is used twice";
    for (const std::string& alias : info.aliases) EXPECT_EQ(find_policy(alias), &entry) << alias;
  }
}

TEST(Registry, every_parameter_has_a_meaning_and_a_default_within_its_range) {
  for (const PolicyEntry& entry : policies()) {
    GivenParameters defaults;
    for (const ParameterInfo& parameter : entry.info.parameters) {
      SCOPED_TRACE(entry.info.name + " " + parameter.name);
      EXPECT_FALSE(parameter.help.empty());
      const bool has_choices = parameter.type == ParameterType::choice || parameter.type == ParameterType::names;
      EXPECT_EQ(has_choices, !parameter.choices.empty());
      EXPECT_TRUE(!parameter.name.ends_with("_s") || !parameter.unit.empty());
      const bool has_range = parameter.type == ParameterType::number || parameter.type == ParameterType::integer ||
                             parameter.type == ParameterType::ascending;
      EXPECT_EQ(has_range, parameter.min < parameter.max);
      defaults.emplace_back(parameter.name, parameter.default_value);
    }
    EXPECT_TRUE(make_policy(entry.info.name, defaults).ok()) << entry.info.name;
  }
}

}  // namespace
}  // namespace sl
