// The launcher as a state machine: orders of the agent, ends of processes and time go in; processes to start and
// signal, facts to write down and messages to the agent go out. No process, file, socket or clock of its own.
//
// Two rules: an end is told only after it is written down for good; an attempt that may be started again elsewhere when
// its server is cut off (`fenced`) is ended once the lease has run out, whoever else may have died.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/launcher_wire.h"
#include "base/lease.h"
#include "base/result.h"
#include "base/time.h"

namespace sl::agent {

// What the logic asks of the world.
class LauncherPorts {
 public:
  virtual ~LauncherPorts() = default;
  // Starts it; that it was started is on record before its program runs. The error is what to tell the user. What only
  // the child can find out comes later, by on_start_failed.
  virtual Result<std::int64_t> spawn(const LaunchOrder& order) = 0;
  virtual void signal(std::int64_t pid, int number) = 0;   // to its whole process group
  virtual void write_end(const LauncherState& state) = 0;  // for good once synced
  virtual void write_forgotten(const std::string& key) = 0;
  virtual void sync() = 0;
  virtual void write_lease(Instant until) = 0;
  virtual bool was_started(const std::string& key) = 0;
  virtual void tell(const Fields& message) = 0;  // nobody there: dropped
  virtual std::int64_t wall_us() = 0;
};

class LauncherLogic {
 public:
  explicit LauncherLogic(LauncherPorts& ports) : ports_(ports) {}

  // ---- what a predecessor left ----
  void restore_lease(Instant until) { lease_until_ = until; }
  void restore_ended(const LauncherState& state) { attempts_[state.key] = {state, false, false}; }
  // It runs on: its end will be seen, its exit code cannot be known.
  void adopt(const LauncherState& state, bool fenced);
  // It ended while nobody watched.
  void adopt_gone(const LauncherState& state);

  // ---- inputs ----
  void obey(const Fields& order, Instant now);
  // A child has ended; `status` as waitpid gives it. An adopted one: `unknown_status`.
  void on_ended(std::int64_t pid, int status);
  static constexpr int unknown_status = -1;
  // A child never became its program.
  void on_start_failed(std::int64_t pid, const std::string& why);
  // The inputs at hand are in: writes down and tells what has ended, ends what has lost its lease.
  void settle(Instant now);
  Instant next_wake() const;

  bool is_done() const;  // told to shut down, and nothing runs
  struct Attempt {
    LauncherState state;
    bool adopted = false;
    bool fenced = false;
  };
  const std::map<std::string, Attempt>& attempts() const { return attempts_; }

 private:
  void start(const Fields& order, Instant now);
  void fail_start(LauncherState& state, const std::string& why);
  void send_signal(const std::string& key, int number);
  void forget(const std::string& key);
  void list();
  void enforce_lease(Instant now);
  void signal_fenced(int number);

  LauncherPorts& ports_;
  std::map<std::string, Attempt> attempts_;
  std::map<std::int64_t, std::string> by_pid_;  // of running ones
  std::vector<LauncherState> ended_;            // to be written down and told
  Instant lease_until_ = Instant::never();      // no lease yet: nothing fenced has been ordered
  enum class Fence { open, asked, shut } fence_ = Fence::open;
  bool shutting_down_ = false;
};

}  // namespace sl::agent
