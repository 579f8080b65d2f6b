// The launcher: one tiny process per server that starts jobs, waits for them and records how they end. It survives
// agents and controllers. Its decisions are in launcher_logic.h, its processes in process_runtime.h; this file has its
// files and its socket:
//
//   attempts/KEY/output           stdout and stderr of the job
//   journal                       see journal.h
//   lease                         this boot's id, and until when fenced attempts may run
//   launcher.sock                 for the agent. Processes that a job has started are refused.
//
// A launcher that finds jobs of a killed predecessor adopts them: it sees their end but cannot know their exit code
// ("lost"). After a reboot it knows none of their processes.
#pragma once

#include <cstdint>
#include <string>

#include "agent/journal.h"
#include "agent/launcher_logic.h"
#include "agent/process_runtime.h"
#include "agent/warden.h"

namespace sl::agent {

class Launcher : private LauncherPorts {
 public:
  // `open_files`: how many a job may have open; 0: as many as this process now.
  Launcher(std::string data_dir, std::uint64_t open_files)
      : dir_(std::move(data_dir)),
        journal_(dir_ + "/journal"),
        runtime_(dir_, journal_, open_files),
        logic_(runtime_, *this) {}
  // Runs until it is told to shut down and no job is left, or until it has had neither job nor agent for ten minutes: the
  // next agent starts another. Returns the process's exit status. 3: another launcher is running.
  int run();

 private:
  bool open();
  bool listen();
  void recover();
  void serve();
  bool is_deserted() const;
  void take_ended();
  void watch_warden();
  void accept_client();
  bool is_welcome(int client) const;
  void drop_client();
  void read_client();
  void flush();

  // ---- LauncherPorts ----
  void write_end(const LauncherState& state) override { journal_.write_end(state); }
  void write_forgotten(const std::string& key) override { journal_.write_forgotten(key); }
  void sync() override { journal_.sync(); }
  void write_lease(Instant until) override;
  bool was_started(const std::string& key) override;
  void tell(const Fields& message) override;
  std::int64_t wall_us() override;

  std::string dir_;
  Journal journal_;
  ProcessRuntime runtime_;
  LauncherLogic logic_;
  Warden warden_;
  int listener_ = -1, client_ = -1, signals_ = -1;
  Instant alone_since_ = Instant::never();  // when an agent was connected or a job ended last
  FrameReader reader_;
  std::string unsent_;
};

}  // namespace sl::agent
