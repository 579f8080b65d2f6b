// The agent as a process on a server: connects to the controller, keeps the launcher alive, serves output, reports the
// machine's state. It can be killed at any moment; jobs continue under the launcher.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/event_loop.h"
#include "wire/agent_protocol.h"
#include "wire/retention.h"

namespace sl::agent {

struct ContainerSettings {
  std::string socket;               // of the engine; empty: the first of the usual places where one answers; "none"
  std::vector<std::string> mounts;  // folders of which jobs may mount parts
  bool allow_root = false;          // whether containers may run as root
};

struct AgentSettings {
  std::string controller_url = "http://127.0.0.1:5000";
  std::string data_dir;
  std::string server;                         // empty: the host's name
  int simulate = 0;                           // GPUs to simulate; 0: look for real ones
  bool simulate_if_none = false;              // simulate 4 if no real one is found
  std::string gpu_type;                       // serve only GPUs of this name; empty: all
  std::map<std::string, std::string> labels;  // of the server
  std::int64_t output_limit = 1LL << 30;      // bytes kept of an attempt's output; beyond that the middle is dropped
  std::function<std::string()> token;  // asked at each connection, so that a new one counts; empty: none is needed
  std::string version = "0.1.0";
  std::uint64_t job_open_files = 0;  // how many files a job may have open (RLIMIT_NOFILE); 0: as many as the agent
  wire::RetentionRule keep = {};     // for the files of finished jobs
  ContainerSettings containers = {};
  double shell_keep_s = 3600;    // how long a shell waits for somebody to come back to it
  std::string launcher_program;  // empty: schedulearn-launcher next to this program
};

class Agent {
 public:
  virtual ~Agent() = default;
  virtual const std::string& server() const = 0;  // its name
  // For `up`, with which everything ends. Does what these orders say, as far as it has not: they may not have come.
  virtual void stop(const std::vector<wire::StopAttempt>& orders) = 0;
  // Kills every attempt:
  virtual void kill_jobs() = 0;
  // and ends the launcher as well, then calls `done`.
  virtual void end(std::function<void()> done) = 0;
  // Errors: "data-directory-not-writable", "data-directory-in-use", "no-gpu", "gpu-library-hangs", "launcher-missing".
  static Result<std::unique_ptr<Agent>> start(net::EventLoop& loop, const AgentSettings& settings);
};

}  // namespace sl::agent
