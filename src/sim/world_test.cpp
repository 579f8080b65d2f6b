// What each rule of the world costs, by hand.
#include "sim/world.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "policies/registry.h"
#include "sim/fault_schedule.h"
#include "sim/requests.h"
#include "study/metrics.h"
#include "support/trace_rows.h"

namespace sl::sim {
namespace {

using test::trace_of;

SimulationResult run_on(const trace::Trace& trace, const std::string& policy, const Cluster& cluster,
                        bool like_live = false) {
  SimulationSettings settings;
  settings.cluster = cluster;
  settings.like_live = like_live;
  return simulate(trace, std::move(*make_policy(policy)), settings);
}

double finish_s(const SimulationResult& result, std::size_t job) { return result.outcomes[job].finished.to_seconds(); }

// A long job, then a short one that srtf runs before it at 100 s.
constexpr const char* one_interrupts = "long,0,1,1000\nshort,100,1,20\n";

TEST(Costs, coming_back_takes_the_restart_cost_on_the_gpus_it_has_again) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.costs.restart = Duration::whole_seconds(7);
  const SimulationResult result = run_on(trace_of(one_interrupts), "srtf", cluster);
  EXPECT_EQ(finish_s(result, 1), 120);
  EXPECT_EQ(finish_s(result, 0), 1027);  // 100 done, 20 for the other, 7 to come back, 900 left
  EXPECT_EQ(result.outcomes[0].preemptions, 1);
  EXPECT_DOUBLE_EQ(result.gpu_s_lost, 7);
  EXPECT_DOUBLE_EQ(result.gpu_s_allocated, 1027);
}

TEST(Costs, stopping_holds_the_gpus_meanwhile) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.costs.stop = Duration::whole_seconds(5);
  const SimulationResult result = run_on(trace_of(one_interrupts), "srtf", cluster);
  EXPECT_EQ(finish_s(result, 1), 125);
  EXPECT_EQ(finish_s(result, 0), 1025);
  EXPECT_DOUBLE_EQ(result.gpu_s_lost, 5);
}

TEST(Costs, of_time_slices_are_paid_each_time) {
  const trace::Trace trace = trace_of("a,0,1,10000\nb,0,1,10000\n");
  Cluster cluster = Cluster::uniform(1, 1);
  const SimulationResult gratis = run_on(trace, "gandiva", cluster);
  EXPECT_EQ(std::max(finish_s(gratis, 0), finish_s(gratis, 1)), 20000);
  EXPECT_GT(gratis.outcomes[0].preemptions, 5);
  cluster.costs.restart = Duration::whole_seconds(1);
  const SimulationResult charged = run_on(trace, "gandiva", cluster);
  EXPECT_DOUBLE_EQ(std::max(finish_s(charged, 0), finish_s(charged, 1)), 20000 + charged.gpu_s_lost);
  EXPECT_EQ(charged.gpu_s_lost, charged.outcomes[0].preemptions + charged.outcomes[1].preemptions);
}

// Without figures of its own it costs what a stop and a restart do, as on a cluster whose jobs are not frozen.
TEST(Costs, of_a_suspended_job_are_those_of_a_stopped_one_unless_it_goes_on_in_place) {
  // Where each job was last, and what each that goes on costs.
  class Charged : public WorldObserver {
   public:
    void happened(const WorldEvent& event) override {
      if (event.kind != WorldEventKind::start && event.kind != WorldEventKind::resume) return;
      const ServerIndex server = event.gpus->parts().front().server;
      if (event.kind == WorldEventKind::resume) ++(was_on[event.job] == server ? in_place : elsewhere);
      was_on[event.job] = server;
    }
    std::map<std::size_t, ServerIndex> was_on;
    int in_place = 0, elsewhere = 0;
  };
  const trace::Trace trace = trace_of("a,0,1,10000\nb,0,1,10000\nc,0,1,10000\nd,0,1,1000\n");
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(2, 1);
  settings.cluster.costs.stop = Duration::whole_seconds(2),
  settings.cluster.costs.restart = Duration::whole_seconds(50);
  for (const bool is_frozen : {false, true}) {
    Charged charged;
    settings.observer = &charged;
    if (is_frozen)
      settings.cluster.costs.suspend = Duration{0}, settings.cluster.costs.resume = Duration::whole_seconds(1);
    const SimulationResult result = simulate(trace, std::move(*make_policy("gandiva")), settings);
    EXPECT_EQ(result.unfinished, 0);
    EXPECT_GT(charged.in_place, 5);
    EXPECT_GT(charged.elsewhere, 0);
    const int resumes = charged.in_place + charged.elsewhere;
    EXPECT_EQ(result.gpu_s_lost, is_frozen ? charged.in_place + 50 * charged.elsewhere : 52 * resumes);
  }
}

