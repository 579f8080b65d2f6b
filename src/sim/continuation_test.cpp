#include "sim/continuation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "forecast/remedies.h"
#include "policies/registry.h"

namespace sl::sim {
namespace {

using forecast::Future;
using forecast::FutureSettings;
using forecast::Present;

// A live core: jobs start at once and end when they have run for their length.
class Live {
 public:
  Live(const std::string& policy, int servers, int gpus) : core_(estimates_, CoreSettings{}) {
    for (int i = 0; i < servers; ++i)
      core_.apply(ServerJoined{{.name = "s" + std::to_string(i), .gpus = gpus}}, now, effects_);
    core_.set_policy(std::move(*make_policy(policy)), now, effects_);
  }

  JobRequest request(int gpus, double length_s) {
    JobRequest request;
    request.id = JobId(static_cast<std::int64_t>(lengths.size()) + 1);
    request.submitted = now;
    request.gpus = request.gpus_min = request.gpus_max = gpus;
    request.user = core_.users().intern(lengths.size() % 2 == 0 ? "mei" : "ali");
    request.family = core_.families().intern("f");
    request.estimate = Duration::seconds(length_s);
    lengths[request.id] = Duration::seconds(length_s);
    return request;
  }
  void submit(JobRequest request, bool held = false) {
    core_.apply(JobSubmitted{std::move(request), held}, now, effects_);
  }
  void submit(int gpus, double length_s) { submit(request(gpus, length_s)); }
  void submit_group(int gpus, double length_s, std::int64_t members, int max_running = 0) {
    JobRequest group = request(gpus, length_s);
    for (std::int64_t place = 0; place < members; ++place)
      lengths[member_id(group.id, place)] = Duration::seconds(length_s);
    core_.apply(JobSubmitted{std::move(group), false, members, max_running}, now, effects_);
  }

  void edit(JobEdited edited) { core_.apply(std::move(edited), now, effects_); }

  // Lets time pass up to `until`, and no further than the last end.
  void run(Instant until) {
    turn();
    while (true) {
      Instant next = core_.next_wake();
      for (const auto& [end, job] : ends_) next = std::min(next, end);
      if (next.is_never()) break;
      next = std::max(next, now + Duration{1});
      if (next > until || (ends_.empty() && core_.unfinished() == 0)) break;
      now = next;
      while (!ends_.empty() && ends_.begin()->first <= now) {
        const JobId id = ends_.begin()->second;
        ends_.erase(ends_.begin());
        finished[id] = now;
        core_.apply(AttemptExited{id, 1, {}}, now, effects_);
      }
      turn();
    }
    if (!until.is_never()) now = std::max(now, until);
  }
  Core& core() { return core_; }

