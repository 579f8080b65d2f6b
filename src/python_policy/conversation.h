// What every policy written in Python does: keeps its process, tells it what changed, and asks it. The first fault ends
// it; who set the policy may make a fresh one.
#pragma once

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
  Duration start_deadline = Duration::whole_seconds(10);  // of reading the file, and of making its policy
  int patience = 1;                                       // so many times all deadlines
  bool sandbox = false;
  std::function<void(const Error&)> on_fault = {};  // may be empty; for a log
};

struct Script {
  std::string file;  // its name, without folder
  std::string source;
};

// A process that has read the script; `info` is what the script says of itself.
Result<std::unique_ptr<Worker>> start_script(const Script& script, const HostSettings& settings,
                                             boost::json::object& info);
// Makes the policy in that process. It can be asked then.
Status begin_script(Worker& worker, const Script& script, const GivenParameters& parameters,
                    const HostSettings& settings);

class Conversation {
 public:
  // `begun`: a process that can be asked; null: one is started when there is something to ask.
  Conversation(Script script, GivenParameters parameters, Duration deadline, HostSettings settings,
               std::unique_ptr<Worker> begun = nullptr);

  void attach();
  void touch(JobIndex job) { mirror_.touch(job); }
  // The answer with "order" or "actions", both checked to be lists; and its wake-up, put into the plan. Nothing: a
  // fault, now or earlier.
  std::optional<boost::json::object> ask(const Snapshot& snapshot, Plan& plan);
  // What the answer says is not so: the same as a fault of the script.
  void refuse(const Fault& fault);
  // By its number in an answer; none for a job nobody told of.
  JobIndex job(const boost::json::value& slot) const;
  const std::optional<Error>& failure() const { return failure_; }

 private:
  std::optional<Fault> exchange(const Snapshot& snapshot, boost::json::object& answer);
  Status start();
  void fail(Error error);

  Script script_;
  GivenParameters parameters_;
  Duration deadline_;
  HostSettings settings_;
  Mirror mirror_;
  std::unique_ptr<Worker> worker_;  // null: to be started
  Instant asked_at_;
  int times_asked_ = 0;  // at this instant
  std::optional<Error> failure_;
};

}  // namespace sl::python_policy
