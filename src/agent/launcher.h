// The launcher: one tiny process a server that starts jobs, waits for them and writes down how they end. It survives
// agents and controllers. What it decides is in launcher_logic.h; here are its processes, files and socket:
//
//   attempts/JOB.ATTEMPT/output   stdout and stderr of the job
//   journal                       a line for each start (pid, its start time in the kernel's ticks, which tells a
//   reused
//                                 pid; written by the process itself before its program runs), for each end, and for
//                                 each attempt nobody needs to hear of any more
//   lease                         this boot's id, and until when fenced attempts may run
//
// A launcher that finds jobs of a killed predecessor adopts them: it sees their end but cannot know their exit code
// ("lost").
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "agent/launcher_logic.h"

namespace sl::agent {

class Launcher : private LauncherPorts {
 public:
  explicit Launcher(std::string data_dir) : dir_(std::move(data_dir)), logic_(*this) {}
  // Runs until it is told to shut down and no job is left. Returns the process's exit status. 3: another one is
  // running.
  int run();

 private:
  bool open();
  bool listen();
  void recover();
  void recover_started(const LauncherState& state, std::int64_t ticks, bool fenced);
  void compact_journal();
  void serve();
  void reap();
  void child_ended(pid_t pid, int status);
  void adopted_ended(int watched);
  void accept_client();
  void drop_client();
  void read_client();
  void flush();
  void append(const std::string& line);
  std::string attempt_dir(const std::string& key) const { return dir_ + "/attempts/" + key; }

  // ---- LauncherPorts ----
  Result<std::int64_t> spawn(const LaunchOrder& order) override;
  void signal(std::int64_t pid, int number) override;
  void write_end(const LauncherState& state) override;
  void write_forgotten(const std::string& key) override;
  void sync() override;
  void write_lease(Instant until) override;
  bool was_started(const std::string& key) override;
  void tell(const Fields& message) override;
  std::int64_t wall_us() override;

  std::string dir_;
  LauncherLogic logic_;
  int listener_ = -1, client_ = -1, signals_ = -1, journal_ = -1;
  std::size_t journal_bytes_ = 0, compact_at_ = 0;
  std::map<std::string, std::string> started_;  // lines of the journal that still count, by attempt
  std::map<std::int64_t, int> reports_;         // pid, and the pipe on which a child says why it could not start
  std::map<std::int64_t, int> adopted_;         // pid and pidfd of processes that are no children of ours
  FrameReader reader_;
  std::string unsent_;
};

}  // namespace sl::agent
