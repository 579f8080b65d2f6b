// Attempts that run on a server although they should not: unknown to a restored database, or given up earlier. They are
// being stopped; until they have ended, their jobs are not started anywhere else.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/ids.h"
#include "model/incarnation.h"

namespace sl::controller {

class Strangers {
 public:
  void add(const std::string& server, const Incarnation& incarnation) { running_[incarnation] = server; }
  void remove(const Incarnation& incarnation) { running_.erase(incarnation); }
  // The server is about to report all that it runs, or will not come back. Returns the jobs whose strangers it had.
  std::set<JobId> forget(const std::string& server) {
    std::set<JobId> jobs;
    std::erase_if(running_, [&](const auto& item) {
      if (item.second == server) jobs.insert(JobId(item.first.job));
      return item.second == server;
    });
    return jobs;
  }
  // A job of which the server still runs a stranger.
  std::optional<JobId> job_on(const std::string& server) const {
    const auto at = std::ranges::find(running_, server, [](const auto& item) { return item.second; });
    return at == running_.end() ? std::nullopt : std::optional(JobId(at->first.job));
  }
  bool hold_back(JobId job) const {
    return std::any_of(running_.begin(), running_.end(), [&](const auto& item) { return item.first.job == job.value; });
  }

 private:
  std::map<Incarnation, std::string> running_;  // and on which server
};

}  // namespace sl::controller