  Instant now = Instant::at_seconds(1'000);
  std::map<JobId, Duration> lengths;
  std::map<JobId, Instant> started, finished;

 private:
  void turn() {
    core_.schedule(now, effects_);
    while (!effects_.commands.empty()) {
      const std::vector<Command> commands = std::exchange(effects_.commands, {});
      effects_.records.clear();
      for (const Command& command : commands) {
        ASSERT_EQ(command.kind, CommandKind::start);
        started[command.job] = now;
        ends_.emplace(now + lengths[command.job], command.job);
        core_.apply(AttemptStarted{command.job, command.attempt}, now, effects_);
      }
      core_.schedule(now, effects_);
    }
    effects_.records.clear();
  }
  RequestEstimates estimates_;
  Effects effects_;
  Core core_;
  std::multimap<Instant, JobId> ends_;
};

std::vector<double> left_s(const Present& present, Live& live) {
  std::vector<double> left;
  for (const Job& job : present.jobs)
    left.push_back((live.lengths[job.request.id] - job.run_at(present.now)).to_seconds());
  return left;
}

Future continued(const Present& present, const std::string& policy, std::vector<double> left) {
  return continue_present(present, std::move(*make_policy(policy)), {.left_s = std::move(left)});
}

bool only_starts(const PolicyEntry& entry) { return !entry.info.preemptive && !entry.info.elastic; }

TEST(Continuation, goes_on_from_any_moment_as_the_original_does_under_every_policy_that_only_starts_jobs) {
  int policies_tried = 0;
  for (const PolicyEntry& entry : policies()) {
    if (!only_starts(entry)) continue;
    ++policies_tried;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      Random random(seed);
      Live live(entry.info.name, 3, 4);
      for (int i = 0; i < 25; ++i) {
        live.submit(static_cast<int>(random.integer(1, 4)), static_cast<double>(random.integer(20, 900)));
        live.run(live.now + Duration::whole_seconds(random.integer(0, 40)));
      }
      const Present present = forecast::copy_of(live.core(), live.now);
      const Future future = continued(present, entry.info.name, left_s(present, live));
      live.run(Instant::never());
      ASSERT_FALSE(present.jobs.empty());
      for (std::size_t at = 0; at < present.jobs.size(); ++at) {
        const JobId id = present.jobs[at].request.id;
        ASSERT_EQ(future.jobs[at].finish, live.finished[id])
            << entry.info.name << " seed " << seed << " job " << id.value;
        if (present.jobs[at].allocation.empty()) {
          ASSERT_EQ(future.jobs[at].start, live.started[id]) << entry.info.name;
        }
      }
    }
  }
  EXPECT_GE(policies_tried, 3);
}

// The members of a group have one length.
TEST(Continuation, groups_and_jobs_that_wait_for_others_go_on_as_in_the_original) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    Live live("fifo", 3, 4);
    std::map<JobId, std::int64_t> groups;
    for (int i = 0; i < 20; ++i) {
      const int gpus = static_cast<int>(random.integer(1, 4));
      const auto length_s = static_cast<double>(random.integer(20, 900));
      const JobId last(static_cast<std::int64_t>(live.lengths.size()));
      JobRequest request = live.request(gpus, length_s);
      if (random.chance(0.3)) {
        live.lengths.erase(request.id);
        groups[request.id] = random.integer(1, 30);
        live.submit_group(gpus, length_s, groups[request.id], static_cast<int>(random.integer(0, 3)));
      } else {
        auto prerequisites = std::make_shared<Prerequisites>();
        if (random.chance(0.3) && last.value > 0) prerequisites->after = {JobId(random.integer(1, last.value))};
        if (random.chance(0.3)) prerequisites->not_before = live.now + Duration::whole_seconds(random.integer(1, 999));
        request.prerequisites = std::move(prerequisites);
        live.submit(std::move(request));
      }
      live.run(live.now + Duration::whole_seconds(random.integer(0, 40)));
    }
    const Present present = forecast::copy_of(live.core(), live.now);
    const Future future = continued(present, "fifo", left_s(present, live));
    live.run(Instant::never());
    for (std::size_t at = 0; at < present.jobs.size(); ++at) {
      const Job& job = present.jobs[at];
      const JobId id = job.request.id;
      Instant starts = live.started[id], ends = live.finished[id];
      for (std::int64_t place = 0; job.group && place < groups[id]; ++place) {
        ends = std::max(ends, live.finished[member_id(id, place)]);
        const Instant start = live.started[member_id(id, place)];
        if (start > present.now) starts = starts.happened() ? std::min(starts, start) : start;
      }
      ASSERT_EQ(future.jobs[at].finish, ends) << "seed " << seed << " job " << id.value;
      if (job.allocation.empty() && starts.happened()) {
        ASSERT_EQ(future.jobs[at].start, starts) << seed << " " << id.value;
      }
    }
  }
}

