// The documents of the current policy, earlier ones, and others that were tried on the present.
#pragma once

#include "controller/answers.h"

namespace sl::controller::answers {

struct PolicyFailed {
  Text name;
  Text code;  // as of other errors: `help error CODE`
  Text text;
  Time at;
};
BOOST_DESCRIBE_STRUCT(PolicyFailed, (), (name, code, text, at))

struct Policy {
  Text name;
  Object parameters;
  Time since;
  Text by;
  std::optional<Text> acting;  // under the policy auto: the one that decides
  std::optional<Text> shadow;  // that follows without deciding
  std::optional<Text> previous;
  std::optional<Time> undo_until;
  std::optional<PlannedPolicy> planned;
  std::optional<Text> source;
  std::optional<PolicyFailed> failure;
  std::vector<Text> notes;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (name, parameters, since, by, acting, shadow, previous, undo_until, planned, source, failure,
                       notes))

struct ChosenPolicy : Policy {
  bool changed = true;
};
BOOST_DESCRIBE_STRUCT(ChosenPolicy, (Policy), (changed))

struct EarlierPolicy {
  Text name;
  Object parameters;
  Time since;
  Text by;
  std::optional<Text> reason;
};
BOOST_DESCRIBE_STRUCT(EarlierPolicy, (), (name, parameters, since, by, reason))

// GPUs of a server that a job holds for a while, in one future.
struct Hold {
  Number job_id = 0;
  Text server;
  std::vector<int> gpus;
  Time from;
  std::optional<Time> to;  // none: it has no end
};
BOOST_DESCRIBE_STRUCT(Hold, (), (job_id, server, gpus, from, to))

struct TriedPolicy {
  Text name;
  bool in_force = false;
  std::optional<double> avg_wait_s, avg_jct_s, p95_jct_s, makespan_s, gpu_allocation_pct, preemptions, migrations;
  std::size_t jobs = 0, draws = 0;
  // Jobs that it never ends. If others leave fewer, it has no figures: they would be of other jobs.
  std::size_t unfinished = 0;
  std::optional<std::vector<Hold>> schedule;  // by time; none: not asked for, or too much to show
  std::optional<Text> failure;
};
BOOST_DESCRIBE_STRUCT(TriedPolicy, (),
                      (name, in_force, avg_wait_s, avg_jct_s, p95_jct_s, makespan_s, gpu_allocation_pct, preemptions,
                       migrations, jobs, draws, unfinished, schedule, failure))

struct Expected {
  Text policy;
  std::optional<Time> start, finish;
};
BOOST_DESCRIBE_STRUCT(Expected, (), (policy, start, finish))

struct TriedJob {
  Number job_id = 0;
  Text name;
  std::vector<Expected> expected;
};
BOOST_DESCRIBE_STRUCT(TriedJob, (), (job_id, name, expected))

struct Tried {
  std::vector<TriedPolicy> policies;
  std::vector<TriedJob> jobs;   // those of the caller, the first of them
  std::int64_t jobs_total = 0;  // how many the caller has
  std::vector<Number> left_out;
  std::size_t arrivals = 0;  // jobs that came in each future
  Time evaluated_at;
  double took_s = 0;
};
BOOST_DESCRIBE_STRUCT(Tried, (), (policies, jobs, jobs_total, left_out, arrivals, evaluated_at, took_s))

}  // namespace sl::controller::answers