// Both run at full speed all the time, but for the second that each stop takes: they change places every round.
TEST(RunTime, counts_while_a_job_that_is_to_move_waits_for_its_new_gpus) {
  Cluster cluster;
  ServerKind first, second;
  first.gpus = second.gpus = 1;
  first.name = "a", first.gpu_type = "X";
  second.name = "b", second.gpu_type = "Y";
  cluster.kinds = {first, second};
  cluster.costs.stop = Duration::whole_seconds(1);
  SimulationSettings settings;
  settings.cluster = cluster;
  const SimulationResult result = simulate(trace_of("a,1140,1,300\nb,1200,1,300\n"),
                                           std::move(*make_policy("max_min", {{"round_s", "30"}})), settings);
  int interruptions = 0;
  for (const Outcome& outcome : result.outcomes) {
    EXPECT_EQ(outcome.run, Duration::whole_seconds(300));
    interruptions += outcome.preemptions + outcome.migrations;
  }
  EXPECT_GT(interruptions, 2) << "else this would show nothing";
}

TEST(Speed, of_the_servers_gpu_divides_the_length) {
  Cluster cluster = Cluster::uniform(1, 4);
  cluster.kinds.front().speed = 2;
  EXPECT_EQ(finish_s(run_on(trace_of("a,0,2,100\n"), "fifo", cluster), 0), 50);
}

// b takes c's two GPUs and a free one at 100, and begins once c has stopped, at 600. Beside c's two, a runs at half speed
// (300 of its 1000 s until then), beside b's three at 0.4 (60 s while b takes 150), and then beside c's again.
TEST(Speed, is_not_lowered_by_gpus_that_only_wait_for_others) {
  const trace::Trace trace = trace_of("a,0,1,1000,9\nc,0,2,1000,0\nb,100,3,100,5\n", ",priority");
  Cluster cluster = Cluster::uniform(1, 4);
  cluster.costs.stop = Duration::whole_seconds(500);
  cluster.interference.server_slowdown = 0.5;
  const SimulationResult result = run_on(trace, "priority", cluster);
  EXPECT_NEAR(finish_s(result, 2), 750, 0.01);
  EXPECT_NEAR(finish_s(result, 0), 2030, 0.01);
}

TEST(Speed, of_an_elastic_job_follows_its_gpus) {
  // elastic_fifo gives the only job all four GPUs: linear speedup, half the time.
  const trace::Trace trace = trace_of("a,0,2,100,1,4\n", ",gpus_min,gpus_max");
  EXPECT_EQ(finish_s(run_on(trace, "elastic_fifo", Cluster::uniform(1, 4)), 0), 50);
}

TEST(LikeLive, a_job_keeps_the_gpus_it_started_with) {
  const trace::Trace trace = trace_of("a,0,4,1000,1,4\nb,500,4,1000,1,4\n", ",gpus_min,gpus_max");
  EXPECT_GT(run_on(trace, "elastic_fifo", Cluster::uniform(1, 4)).outcomes[0].resizes, 0);
  const SimulationResult live = run_on(trace, "elastic_fifo", Cluster::uniform(1, 4), true);
  EXPECT_EQ(live.outcomes[0].resizes, 0);
  EXPECT_EQ(finish_s(live, 0), 1000);
  EXPECT_EQ(finish_s(live, 1), 2000);
  EXPECT_EQ(live.decisions_refused, 0U);
}

