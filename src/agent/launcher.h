// The launcher: one tiny process a server that starts jobs, waits for them and writes down how they end. It survives
// agents and controllers. Facts are on disk before they are told:
//
//   attempts/JOB.ATTEMPT/output   stdout and stderr of the job
//   attempts/JOB.ATTEMPT/started  pid, its start time in the kernel's ticks (tells a reused pid), wall time, GPUs
//   attempts/JOB.ATTEMPT/exit     how it ended
//   attempts/JOB.ATTEMPT/forgotten  nobody needs to hear of it any more
//
// A launcher that finds jobs of a killed predecessor adopts them: it sees their end but cannot know their exit code
// ("lost").
#pragma once

#include <map>
#include <string>

#include "agent/launcher_wire.h"

namespace sl::agent {

class Launcher {
 public:
  explicit Launcher(std::string data_dir) : dir_(std::move(data_dir)) {}
  // Runs until it is told to shut down and no job is left. Returns the process's exit status. 3: another one is
  // running.
  int run();

 private:
  struct Attempt {
    LauncherState state;
    int pidfd = -1;  // of an adopted process
  };
  bool open();
  void recover();
  void recover_attempt(const std::string& key);
  void serve();
  void accept_client();
  void read_client();
  void obey(const Fields& order);
  void start(const Fields& order);
  void fail_start(LauncherState& state, const std::string& why);
  void send_signal(const std::string& key, int number);
  void reap();
  void ended(Attempt& attempt, int status, bool known);
  void tell(const LauncherState& state);
  std::string attempt_dir(const std::string& key) const { return dir_ + "/attempts/" + key; }

  std::string dir_;
  int listener_ = -1, client_ = -1, signals_ = -1;
  FrameReader reader_;
  std::map<std::string, Attempt> attempts_;
  bool shutting_down_ = false;
};

}  // namespace sl::agent
