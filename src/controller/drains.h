// Servers that an admin has taken out of service: what runs there runs to its end, and nothing new starts. Kept in the
// store, so neither a restart of the controller nor one of the agent brings such a server back.
#pragma once

#include <boost/describe.hpp>
#include <map>
#include <string>
#include <vector>

#include "controller/recorder.h"

namespace sl::controller {

struct Drain {
  std::string by;  // the user who asked for it
  std::int64_t since_us = 0;
  std::string reason;            // empty: none was given
  std::int64_t deadline_us = 0;  // all that still runs there then is stopped; 0: it may run to its end
  bool is_over = false;          // the deadline, and it has been enforced
};
BOOST_DESCRIBE_STRUCT(Drain, (), (by, since_us, reason, deadline_us, is_over))

struct DrainRequest {
  bool stops_jobs = false;  // at once those that can be stopped at a checkpoint; they start elsewhere
  std::string reason;
  std::int64_t deadline_us = 0;
};

// What a drain would do to a job that is on the server.
struct DrainedJob {
  JobId job;
  std::string then;  // "runs to its end"
};

class Drains {
 public:
  Drains(const Core& core, Recorder& recorder, Engine& engine) : core_(core), recorder_(recorder), engine_(engine) {}

  void restore(const std::vector<store::SettingRow>& settings, Instant now);
  // On a server that is drained already, what was asked for last counts. Errors: "server-not-found", "last-server": no
  // other server is up, and every job would wait; "bad-deadline": it is past.
  Status begin(const std::string& server, const DrainRequest& wanted, const std::string& by, Instant now);
  // What begin() would do, job by job; the same errors.
  Result<std::vector<DrainedJob>> preview(const std::string& server, const DrainRequest& wanted, Instant now) const;
  // Errors: "server-not-found", "server-not-drained".
  Status may_end(const std::string& server) const;
  Status end(const std::string& server, const std::string& by, Instant now);
  void forget(const std::string& server);  // it has been removed
  // When one has come back, and before each decision: it may have been in quarantine.
  void keep(Instant now);
  Instant next_deadline() const;
  // Null if it is in service.
  const Drain* find(const std::string& server) const;

 private:
  Status find_server(const std::string& server) const;
  Status may_begin(const std::string& server, const DrainRequest& wanted, Instant now) const;
  std::vector<JobIndex> jobs_on(const std::string& server) const;
  void stop_jobs(const std::string& server, bool all, Instant now);
  void note(const char* kind, const std::string& server, const std::string& by, std::string text, Instant now);

  const Core& core_;
  Recorder& recorder_;
  Engine& engine_;
  std::map<std::string, Drain> drains_;
};

// "drained by mei since 10:23:11 UTC, 2 jobs are left there".
std::string drain_text(const Core& core, const Server& server, ServerIndex index, const Drain& drain);

}  // namespace sl::controller