TEST(LikeLive, a_policy_does_not_know_that_more_gpus_make_a_job_slower) {
  const trace::Trace trace = trace_of("a,0,2,100,1,2,speedup:1|0.5\n", ",gpus_min,gpus_max,profile");
  EXPECT_EQ(finish_s(run_on(trace, "elastic_fifo", Cluster::uniform(1, 2)), 0), 50);  // on one server
  EXPECT_EQ(finish_s(run_on(trace, "elastic_fifo", Cluster::uniform(1, 2), true), 0), 100);
}

TEST(Interference, slows_jobs_on_the_same_server_and_no_others) {
  Cluster cluster = Cluster::uniform(2, 2);
  cluster.interference.server_slowdown = 0.5;
  // a and b share a server until one ends: 1 / (1 + 0.5) of the speed; c has the other server alone.
  const trace::Trace trace = trace_of("c,0,2,100\na,1,1,100\nb,1,1,100\n");
  const SimulationResult result = run_on(trace, "fifo", cluster);
  EXPECT_EQ(finish_s(result, 0), 100);
  EXPECT_NEAR(finish_s(result, 1), 151, 1e-3);
  EXPECT_NEAR(finish_s(result, 2), 151, 1e-3);
}

TEST(Interference, ends_when_the_other_does) {
  Cluster cluster = Cluster::uniform(1, 2);
  cluster.interference.server_slowdown = 1;
  // Both at half speed until a's 50 s are done at 100; b has 100 - 50 left, alone.
  const SimulationResult result = run_on(trace_of("a,0,1,50\nb,0,1,100\n"), "fifo", cluster);
  EXPECT_NEAR(finish_s(result, 0), 100, 1e-3);
  EXPECT_NEAR(finish_s(result, 1), 150, 1e-3);
}

TEST(Interference, of_a_job_on_several_servers) {
  Cluster cluster = Cluster::uniform(2, 2);
  cluster.interference.spanning_speed = 0.8;
  EXPECT_NEAR(finish_s(run_on(trace_of("a,0,4,100\n"), "fifo", cluster), 0), 125, 1e-3);
}

TEST(Faults, a_lost_server_costs_what_was_done_since_the_last_checkpoint) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.faults.checkpoint_every = Duration::whole_seconds(30);
  cluster.events = {{Instant::at_seconds(50), "gpu0", true}, {Instant::at_seconds(80), "gpu0", false}};
  const SimulationResult result = run_on(trace_of("a,0,1,100\n"), "fifo", cluster);
  EXPECT_EQ(finish_s(result, 0), 150);  // 30 of the 50 s are kept; back at 80 with 70 left
  EXPECT_EQ(result.outcomes[0].failures, 1);
  EXPECT_EQ(result.server_losses, 1);
  EXPECT_DOUBLE_EQ(result.gpu_s_lost, 20);
}

// Four GPUs do 400 s of its work between two checkpoints: the one at 100 s is kept, 50 s on four GPUs are lost.
TEST(Faults, checkpoints_come_with_the_clock_and_what_is_lost_counts_on_the_gpus_that_were_held) {
  Cluster cluster = Cluster::uniform(1, 4);
  cluster.faults.checkpoint_every = Duration::whole_seconds(100);
  cluster.events = {{Instant::at_seconds(150), "gpu0", true}, {Instant::at_seconds(160), "gpu0", false}};
  const trace::Trace trace = trace_of("a,0,1,4000,1,4\n", ",gpus_min,gpus_max");
  const SimulationResult result = run_on(trace, "elastic_fifo", cluster);
  EXPECT_EQ(finish_s(result, 0), 1060);
  EXPECT_DOUBLE_EQ(result.gpu_s_lost, 200);
}

