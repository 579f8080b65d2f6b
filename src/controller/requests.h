// The documents that REST reads, other than those of wire/ (submissions, changes of jobs, profiles).
#pragma once

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sl::controller {

struct PolicyBody {
  std::string name;
  std::optional<std::map<std::string, boost::json::value>> parameters;
  std::optional<std::string> source;  // in Python; none: a built-in one
};
BOOST_DESCRIBE_STRUCT(PolicyBody, (), (name, parameters, source))

// A change at a time.
struct PlanBody : PolicyBody {
  std::string at;
};
BOOST_DESCRIBE_STRUCT(PlanBody, (PolicyBody), (at))

struct SignInBody {
  std::string email, password;
};
BOOST_DESCRIBE_STRUCT(SignInBody, (), (email, password))

struct UserBody {
  std::string name;
  std::optional<std::string> role;  // none: "user"
};
BOOST_DESCRIBE_STRUCT(UserBody, (), (name, role))

struct RoleBody {
  std::string role;
};
BOOST_DESCRIBE_STRUCT(RoleBody, (), (role))

struct TokenBody {
  std::string name;
  std::optional<std::string> user;           // none: who asks
  std::optional<std::string> role;           // at most this one; none: the user's
  std::optional<std::int64_t> expires_in_s;  // none: never
};
BOOST_DESCRIBE_STRUCT(TokenBody, (), (name, user, role, expires_in_s))

struct NewServerBody {
  std::string name;
  std::optional<std::string> url;            // where it reaches the controller; none: as this request did
  std::optional<std::int64_t> expires_in_s;  // of its token; none: never
};
BOOST_DESCRIBE_STRUCT(NewServerBody, (), (name, url, expires_in_s))

// What is left out stays as it is.
struct ServerBody {
  std::optional<bool> drained;          // nothing new starts there
  std::optional<std::string> reason;    // the rest: of the drain
  std::optional<std::string> deadline;  // a duration, 2h
  std::optional<bool> migrate;          // its jobs that have a checkpoint folder stop, and start elsewhere
};
BOOST_DESCRIBE_STRUCT(ServerBody, (), (drained, reason, deadline, migrate))

struct AnnouncementBody {
  std::string text;
  std::optional<std::string> until;  // a time; none: until it is removed
};
BOOST_DESCRIBE_STRUCT(AnnouncementBody, (), (text, until))

struct TestBody {
  std::optional<std::string> to;
};
BOOST_DESCRIBE_STRUCT(TestBody, (), (to))

struct TryBody {
  std::vector<PolicyBody> policies;
  std::optional<bool> with_arrivals;  // jobs come as they came in the last day
  std::optional<bool> with_schedule;  // who would hold which GPU when, in one of the futures
  std::optional<double> horizon_s;    // look only so far ahead: times are counted up to then
};
BOOST_DESCRIBE_STRUCT(TryBody, (), (policies, with_arrivals, with_schedule, horizon_s))

// Exactly one of workload, name, csv and history_days.
struct TraceBody {
  std::optional<std::string> workload;
  std::optional<std::map<std::string, boost::json::value>> parameters;  // of the workload
  std::optional<std::string> name;                                      // of one that a user has uploaded
  std::optional<std::string> csv;                                       // docs/formats/trace.md
  std::optional<std::int64_t> history_days;                             // the cluster's own jobs of the last days
};
BOOST_DESCRIBE_STRUCT(TraceBody, (), (workload, parameters, name, csv, history_days))

struct SimulatedPolicyBody {
  std::string name;
  std::optional<std::map<std::string, boost::json::value>> parameters;  // a list: a run with each value
};
BOOST_DESCRIBE_STRUCT(SimulatedPolicyBody, (), (name, parameters))

struct SimulationBody {
  TraceBody trace;
  std::optional<std::string> servers;  // "4x8"; none: those of this cluster
  std::vector<SimulatedPolicyBody> policies;
  std::optional<std::int64_t> seeds;                    // how many, from 1
  std::optional<std::int64_t> jobs;                     // only the first ones
  std::optional<std::vector<std::int64_t>> job_counts;  // instead of `jobs`: a run with each of these
  std::optional<std::vector<double>> loads;             // a run at each of these
  std::optional<bool> keep_cpu_jobs;                    // jobs without GPUs stay; otherwise they are left out
};
BOOST_DESCRIBE_STRUCT(SimulationBody, (), (trace, servers, policies, seeds, jobs, job_counts, loads, keep_cpu_jobs))

struct JobBatch {
  std::vector<boost::json::value> jobs;  // each as in POST /jobs
};
BOOST_DESCRIBE_STRUCT(JobBatch, (), (jobs))

}  // namespace sl::controller
