// Servers that fail jobs. Such a server is quarantined: its jobs keep running, and nothing new starts there. When the
// quarantine is over, the server is on trial: until a job has run well there, each further quarantine lasts twice as
// long.
//
// A server is quarantined
//   - at once, when it could not start an attempt (server_setup) or an attempt ended with its GPU gone (gpu_error);
//   - when enough quick failures count against it (quick_failures.h), unless no other server is up.
//
// The store keeps quarantines; quick failures are forgotten when the controller ends.
#pragma once

#include <boost/describe.hpp>
#include <map>
#include <string>

#include "controller/quick_failures.h"
#include "controller/recorder.h"

namespace sl::controller {

struct Quarantine {
  std::string reason;  // "job 5 could not be started: no space left on device"
  std::int64_t since_us = 0;
  std::int64_t until_us = 0;  // after that it is on trial until a job has run well
  int times = 1;              // quarantines since a job last ran well

  bool is_over(Instant now) const { return now.us >= until_us; }
};
BOOST_DESCRIBE_STRUCT(Quarantine, (), (reason, since_us, until_us, times))

// How an attempt on a server ended, as far as it concerns the server.
struct AttemptEnd {
  std::string server, user;
  JobId job;
  const wire::CommandLine& command;
  FailureKind failure = FailureKind::none;
  Duration ran;
  bool is_asked = false;  // the job was told to stop, or asks to be started again: how soon it ended says nothing
};

class ServerHealth {
 public:
  static constexpr Duration wait_first = Duration::whole_seconds(60);
  static constexpr Duration wait_max = Duration::whole_seconds(3600);

  ServerHealth(const Core& core, const JobBook& book, Recorder& recorder, Engine& engine)
      : core_(core), book_(book), recorder_(recorder), engine_(engine) {}

  void restore(const std::vector<store::SettingRow>& settings, Instant now);
  // The server could not start the job's attempt, or took a GPU from it. `what`: a sentence about the job.
  void on_server_fault(const std::string& server, const std::string& what, Instant now);
  // An attempt has ended in any other way.
  void on_end(const AttemptEnd& end, Instant now);
  // Its agent has connected: a quarantine that is not over continues.
  void on_joined(const std::string& server, Instant now);
  // Puts servers on trial whose quarantine is over.
  void end_quarantines(Instant now);
  Instant next_end() const;
  // A user says that the server works again. Errors: "server-not-quarantined".
  Status release(const std::string& server, const std::string& by, Instant now);
  void forget(const std::string& server);  // it has been removed

  // The server's quarantine, or the one after which it is on trial. Null: neither.
  const Quarantine* find(const std::string& server) const;

 private:
  void quarantine(const std::string& server, const std::string& reason, Instant now);
  void write(const std::string& server);
  void write_event(const char* kind, const std::string& server, const std::string& text, Instant now,
                   const std::string& user = "");
  void drop(const std::string& server);
  bool is_only_one_up(const std::string& server) const;
  bool runs_elsewhere(const std::string& user, const std::string& command, const std::string& server,
                      Instant now) const;

  const Core& core_;
  const JobBook& book_;
  Recorder& recorder_;
  Engine& engine_;
  QuickFailures quick_failures_;
  std::map<std::string, Quarantine> quarantines_;
  std::map<std::string, Instant> ends_;  // of the quarantines that are not over
};

// "quarantined until 10:23:11 UTC: job 5 could not be started: no space left on device"; also for a server on trial.
std::string quarantine_text(const Quarantine& quarantine, Instant now);

}  // namespace sl::controller