// Half as fast next to another job from 60 s to 80 s: 90 s of its work are done at the checkpoint at 100 s.
TEST(Faults, a_change_of_speed_does_not_move_the_checkpoints) {
  Cluster cluster = Cluster::uniform(1, 2);
  cluster.interference.server_slowdown = 1;
  cluster.faults.checkpoint_every = Duration::whole_seconds(100);
  cluster.events = {{Instant::at_seconds(130), "gpu0", true}, {Instant::at_seconds(200), "gpu0", false}};
  const SimulationResult result = run_on(trace_of("a,0,1,1000\nb,60,1,10\n"), "fifo", cluster);
  EXPECT_NEAR(finish_s(result, 0), 1110, 1e-3);
  EXPECT_NEAR(result.gpu_s_lost, 30, 1e-3);
}

// A has worked for 600 s when it is suspended for B, which runs for 100 s until their server is lost. Both begin again.
TEST(Faults, a_suspended_process_is_lost_with_its_server) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.costs.stop = Duration::whole_seconds(10);
  cluster.costs.restart = Duration::whole_seconds(50);
  cluster.costs.suspend = cluster.costs.resume = Duration{0};
  cluster.faults.checkpoint_every = Duration::whole_seconds(3600);
  cluster.events = {{Instant::at_seconds(700), "gpu0", true}, {Instant::at_seconds(701), "gpu0", false}};
  const SimulationResult result = run_on(trace_of("a,0,1,2000\nb,1,1,2000\n"), "gandiva", cluster);
  EXPECT_EQ(result.outcomes[0].failures, 1);
  EXPECT_EQ(result.outcomes[1].failures, 1);
  EXPECT_DOUBLE_EQ(result.gpu_s_lost, 600 + 50 + 100 + 50);
}

TEST(Faults, a_planned_loss_lasts_although_its_server_is_down_already_when_it_comes) {
  Cluster cluster = Cluster::uniform(2, 1);
  cluster.faults.server_mtbf = cluster.faults.server_repair = Duration::whole_seconds(100);
  const Instant from = Instant::at_seconds(1000), to = Instant::at_seconds(9000);
  cluster.events = {{from, "gpu0", true}, {to, "gpu0", false}};
  int down_before = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FaultSchedule schedule(cluster, Random(seed), Instant::at_seconds(0));
    bool is_down = false;
    while (schedule.next() <= to) {
      const FaultSchedule::Event event = schedule.take();
      if (event.server != 0) continue;
      EXPECT_FALSE(event.at > from && event.at < to) << "seed " << seed << " at " << event.at.to_seconds();
      is_down = event.lost;
      if (event.at < from) down_before += schedule.next() > from && is_down;
      EXPECT_TRUE(event.at != to || !is_down);
    }
    EXPECT_FALSE(is_down);
  }
  EXPECT_GT(down_before, 0) << "else this would show nothing";
}

// What happened, as "time kind job", but for the arrivals.
class Told : public WorldObserver {
 public:
  std::vector<std::string> lines;
  void happened(const WorldEvent& event) override {
    constexpr WorldEventKind kinds[] = {WorldEventKind::stop, WorldEventKind::start, WorldEventKind::resume};
    constexpr const char* names[] = {"stop", "start", "resume"};
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
      if (event.kind == kinds[i])
        lines.push_back(std::to_string(event.at.us / 1'000'000) + " " + names[i] + " " + std::to_string(event.job));
    }
  }
};

SimulationResult run_and_tell(const trace::Trace& trace, std::unique_ptr<Policy> policy, const Cluster& cluster,
                              Told& told) {
  SimulationSettings settings;
  settings.cluster = cluster;
  settings.observer = &told;
  return simulate(trace, std::move(policy), settings);
}

