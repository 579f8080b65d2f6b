// The controller as a process: threads, sockets and the clock around Logic. The threads: the network's loop (the
// caller's thread), the core (one queue of inputs, everything about jobs), the store's writer, two that read the past
// (history.h), the maker of users' own policies, which starts their processes and waits while they are read, the
// forecast's (forecasts.h), two of simulations (simulations.h), and that of notifications (notify/notifications.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/simulator.h"
#include "controller/stop_plan.h"
#include "forecast/future.h"
#include "net/event_loop.h"
#include "policy/policy.h"
#include "wire/retention.h"

namespace sl::controller {

struct ControllerSettings {
  std::string data_dir;
  std::string listen_address = "127.0.0.1";
  std::uint16_t listen_port = 5000;
  std::string token;  // required from all but root and our own user (admission.h); may be empty only on loopback
  std::string version = "0.1.0";
  OwnPolicyMaker make_policy = {};              // empty: built-in policies only
  forecast::Continue continue_present = {};     // empty: no forecasts
  RunCommand run_command = {};                  // empty: no simulations
  std::string record;                           // folder for recordings (recording.h); empty: none
  std::int64_t snapshot_bytes_max = 100 << 20;  // of the code that a job is submitted with
  bool log_requests = false;                    // to standard error (request_log.h)
  wire::RetentionRule keep = {};                // of jobs that ended, with their events
  std::vector<std::string> notify_allow = {};   // hosts of this machine that notifications may be sent to
};

class Controller {
 public:
  virtual ~Controller() = default;  // stops accepting, finishes pending writes, ends the threads
  virtual std::uint16_t port() const = 0;
  // See stopping.h. Both are called on the loop's thread: `told` at once, `done` when the jobs have ended.
  virtual void stop_jobs(std::vector<std::string> servers, const std::string& why,
                         std::function<void(const StopPlan&)> told, std::function<void(const Status&)> done) = 0;
  // Errors: those of the store and of HttpServer::listen; "authentication-required" for an address beyond loopback.
  static Result<std::unique_ptr<Controller>> start(net::EventLoop& loop, const ControllerSettings& settings);
};

}  // namespace sl::controller
