// Jobs that failed within seconds of their start, as evidence against the server they ran on. Most such jobs are broken
// themselves, so a user's failures are compared with how that user's jobs fare on other servers:
//
//   another of the user's jobs fails as quickly on another server    none of them count
//   the same command runs well on another server                     each job counts
//   neither is known                                                 the user's last one counts
//
// Only the last `window` counts, and only what came after the last job that ran well on the server. So the jobs of one
// user never condemn a server, unless the same command has run well elsewhere.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace sl::controller {

class QuickFailures {
 public:
  static constexpr Duration quick = Duration::whole_seconds(10);  // an attempt that ran for less
  static constexpr Duration window = Duration::whole_seconds(600);
  static constexpr std::size_t limit = 3;  // this many that count condemn a server

  struct End {
    std::string server, user, command;
    JobId job;
    Instant at;
  };
  void add_good(const End& end);
  void add_failure(const End& end);
  // The jobs whose failures count against this server. `runs_elsewhere`: whether the user's command runs well on another
  // server at the moment.
  using RunsElsewhere = std::function<bool(const std::string& user, const std::string& command)>;
  std::vector<JobId> against(const std::string& server, Instant now, const RunsElsewhere& runs_elsewhere) const;
  // What has failed on this server up to now counts against it no more.
  void pardon(const std::string& server, Instant now) { counts_from_[server] = now; }
  void forget(const std::string& server) { counts_from_.erase(server); }

 private:
  struct OfUser {
    std::deque<End> failures, good;  // the latest, oldest first; `good` one per command and server
  };
  static std::vector<JobId> against(const OfUser& user, const std::string& server, Instant window_start, Instant since,
                                    const RunsElsewhere& runs_elsewhere);
  OfUser& user_of(const End& end);

  std::map<std::string, OfUser> users_;
  std::map<std::string, Instant> counts_from_;  // by server: when a job last ran well there, or it was pardoned
  Instant dropped_;                             // when users who have been quiet were last dropped
};

}  // namespace sl::controller