// The long job is being stopped for the urgent one when their server is lost: 1 s of the hour that this takes has passed.
TEST(Faults, a_stop_that_a_lost_server_cuts_short_costs_what_it_took) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.costs.stop = Duration::whole_seconds(3600);
  cluster.events = {{Instant::at_seconds(101), "gpu0", true}, {Instant::at_seconds(102), "gpu0", false}};
  Told told;
  const trace::Trace trace = trace_of("long,0,1,200,0\nurgent,100,1,10,5\n", ",priority");
  const SimulationResult result = run_and_tell(trace, std::move(*make_policy("priority")), cluster, told);
  EXPECT_DOUBLE_EQ(result.gpu_s_lost, 1);
  EXPECT_EQ(result.outcomes[0].failures, 1);
  EXPECT_EQ(result.outcomes[1].failures, 0) << "nothing of it ran";
  EXPECT_EQ(told.lines, (std::vector<std::string>{"0 start 0", "101 stop 0", "102 start 1", "112 resume 0"}));
  const study::Metrics metrics = study::measure(trace, result, cluster);
  EXPECT_GT(metrics.goodput_pct, 99);
}

// The third job is about to move from the slow server to the fast one when that is lost: it has lost nothing.
TEST(Faults, a_job_that_was_to_move_to_a_lost_server_is_stopped_where_it_runs) {
  Cluster cluster;
  ServerKind slow, fast;
  slow.gpus = fast.gpus = 4;
  slow.name = "slow", slow.gpu_type = "K80", slow.speed = 0.5;
  fast.name = "fast", fast.gpu_type = "V100";
  cluster.kinds = {slow, fast};
  cluster.costs.stop = Duration::whole_seconds(60);
  cluster.faults.checkpoint_every = Duration::whole_seconds(3600);
  cluster.events = {{Instant::at_seconds(330), "fast0", true}, {Instant::at_seconds(3000), "fast0", false}};
  Told told;
  const trace::Trace trace = trace_of("a,0,4,1000\nb,0,4,1000\nc,5,4,1000\n");
  const SimulationResult result =
      run_and_tell(trace, std::move(*make_policy("max_min", {{"round_s", "100"}})), cluster, told);
  EXPECT_EQ(result.unfinished, 0);
  std::map<std::string, int> held;  // by job; a job is not stopped that holds nothing
  for (const std::string& line : told.lines) {
    const std::string job = line.substr(line.rfind(' ') + 1);
    held[job] += line.find("stop") == std::string::npos ? 1 : -1;
    EXPECT_GE(held[job], 0) << line;
  }
  EXPECT_EQ(result.outcomes[2].failures, 0) << "its own server never failed";
}

TEST(Bounds, of_jobs_without_gpus_do_not_depend_on_the_speed_of_gpus) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.kinds.front().speed = 0.5;
  const trace::Trace trace = trace_of("cpu,0,0,100\n", {}, [] {
    trace::TraceOptions options;
    options.keeps_without_gpus = true;
    return options;
  }());
  const SimulationResult result = run_on(trace, "fifo", cluster);
  EXPECT_EQ(finish_s(result, 0), 100);
  EXPECT_LE(study::lower_bounds(trace, cluster).makespan_s, 100);
}

// A checkpoint would be due after the server is lost again, each time.
TEST(Faults, under_which_no_work_is_ever_kept_end_the_simulation) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.faults.checkpoint_every = Duration::whole_seconds(36'000);
  cluster.faults.server_mtbf = Duration::whole_seconds(300);
  cluster.faults.server_repair = Duration::whole_seconds(60);
  const SimulationResult result = run_on(trace_of("a,0,1,36000\n"), "fifo", cluster);
  EXPECT_EQ(result.unfinished, 1);
  EXPECT_NE(result.standstill.find("job a broke down or lost its server 10000 times in a row"), std::string::npos)
      << result.standstill;
}

TEST(Faults, jobs_wait_for_a_server_that_is_to_come_back_and_no_longer) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.events = {{Instant::at_seconds(5), "gpu0", true}};
  const SimulationResult result = run_on(trace_of("a,0,1,100\n"), "fifo", cluster);
  EXPECT_EQ(result.unfinished, 1);
}

