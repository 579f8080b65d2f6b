// What must never happen, watched from outside: it sees processes, durable rows and answers, not what the daemons
// think.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/store.h"

namespace sl::dst {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Judge {
 public:
  struct Running {
    std::int64_t job;
    int attempt;
    int server;
    std::vector<int> gpus;
  };
  // ---- processes ----
  void started(std::int64_t process, Running running);
  void ended(std::int64_t process) { running_.erase(process); }
  // The launcher has its exit status on disk, and the process ended by itself.
  void exit_known(std::int64_t job, int attempt, int exit_code) { exits_[{job, attempt}] = exit_code; }
  bool anything_runs() const { return !running_.empty(); }

  // ---- the database ----
  void durable(const store::JobRow& row);

  // ---- clients ----
  void accepted(const std::string& key, std::int64_t job);
  std::size_t accepted_count() const { return accepted_.size(); }
  // Every accepted job has ended, with what its process said.
  bool all_ended(const std::map<std::int64_t, store::JobRow>& rows) const;
  void check_ends(const std::map<std::int64_t, store::JobRow>& rows) const;

 private:
  std::map<std::int64_t, Running> running_;
  std::map<std::pair<std::int64_t, int>, int> exits_;
  std::map<std::string, std::int64_t> accepted_;
  std::map<std::int64_t, std::string> final_;
};

}  // namespace sl::dst
