// The agent as a state machine: messages of the controller, states from the launcher and time go in; messages, orders
// to the launcher go out. No socket, thread, file or clock. It can forget everything: the launcher tells it again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/launcher_wire.h"
#include "base/time.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// What the logic asks of the world.
class AgentPorts {
 public:
  virtual ~AgentPorts() = default;
  virtual void send(const wire::AgentMessage& message) = 0;  // dropped when no session is open
  virtual void launch(const std::string& key, const wire::StartAttempt& order) = 0;
  virtual void signal(const std::string& key, int number) = 0;
  virtual void forget(const std::string& key) = 0;
};

struct HeldAttempt {
  wire::AttemptReport report;
  std::int64_t unacknowledged = 0;  // seq of the last report the controller has not confirmed; 0: none
  Instant kill_at = Instant::never();
  bool ordered = false;  // start was passed to the launcher, no answer yet
};

std::string key_of(std::int64_t job_id, int attempt);

class AgentLogic {
 public:
  explicit AgentLogic(AgentPorts& ports) : ports_(ports) {}

  // A session may begin only when the launcher has told what runs. `hello` is completed with the attempts.
  void on_session_opened(wire::Hello hello);
  void on_message(const wire::ControllerMessage& message, Instant now);
  void on_launcher_state(const LauncherState& state);
  void on_launcher_listed();
  // The launcher has gone (killed): what it ran is unknown until the next one has looked.
  void on_launcher_lost() { launcher_ready_ = false; }
  bool launcher_ready() const { return launcher_ready_; }
  void tick(Instant now);  // kills what outlived its grace

  const std::map<std::string, HeldAttempt>& attempts() const { return attempts_; }
  Instant last_contact() const { return last_contact_; }  // of the controller: what a lease counts from

 private:
  void start(const wire::StartAttempt& order);
  void stop(const wire::StopAttempt& order, Instant now);
  void forget(const wire::ForgetAttempt& order);
  void report(HeldAttempt& attempt);

  AgentPorts& ports_;
  std::map<std::string, HeldAttempt> attempts_;
  bool launcher_ready_ = false;
  std::int64_t next_seq_ = 1;
  Instant last_contact_;
};

}  // namespace sl::agent