TEST(Faults, are_the_same_for_every_policy_and_differ_with_the_seed) {
  Cluster cluster = Cluster::uniform(4, 2);
  cluster.faults.server_mtbf = Duration::whole_seconds(500);
  cluster.faults.server_repair = Duration::whole_seconds(50);
  std::string rows;
  for (int i = 0; i < 50; ++i) rows += std::to_string(i) + "," + std::to_string(i * 10) + ",1,100\n";
  const trace::Trace trace = trace_of(rows);
  std::vector<std::int64_t> finishes;
  for (const std::uint64_t seed : {1, 1, 2}) {
    SimulationSettings settings;
    settings.cluster = cluster;
    settings.seed = seed;
    const SimulationResult result = simulate(trace, std::move(*make_policy("fifo")), settings);
    EXPECT_EQ(result.unfinished, 0);
    EXPECT_GT(result.server_losses, 0);
    finishes.push_back(0);
    for (const Outcome& outcome : result.outcomes) finishes.back() += outcome.finished.us;
  }
  EXPECT_EQ(finishes[0], finishes[1]);
  EXPECT_NE(finishes[0], finishes[2]);
}

TEST(Faults, a_job_that_breaks_too_often_has_failed) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.faults.job_mtbf = Duration::whole_seconds(1);
  cluster.faults.job_retries = 2;
  const SimulationResult result = run_on(trace_of("a,0,1,100000\n"), "fifo", cluster);
  EXPECT_EQ(result.failed, 1);
  EXPECT_EQ(result.outcomes[0].failures, 3);
  EXPECT_FALSE(result.outcomes[0].finished.happened());
}

std::vector<double> starts_of(const SimulationResult& result) {
  std::vector<double> starts;
  for (const Outcome& outcome : result.outcomes) starts.push_back(outcome.started.to_seconds());
  return starts;
}

constexpr const char* with_arrays = ",array,max_running";

TEST(Arrays, run_as_many_of_their_jobs_at_a_time_as_may_and_others_pass) {
  const trace::Trace trace =
      trace_of("a,0,1,10,x,2\nb,0,1,30,x,2\nc,0,1,10,x,2\nd,0,1,10,x,2\ne,0,1,10,,\n", with_arrays);
  const SimulationResult result = run_on(trace, "fifo", Cluster::uniform(1, 4));
  EXPECT_EQ(starts_of(result), (std::vector<double>{0, 0, 10, 20, 0}));
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_EQ(result.failed, 0);
}

TEST(Prerequisites, are_waited_for_while_others_pass) {
  const trace::Trace trace = trace_of("a,0,1,10,\nb,0,1,30,\nc,1,1,10,a|b\nd,2,1,10,\n", ",after");
  const SimulationResult result = run_on(trace, "fifo", Cluster::uniform(1, 4));
  EXPECT_EQ(starts_of(result), (std::vector<double>{0, 0, 30, 2}));
  EXPECT_EQ(result.unfinished, 0);
}

TEST(Prerequisites, are_members_of_arrays_too_and_arrays_wait_as_one) {
  const trace::Trace trace =
      trace_of("a,0,1,10,x,1,\nb,0,1,10,x,1,\nc,0,1,10,y,0,b\nd,0,1,10,y,0,b\n", ",array,max_running,after");
  const SimulationResult result = run_on(trace, "fifo", Cluster::uniform(1, 4));
  EXPECT_EQ(starts_of(result), (std::vector<double>{0, 10, 20, 20}));
  const trace::Trace whole =
      trace_of("a,0,1,10,x,1,\nb,0,1,10,x,1,\nc,0,1,10,,,x\nd,0,1,10,,,a\n", ",array,max_running,after");
  EXPECT_EQ(starts_of(run_on(whole, "fifo", Cluster::uniform(1, 4))), (std::vector<double>{0, 10, 20, 10}));
}

TEST(Prerequisites, that_fail_end_what_waits_for_them) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.faults.job_mtbf = Duration::whole_seconds(1);
  cluster.faults.job_retries = 0;
  const SimulationResult result = run_on(trace_of("a,0,1,100000,\nb,0,1,100000,a\n", ",after"), "fifo", cluster);
  EXPECT_EQ(result.failed, 2);
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_FALSE(result.outcomes[1].started.happened());
}

