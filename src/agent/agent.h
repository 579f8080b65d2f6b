// The agent as a process on a server: connects to the controller, keeps the launcher alive, serves output, tells how
// the machine does. It can be killed at any moment; jobs go on under the launcher.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"

namespace sl::agent {

struct AgentSettings {
  std::string controller_url = "http://127.0.0.1:5000";
  std::string data_dir;
  std::string server;                     // empty: the host's name
  int simulate = 0;                       // GPUs to simulate; 0: look for real ones
  bool simulate_if_none = false;          // 4 simulated ones when no real one is found
  std::int64_t output_limit = 1LL << 30;  // bytes an attempt's output keeps; of more the middle goes
  std::string token;
  std::string version = "0.1.0";
  std::string launcher_program;  // empty: schedulearn-launcher beside this program
};

class Agent {
 public:
  virtual ~Agent() = default;
  // Stops every attempt and the launcher, then calls `done`; for `up`, where Ctrl-C ends everything.
  virtual void stop_jobs(std::function<void()> done) = 0;
  // Errors: "data-directory-not-writable", "data-directory-in-use", "no-gpu", "launcher-missing".
  static Result<std::unique_ptr<Agent>> start(net::EventLoop& loop, const AgentSettings& settings);
};

}  // namespace sl::agent
