// The controller as a process: threads, sockets and the clock around Logic. Four threads: the network's loop (the
// caller's thread), the core (one queue of inputs, everything about jobs), the store's writer, and the maker of users'
// own policies, which starts their processes and waits while they are read.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"
#include "policy/policy.h"

namespace sl::controller {

struct ControllerSettings {
  std::string data_dir;
  std::string listen_address = "127.0.0.1";
  std::uint16_t listen_port = 5000;
  std::string token;  // empty: none asked for, only on loopback
  std::string version = "0.1.0";
  OwnPolicyMaker make_policy = {};  // empty: built-in policies only
  std::string record;               // folder for recordings (recording.h); empty: none
};

class Controller {
 public:
  virtual ~Controller() = default;  // stops accepting, writes what is under way, ends the threads
  virtual std::uint16_t port() const = 0;
  // Errors: those of the store and of HttpServer::listen; "authentication-required" for an address beyond loopback.
  static Result<std::unique_ptr<Controller>> start(net::EventLoop& loop, const ControllerSettings& settings);
};

}  // namespace sl::controller