TEST(Continuation, every_policy_brings_all_jobs_to_their_end) {
  for (const PolicyEntry& entry : policies()) {
    Live live("fifo", 2, 4);
    for (int i = 0; i < 12; ++i) {
      JobRequest request = live.request(1 + i % 4, 60 + 7 * i);
      request.capability = Capability::checkpoint;
      request.gpus_min = 1;
      live.submit(std::move(request));
    }
    live.run(live.now + Duration::whole_seconds(10));
    const Present present = forecast::copy_of(live.core(), live.now);
    const Future future = continued(present, entry.info.name, left_s(present, live));
    EXPECT_FALSE(future.is_cut);
    for (std::size_t at = 0; at < present.jobs.size(); ++at) {
      ASSERT_FALSE(future.jobs[at].finish.is_never()) << entry.info.name << " job " << at;
      const Future of_one = continue_present(present, std::move(*make_policy(entry.info.name)),
                                             {.left_s = left_s(present, live), .until_end_of = at});
      EXPECT_EQ(of_one.jobs[at].start, future.jobs[at].start) << entry.info.name << " job " << at;
      EXPECT_EQ(of_one.jobs[at].finish, future.jobs[at].finish) << entry.info.name << " job " << at;
      for (std::size_t other = 0; other < present.jobs.size(); ++other) {
        const bool ends_later = future.jobs[other].finish > future.jobs[at].finish;
        EXPECT_EQ(of_one.jobs[other].finish.is_never(), ends_later) << entry.info.name << " job " << other;
      }
    }
  }
}

TEST(Continuation, a_job_without_a_length_never_ends_and_what_waits_for_its_gpus_never_starts) {
  Live live("fifo", 1, 2);
  live.submit(2, 100);
  live.submit(1, 50);
  live.run(live.now + Duration::whole_seconds(1));
  const Present present = forecast::copy_of(live.core(), live.now);
  const Future future = continued(present, "fifo", {forecast::endless_s, 50});
  EXPECT_TRUE(future.jobs[0].finish.is_never());
  EXPECT_TRUE(future.jobs[1].start.is_never());
  EXPECT_TRUE(future.jobs[1].finish.is_never());
}

