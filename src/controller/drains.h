// Servers that an admin has taken out of service: what runs there runs to its end, and nothing new starts. Kept in the
// store, so neither a restart of the controller nor one of the agent brings such a server back.
#pragma once

#include <boost/describe.hpp>
#include <map>
#include <string>

#include "controller/recorder.h"

namespace sl::controller {

struct Drain {
  std::string by;  // the user who asked for it
  std::int64_t since_us = 0;
};
BOOST_DESCRIBE_STRUCT(Drain, (), (by, since_us))

class Drains {
 public:
  Drains(const Core& core, Recorder& recorder, Engine& engine) : core_(core), recorder_(recorder), engine_(engine) {}

  void restore(const std::vector<store::SettingRow>& settings, Instant now);
  // Also stops those of its jobs that may be stopped at a checkpoint if `stops_jobs`; they start elsewhere. Errors:
  // "server-not-found", "last-server": no other server is up, and every job would wait.
  Status begin(const std::string& server, bool stops_jobs, const std::string& by, Instant now);
  // Errors: "server-not-found", "server-not-drained".
  Status end(const std::string& server, const std::string& by, Instant now);
  void forget(const std::string& server);  // it has been removed
  // When one has come back, and before each decision: it may have been in quarantine.
  void keep(Instant now);
  // Null if it is in service.
  const Drain* find(const std::string& server) const;

 private:
  Status find_server(const std::string& server) const;
  void stop_jobs(const std::string& server, Instant now);
  void note(const char* kind, const std::string& server, const std::string& by, Instant now);

  const Core& core_;
  Recorder& recorder_;
  Engine& engine_;
  std::map<std::string, Drain> drains_;
};

// "drained by mei since 10:23:11 UTC, 2 jobs are left there".
std::string drain_text(const Core& core, const Server& server, ServerIndex index, const Drain& drain);

}  // namespace sl::controller
