// What all Python policies share: it keeps the process, sends it what changed, and asks it. The first fault ends the
// conversation; whoever set the policy may make a new one.
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
  Duration deadline = Duration::whole_seconds(10);  // for a decision, unless the policy's parameter says otherwise
  Duration start_deadline = Duration::whole_seconds(10);  // for reading the file and making its policy
  int patience = 1;                                       // multiplies all deadlines
  bool sandbox = false;
  std::function<void(const Error&)> on_fault = {};  // for a log; may be empty
};

struct Script {
  std::string file;  // file name without folder
  std::string source;
};

// A process that has read the script; `info` is the script's description of itself.
Result<std::unique_ptr<Worker>> start_script(const Script& script, const HostSettings& settings,
                                             boost::json::object& info);
// Makes the policy in that process, which then answers questions.
Status begin_script(Worker& worker, const Script& script, const GivenParameters& parameters,
                    const HostSettings& settings);

class Conversation {
 public:
  // `begun`: a process that is ready; null: one is started when there is something to ask.
  Conversation(Script script, GivenParameters parameters, Duration deadline, HostSettings settings,
               std::unique_ptr<Worker> begun = nullptr);

  void attach();
  void touch(JobIndex job) { mirror_.touch(job); }
  // The answer with "order" or "actions", both checked to be lists; its wake-up goes into the plan. Nothing after a
  // fault, now or earlier.
  std::optional<boost::json::object> ask(const Snapshot& snapshot, Plan& plan);
  // Reports an answer that is wrong, which counts as a fault of the script.
  void refuse(const Fault& fault);
  // The job with this number in an answer; none if that number was never sent.
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
  std::unique_ptr<Worker> worker_;  // null: not started yet
  Instant asked_at_;
  int times_asked_ = 0;  // at the current instant
  std::optional<Error> failure_;
};

}  // namespace sl::python_policy