TEST(ChosenServers, are_the_only_ones_that_a_job_gets) {
  const trace::Trace trace =
      trace_of("a,0,1,10,gpu1,\nb,0,1,10,gpu1,\nc,0,1,10,,gpu0|gpu1\nd,0,1,10,,\n", ",on,not_on");
  const SimulationResult result = run_on(trace, "fifo_first_fit", Cluster::uniform(3, 1));
  EXPECT_EQ(starts_of(result), (std::vector<double>{0, 10, 0, 0}));
  trace::Trace nowhere = trace_of("a,0,1,10,gpu9\nb,0,1,10,\n", ",on");
  const auto left_out = leave_out_impossible(nowhere, Cluster::uniform(3, 1));
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out.begin()->second.first, "a");
  trace::Trace anywhere = trace_of("a,0,1,10,gpu9\n", ",on");
  EXPECT_TRUE(leave_out_impossible(anywhere, *read_cluster("pool:4")).empty()) << "a pool has no servers";
}

TEST(Arrays, count_a_job_that_fails_as_one_and_go_on) {
  Cluster cluster = Cluster::uniform(1, 1);
  cluster.faults.job_mtbf = Duration::whole_seconds(1);
  cluster.faults.job_retries = 1;
  const SimulationResult result =
      run_on(trace_of("a,0,1,100000,x,1\nb,0,1,100000,x,1\n", with_arrays), "fifo", cluster);
  EXPECT_EQ(result.failed, 2) << "its jobs, and not the array too";
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_GT(result.outcomes[1].started, result.outcomes[0].started);
}

struct RunningOfArrays : WorldObserver {
  explicit RunningOfArrays(const trace::Trace& of) : trace(of) {}
  void happened(const WorldEvent& event) override {
    if (event.kind < WorldEventKind::submit || event.kind == WorldEventKind::policy) return;
    const trace::TraceDetails* details = trace.details_of(trace.jobs[event.job]);
    if (!details || details->max_running == 0) return;
    auto& begun = begun_of[details->array];
    if (event.kind == WorldEventKind::start) begun.insert(event.job);
    if (event.kind == WorldEventKind::finish) begun.erase(event.job);
    EXPECT_LE(begun.size(), static_cast<std::size_t>(details->max_running)) << details->array;
    times_full += begun.size() == static_cast<std::size_t>(details->max_running);
  }
  const trace::Trace& trace;
  std::map<std::string, std::set<std::size_t>> begun_of;
  int times_full = 0;
};

// Begun: once a job of an array has started it counts until it has ended, also while it is preempted.
TEST(Arrays, never_have_more_jobs_begun_than_may_under_any_policy) {
  for (const PolicyEntry& entry : policies()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Random random(seed);
      std::string rows;
      for (int job = 0, array = 0, at = 0; job < 40; ++array, at += static_cast<int>(random.integer(0, 60))) {
        const std::int64_t gpus = random.integer(1, 4), limit = random.integer(0, 3), size = random.integer(1, 8);
        for (std::int64_t i = 0; i < size; ++i, ++job)
          rows += "j" + std::to_string(job) + "," + std::to_string(at) + "," + std::to_string(gpus) + "," +
                  std::to_string(random.integer(1, 300)) + ",x" + std::to_string(array) + "," + std::to_string(limit) +
                  "\n";
      }
      const trace::Trace trace = trace_of(rows, with_arrays);
      RunningOfArrays observer(trace);
      SimulationSettings settings;
      settings.cluster = Cluster::uniform(2, 4);
      settings.observer = &observer;
      const SimulationResult result = simulate(trace, std::move(*make_policy(entry.info.name)), settings);
      EXPECT_EQ(result.unfinished, 0) << entry.info.name << " seed " << seed;
      EXPECT_GT(observer.times_full, 0) << entry.info.name << " seed " << seed << ": else this would show nothing";
    }
  }
}