TEST(Continuation, says_how_many_gpus_are_held_on_each_server_at_any_moment) {
  Live live("fifo", 2, 2);
  live.submit(2, 100);
  live.submit(1, 200);
  live.submit(2, 50);
  live.submit(1, 1'000);
  live.run(live.now);
  const Present present = forecast::copy_of(live.core(), live.now);
  const auto after = [&](std::int64_t seconds) { return live.now + Duration::whole_seconds(seconds); };
  const Future future =
      continue_present(present, std::move(*make_policy("fifo")),
                       {.left_s = {100, 200, 50, forecast::endless_s},
                        .moments = {after(0), after(99), after(100), after(151), after(201), after(9'999'999)}});
  const std::vector<std::vector<int>> expected = {{2, 1}, {2, 1}, {2, 2}, {0, 2}, {0, 1}, {0, 1}};
  EXPECT_EQ(future.held, expected) << "the job without a length goes on for ever";
}

TEST(Continuation, says_which_gpus_each_job_holds_from_when_to_when) {
  Live live("fifo", 2, 2);
  live.submit(2, 100);
  live.submit(1, 200);
  live.submit(2, 50);
  live.submit(1, 1'000);
  live.run(live.now);
  const Present present = forecast::copy_of(live.core(), live.now);
  const Future future = continue_present(present, std::move(*make_policy("fifo")),
                                         {.left_s = {100, 200, 50, forecast::endless_s}, .notes_holds = true});
  const auto hold = [&](std::int64_t job, std::uint32_t server, int first, int gpus, std::int64_t from, Instant to) {
    return forecast::Hold{JobId(job), ServerIndex(server), GpuSet::first(first + gpus) - GpuSet::first(first),
                          live.now + Duration::whole_seconds(from), to};
  };
  const auto after = [&](std::int64_t seconds) { return live.now + Duration::whole_seconds(seconds); };
  const std::vector<forecast::Hold> expected = {hold(1, 0, 0, 2, 0, after(100)), hold(2, 1, 0, 1, 0, after(200)),
                                                hold(3, 0, 0, 2, 100, after(150)),
                                                hold(4, 1, 1, 1, 100, Instant::never())};
  EXPECT_EQ(future.holds, expected);
  double gpu_s = 0;  // of those that end
  for (const forecast::Hold& each : future.holds)
    gpu_s += each.to.is_never() ? 0 : each.gpus.count() * (each.to - each.from).to_seconds();
  EXPECT_EQ(gpu_s, 200 + 200 + 100);
  EXPECT_TRUE(continued(present, "fifo", {100, 200, 50, forecast::endless_s}).holds.empty()) << "nobody asked";
}

TEST(Continuation, counts_how_often_jobs_are_interrupted_and_moved) {
  Live live("fifo", 2, 2);
  const auto submit = [&live](int gpus, double length_s) {
    JobRequest request = live.request(gpus, length_s);
    request.capability = Capability::checkpoint;
    live.submit(std::move(request));
  };
  submit(1, 10'000), submit(1, 5), submit(1, 10'000);
  live.run(live.now + Duration::whole_seconds(10));  // then each server has one GPU free
  submit(2, 100);
  live.run(live.now + Duration::whole_seconds(1));
  Present present = forecast::copy_of(live.core(), live.now);
  present.next_wake = live.now;  // a policy that takes over decides at once
  const auto of = [&](const char* policy) {
    const Future future = continued(present, policy, left_s(present, live));
    return std::pair(future.preemptions, future.migrations);
  };
  EXPECT_EQ(of("fifo"), std::pair(0, 0));
  EXPECT_EQ(of("srtf"), std::pair(1, 0));
  EXPECT_EQ(of("gandiva"), std::pair(0, 1));
}

TEST(Continuation, a_time_limit_ends_a_job_that_would_run_on) {
  Live live("fifo", 1, 1);
  JobRequest request = live.request(1, 1'000);
  request.time_limit = Duration::whole_seconds(100);
  live.submit(std::move(request));
  live.run(live.now + Duration::whole_seconds(30));
  const Present present = forecast::copy_of(live.core(), live.now);
  const Future future = continued(present, "fifo", {970});
  EXPECT_NEAR((future.jobs[0].finish - live.now).to_seconds(), 70, 3);
}

TEST(Continuation, servers_that_are_away_take_no_jobs_until_they_return) {
  Live live("fifo", 2, 1);
  Effects effects;
  live.core().apply(ServerQuarantined{"s0"}, live.now, effects);
  live.core().apply(ServerDrained{"s1"}, live.now, effects);
  live.submit(1, 50);
  live.run(live.now + Duration::whole_seconds(1));
  Present present = forecast::copy_of(live.core(), live.now);
  EXPECT_TRUE(continued(present, "fifo", {50}).jobs[0].start.is_never());
  const Instant back = live.now + Duration::whole_seconds(600);
  present.returns.push_back({back, ServerIndex(0)});
  const Future future = continued(present, "fifo", {50});
  EXPECT_EQ(future.jobs[0].start, back);
  EXPECT_EQ(future.jobs[0].server, ServerIndex(0));
}

TEST(Continuation, gpus_that_others_use_are_not_free) {
  Live live("fifo", 1, 2);
  Effects effects;
  live.core().apply(TelemetrySampled{"s0", {}, GpuSet::first(1), {}}, live.now, effects);
  live.submit(2, 50);
  live.submit(1, 50);
  live.run(live.now + Duration::whole_seconds(1));
  const Present present = forecast::copy_of(live.core(), live.now);
  const Future future = continued(present, "fifo_first_fit", {50, 50});
  EXPECT_TRUE(future.jobs[0].start.is_never());
}

TEST(Continuation, held_jobs_stay_held_and_hold_nobody_up) {
  Live live("fifo", 1, 1);
  live.submit(live.request(1, 10), true);
  live.submit(1, 20);
  live.run(live.now);
  const Present present = forecast::copy_of(live.core(), live.now);
  const Future future = continued(present, "fifo", {10, 20});
  EXPECT_TRUE(future.jobs[0].start.is_never());
  EXPECT_EQ(future.jobs[1].finish, live.now + Duration::whole_seconds(20));
}

TEST(Continuation, can_be_stopped_at_any_time) {
  Live live("fifo", 1, 1);
  for (int i = 0; i < 2'000; ++i) live.submit(1, 10);
  live.run(live.now);
  const Present present = forecast::copy_of(live.core(), live.now);
  const Future future = continue_present(present, std::move(*make_policy("fifo")),
                                         {.left_s = left_s(present, live), .stop = [] { return true; }});
  EXPECT_TRUE(future.is_cut);
  EXPECT_TRUE(future.jobs.back().finish.is_never());
}

// What is suggested for the first job, and in the same futures what comes of it when somebody does it.
struct Suggested {
  std::vector<forecast::Remedy> remedies;
  Instant finish_of_all;  // of the live core that went on
};
Suggested suggested_of_group(Live& live, const forecast::Change& done) {
  live.run(live.now + Duration::whole_seconds(10));
  Present present = forecast::copy_of(live.core(), live.now);
  std::vector<forecast::Lengths::Prospect> prospects;
  for (const double left : left_s(present, live))
    prospects.push_back({.basis = {.kind = forecast::BasisKind::progress}, .reported_s = left});
  Suggested suggested{.remedies = forecast::remedies(present, prospects, 0,
                                                     {.make_policy = [] { return std::move(*make_policy("fifo")); },
                                                      .continue_present = continue_present}),
                      .finish_of_all = {}};
  EXPECT_EQ(present.jobs.front().group->max_running, live.core().job(live.core().find(JobId(1))).group->max_running);
  EXPECT_EQ(present.jobs.front().request, live.core().job(live.core().find(JobId(1))).request)
      << "nothing is left changed";
  if (done.gpus) {
    for (auto& [id, length] : live.lengths) {
      if (!live.started.contains(id)) length = Duration{length.us * 3 / *done.gpus};
    }
  }
  std::vector<JobId> edited = {JobId(1)};  // and its members that wait, as the controller does
  for (const JobIndex waiting : live.core().waiting()) edited.push_back(live.core().job(waiting).request.id);
  for (const JobId job : edited)
    live.edit({.job = job,
               .priority = {},
               .gpus_min = done.gpus,
               .gpus_max = done.gpus,
               .gpus = done.gpus,
               .max_running = done.max_running});
  live.run(Instant::never());
  for (const auto& [id, at] : live.finished) suggested.finish_of_all = std::max(suggested.finish_of_all, at);
  return suggested;
}

TEST(Remedies, of_a_group_let_more_of_its_members_run_and_come_true) {
  Live live("fifo", 1, 4);
  live.submit_group(1, 100, 12, 2);
  const Suggested suggested = suggested_of_group(live, {.max_running = 4});
  ASSERT_EQ(suggested.remedies.size(), 1U);
  const forecast::Remedy& remedy = suggested.remedies.front();
  EXPECT_EQ(remedy.change, forecast::Change{.max_running = 4});
  EXPECT_FALSE(remedy.start.has_value());
  EXPECT_EQ(remedy.finish_before.p50, Instant::at_seconds(1'600));
  EXPECT_EQ(remedy.finish.p50, suggested.finish_of_all);
  EXPECT_LE(suggested.finish_of_all, Instant::at_seconds(1'400));
}

TEST(Remedies, of_a_group_fit_more_of_its_members_onto_a_server_and_come_true) {
  Live live("fifo", 1, 4);
  live.submit_group(3, 100, 8);
  const Suggested suggested = suggested_of_group(live, {.gpus = 1});
  ASSERT_EQ(suggested.remedies.size(), 1U);
  EXPECT_EQ(suggested.remedies.front().change, (forecast::Change{.gpus_min = 1, .gpus = 1}));
  EXPECT_EQ(suggested.remedies.front().finish_before.p50, Instant::at_seconds(1'800));
  EXPECT_EQ(suggested.remedies.front().finish.p50, suggested.finish_of_all);
}

TEST(Remedies, of_a_group_are_none_where_nothing_helps) {
  Live live("fifo", 1, 4);
  live.submit_group(1, 100, 12, 4);
  EXPECT_TRUE(suggested_of_group(live, {}).remedies.empty()) << "more would not run at once";
}

TEST(Remedies, spread_a_job_over_two_servers_if_it_can_and_come_true) {
  Live live("fifo", 2, 2);
  live.submit(1, 1'000), live.submit(1, 5), live.submit(1, 1'000);
  live.run(live.now + Duration::whole_seconds(10));  // then each server has one GPU free
  live.submit(2, 100);
  live.run(live.now + Duration::whole_seconds(1));
  Present present = forecast::copy_of(live.core(), live.now);
  std::vector<forecast::Lengths::Prospect> prospects;
  for (const double left : left_s(present, live))
    prospects.push_back({.basis = {.kind = forecast::BasisKind::progress}, .reported_s = left});
  const auto suggested = [&](bool may_spread) {
    return forecast::remedies(present, prospects, 2,
                              {.make_policy = [] { return std::move(*make_policy("fifo")); },
                               .may_spread = may_spread,
                               .continue_present = continue_present});
  };
  EXPECT_EQ(suggested(false).size(), 1U) << "one GPU instead of two";
  const auto remedies = suggested(true);
  ASSERT_EQ(remedies.size(), 2U);
  const auto spread = std::ranges::find(remedies, forecast::Change{.servers = 2}, &forecast::Remedy::change);
  ASSERT_NE(spread, remedies.end());
  EXPECT_EQ(present.jobs[2].request.servers_max, 1) << "nothing is left changed";
  live.edit({.job = JobId(4), .priority = {}, .servers_max = 2});
  live.run(live.now + Duration::whole_seconds(1));
  EXPECT_EQ(live.started[JobId(4)], spread->start->p50);
}

TEST(Copy, of_a_job_has_every_fact) {
  Job job;
  job.request.id = JobId(7);
  job.state = JobState::suspended;
  job.cancel_requested = job.on_hold = job.resumes = job.set_aside = true;
  job.attempt = 3, job.gpus_awaited = 1, job.preemptions = 4, job.resizes = 5, job.migrations = 6, job.failures = 7;
  job.frozen_on = std::make_unique<Allocation>(ServerIndex(1), GpuSet::first(2));
  job.telemetry = std::make_unique<JobTelemetry>();
  job.telemetry->loss_by_epoch = {3, 2};
  job.run_by_gpu_type = std::make_unique<std::vector<GpuTypeTime>>(1);
  job.group = std::make_unique<Group>();
  job.group->size = 5, job.group->in(JobState::failed) = 2;
  job.annotation = 2.5;
  job.run = job.run_at_promotion = Duration{8};
  job.attained_gpu_us = job.attained_at_promotion_gpu_us = 9;
  const Job copy = forecast::copy_of(job);
  EXPECT_EQ(copy.request, job.request);
  EXPECT_EQ(
      std::tie(copy.state, copy.cancel_requested, copy.on_hold, copy.resumes, copy.set_aside, copy.attempt,
               copy.gpus_awaited, copy.preemptions, copy.resizes, copy.migrations, copy.failures, copy.annotation),
      std::tie(job.state, job.cancel_requested, job.on_hold, job.resumes, job.set_aside, job.attempt, job.gpus_awaited,
               job.preemptions, job.resizes, job.migrations, job.failures, job.annotation));
  EXPECT_EQ(std::tie(copy.run, copy.run_at_promotion, copy.attained_gpu_us, copy.attained_at_promotion_gpu_us),
            std::tie(job.run, job.run_at_promotion, job.attained_gpu_us, job.attained_at_promotion_gpu_us));
  EXPECT_EQ(*copy.frozen_on, *job.frozen_on);
  EXPECT_EQ(copy.telemetry->loss_by_epoch, job.telemetry->loss_by_epoch);
  EXPECT_EQ(copy.run_by_gpu_type->size(), 1U);
  EXPECT_EQ(std::tie(copy.group->size, copy.group->by_state), std::tie(job.group->size, job.group->by_state));
}

}  // namespace
}  // namespace sl::sim
