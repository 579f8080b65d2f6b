// What every policy written in Python does: keeps its process, tells it what changed, asks it, and counts its faults.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "policy/policy.h"
#include "python_policy/mirror.h"
#include "python_policy/worker.h"

namespace sl::python_policy {

struct HostSettings {
  Duration deadline = Duration::whole_seconds(10);        // of a decision, unless the parameter says otherwise
  Duration start_deadline = Duration::whole_seconds(10);  // until the file has been read
  int patience = 1;                                       // so many times all deadlines
  std::size_t faults_max = 1;                             // so many within ten minutes are a failure
  bool sandbox = false;
  std::function<void(const Error&)> on_fault = {};  // may be empty; for a log
};

struct Script {
  std::string file;  // its name, without folder
  std::string source;
};

// Starts a process with the script; `info` is what the script says of itself.
Result<std::unique_ptr<Worker>> start_script(const Script& script, const GivenParameters& parameters,
                                             const HostSettings& settings, boost::json::object& info);

class Conversation {
 public:
  Conversation(Script script, GivenParameters parameters, Duration deadline, HostSettings settings);

  void attach() { mirror_.forget(), worker_.reset(); }
  void touch(JobIndex job) { mirror_.touch(job); }
  // The answer with "order" or "actions", both checked to be lists; and its wake-up, put into the plan. Nothing: a
  // fault, no decision this time; the plan asks for another soon.
  std::optional<boost::json::object> ask(const Snapshot& snapshot, Plan& plan);
  // What the answer says is not so: the same as a fault of the script.
  void refuse(const Snapshot& snapshot, Fault fault, Plan& plan);
  // By its number in an answer; none for a job nobody told of.
  JobIndex job(const boost::json::value& slot) const;
  const std::optional<Error>& failure() const { return failure_; }

 private:
  std::optional<Fault> exchange(const Snapshot& snapshot, boost::json::object& answer);
  bool start(const Snapshot& snapshot, Plan& plan);
  void count(const Snapshot& snapshot, const Error& error, Plan& plan);

  Script script_;
  GivenParameters parameters_;
  Duration deadline_;
  HostSettings settings_;
  Mirror mirror_;
  std::unique_ptr<Worker> worker_;  // null: to be started
  std::deque<Instant> faults_;
  Instant asked_at_;
  int times_asked_ = 0;  // at this instant
  std::optional<Error> failure_;
};

}  // namespace sl::python_policy