TEST(After, a_job_is_turned_away_whether_the_other_has_failed_before_it_came_or_fails_then) {
  Cluster cluster = Cluster::uniform(1, 2);
  cluster.faults.job_mtbf = Duration::whole_seconds(100);
  for (const char* submitted : {"5", "100000"}) {
    const SimulationResult result =
        run_on(trace_of(std::string("a,0,1,10000,,\nb,") + submitted + ",1,1,,a\nc," + submitted + ",1,1,,b\n",
                        ",array,after"),
               "fifo", cluster);
    EXPECT_EQ(result.failed, 3) << submitted;
    EXPECT_EQ(result.unfinished, 0) << submitted;
    EXPECT_FALSE(result.outcomes[1].started.happened()) << submitted;
  }
  const SimulationResult arrays = run_on(
      trace_of("a,0,1,10000,x,\nb,0,1,1,x,\nc,100000,1,1,y,x\nd,100000,1,1,y,x\n", ",array,after"), "fifo", cluster);
  EXPECT_EQ(arrays.failed, 3);
  EXPECT_EQ(arrays.unfinished, 0);
}

TEST(Switches, of_the_policy_take_effect_at_their_time) {
  // fifo until 150: the short job waits; then srtf: it goes first.
  const trace::Trace trace = trace_of(one_interrupts);
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(1, 1);
  std::vector<PolicySwitch> switches;
  switches.push_back({Instant::at_seconds(150), "srtf", std::move(*make_policy("srtf"))});
  const SimulationResult result = simulate(trace, std::move(*make_policy("fifo")), settings, std::move(switches));
  EXPECT_EQ(finish_s(result, 1), 170);
  EXPECT_EQ(finish_s(result, 0), 1020);
}

TEST(Clusters, have_no_two_servers_of_one_name) {
  const auto cluster = parse_cluster_file(
      "[[servers]]\nname = \"a1\"\ngpus = 1\n[[servers]]\nname = \"a\"\ngpus = 1\ncount = 11\n", "c.toml");
  ASSERT_FALSE(cluster.ok());
  EXPECT_EQ(cluster.error().message, "two servers would have the name a10");
}

TEST(Clusters, are_read_from_a_shape_or_a_file) {
  EXPECT_EQ(read_cluster("32x8")->gpus(), 256);
  EXPECT_EQ(read_cluster("8x4+2x8")->gpus(), 48);
  for (const char* wrong : {"", "8", "x", "0x8", "8x0", "8x65", "-1x8", "8x8+", "8x8x8"})
    EXPECT_EQ(read_cluster(wrong).error().code, "bad-servers") << wrong;
  const auto cluster = parse_cluster_file(
      "[[servers]]\ncount = 2\ngpus = 4\ngpu_type = \"a100\"\nspeed = 2.0\nbandwidth_network_gb_s = "
      "1.25\n[costs]\nrestart = \"30s\"\n"
      "[faults]\ncheckpoint_every = \"10m\"\n[[events]]\nat = \"1h\"\nserver = \"gpu1\"\nevent = \"lost\"\n",
      "lab.toml");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster->gpus(), 8);
  EXPECT_EQ(cluster->descriptions().front().bandwidth_network_bytes_per_s, 1.25e9);
  EXPECT_FALSE(cluster->descriptions().front().bandwidth_inside_bytes_per_s);
  EXPECT_EQ(cluster->costs.restart, Duration::whole_seconds(30));
  EXPECT_EQ(cluster->events.front().at, Instant::at_seconds(3600));
  const auto message = [](const char* text) { return parse_cluster_file(text, "lab.toml").error().message; };
  EXPECT_EQ(message("[[servers]]\ncout = 2\n"), "there is no key servers[0].cout");
  EXPECT_EQ(message("[costs]\nrestart = \"1s\"\n"), "the cluster has no [[servers]]");
  for (const char* name : {"a:0-3", "a+b", "a,b", "a|b", "a\\tb"})  // as places of jobs and lists are written
    EXPECT_NE(message(("[[servers]]\nname = \"" + std::string(name) + "\"\n").c_str()), "") << name;
  EXPECT_EQ(message("[[servers]]\n[[events]]\nat = \"1h\"\nserver = \"gpu9\"\nevent = \"lost\"\n"),
            "events name a server that does not exist: gpu9");
}

}  // namespace
}  // namespace sl::sim
