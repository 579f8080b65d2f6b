// The launcher as a state machine: orders of the agent, ends of processes and time go in; processes to start and
// signal, facts to record and messages to the agent go out. It has no process, file, socket or clock of its own.
//
// Three rules: an attempt has ended when its whole tree is gone, not just its leader; an end is reported only after it
// is durably recorded; an attempt that may be started again elsewhere when its server is cut off (`fenced`) is ended
// once the lease has run out, whatever else may have died.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/launcher_wire.h"
#include "agent/lease_file.h"
#include "agent/runtime.h"
#include "base/lease.h"
#include "base/result.h"
#include "base/time.h"

namespace sl::agent {

// What the logic needs from the world besides the runtime: records, and the agent.
class LauncherPorts {
 public:
  virtual ~LauncherPorts() = default;
  virtual void write_end(const LauncherState& state) = 0;  // durable once synced
  virtual void write_forgotten(const std::string& key) = 0;
  virtual void sync() = 0;
  virtual void write_lease(Instant until) = 0;
  virtual bool was_started(const std::string& key) = 0;
  virtual void tell(const Fields& message) = 0;  // dropped if no agent is connected
  virtual std::int64_t wall_us() = 0;
};

// What a predecessor has left on disk.
struct Remains {
  JournalContents journal;
  WrittenLease lease;
};

class LauncherLogic {
 public:
  LauncherLogic(Runtime& runtime, LauncherPorts& ports) : runtime_(runtime), ports_(ports) {}

  // Called before any input. Attempts of this boot are adopted: if they are running, their end will be seen, but their
  // exit code cannot be known. If the leader ended unobserved, other processes it started may live on and are ended now.
  // Attempts of an earlier boot have ended.
  void recover(const Remains& remains, const std::string& boot);

  // ---- inputs ----
  void obey(const Fields& order, Instant now);
  // The attempt's leader has ended; `status` as from waitpid. For an adopted one: `unknown_status`.
  void on_ended(const std::string& key, int status);
  static constexpr int unknown_status = -1;
  // Asks attempts that have lost their lease to end, and kills them after the grace period.
  void enforce_lease(Instant now);
  // All inputs at hand are in: kills what ended leaders have left behind, records and reports the ends of trees that
  // are gone, ends attempts that have lost their lease.
  void settle(Instant now);
  Instant next_wake() const;

  bool is_idle() const;  // nothing runs
  bool is_done() const;  // told to shut down, and nothing runs
  struct Attempt {
    LauncherState state;  // "running" until its end is recorded
    bool adopted = false;
    bool fenced = false;
  };
  const std::map<std::string, Attempt>& attempts() const { return attempts_; }

 private:
  // The leader has ended, but perhaps not everything it has started.
  struct Ending {
    LauncherState state;
    Instant look_at;                                  // check then whether the tree is gone
    Duration look_again = Duration::milliseconds(1);  // grows: a process may hang in the kernel for hours
  };
  void recover(const Started& started, const std::string& boot);
  void start(const Fields& order, Instant now);
  void send_signal(const std::string& key, int number);
  void pass_on(const std::string& key, int number);
  void freeze(const std::string& key, bool frozen);
  void join(const Fields& order);
  void limit(const Fields& order);
  void explain_end(LauncherState& state) const;
  void forget(const std::string& key);
  void list();
  void signal_fenced(int number);
  std::vector<LauncherState> take_ended(Instant now);
  void deliver(Attempt& attempt, int number, const char* by);

  Runtime& runtime_;
  LauncherPorts& ports_;
  std::map<std::string, Attempt> attempts_;
  std::map<std::string, Ending> ending_;
  std::map<std::string, Limits> limits_;    // of attempts that are about to start
  Instant lease_until_ = Instant::never();  // no lease yet: no fenced attempt has been ordered
  enum class Fence { open, asked, shut } fence_ = Fence::open;
  bool shutting_down_ = false;
};

}  // namespace sl::agent
