// The agent as a state machine: messages of the controller, states from the launcher and time go in; messages, orders
// to the launcher go out. No socket, thread, file or clock. It can forget everything: the launcher tells it again.
//
// Time here is CLOCK_BOOTTIME, which never jumps: leases are counted in it. The lease runs from the moment a ping left
// that the controller has answered. Once it has run out, the session is given up and nothing that was under way in it
// is obeyed any more.
#pragma once

#include <map>
#include <optional>
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
  virtual void renew(Instant until) = 0;  // tells the launcher how long fenced attempts may run
  virtual void disconnect() = 0;          // gives up the session; the world opens another one later
};

struct HeldAttempt {
  wire::AttemptReport report;
  Instant kill_at = Instant::never();
  std::optional<wire::StartAttempt> waiting;  // for GPUs that another attempt has not left yet
};

std::string key_of(std::int64_t job_id, int attempt);

class AgentLogic {
 public:
  explicit AgentLogic(AgentPorts& ports) : ports_(ports) {}

  // A session may begin only when the launcher has told what runs. `hello` is completed with the attempts.
  void on_session_opened(wire::Hello hello, Instant now);
  void on_session_closed();
  void on_message(const wire::ControllerMessage& message, Instant now);
  void on_launcher_state(const LauncherState& state);
  void on_launcher_listed() { launcher_ready_ = true; }
  // The launcher has gone (killed): what it ran is unknown until the next one has looked.
  void on_launcher_lost();
  bool launcher_ready() const { return launcher_ready_; }
  void tick(Instant now);  // a few times a second: pings, gives up silent sessions, kills what outlived its grace

  const std::map<std::string, HeldAttempt>& attempts() const { return attempts_; }

 private:
  void start(const wire::StartAttempt& order);
  void stop(const wire::StopAttempt& order, Instant now);
  void forget(const wire::ForgetAttempt& order);
  void report(const wire::AttemptReport& report);
  void report_lost(const wire::StopAttempt& order);
  void disconnect();
  void renew(Instant from);
  bool is_next(std::int64_t seq);
  bool gpus_are_free(const wire::StartAttempt& order) const;
  void launch_waiting();

  AgentPorts& ports_;
  std::map<std::string, HeldAttempt> attempts_;
  bool launcher_ready_ = false;
  bool in_session_ = false;
  std::int64_t reports_sent_ = 0, orders_seen_ = 0;  // of this session
  Instant hello_sent_, next_ping_;
  Duration lease_ = Duration::whole_seconds(30);  // until the controller says
  Instant lease_until_ = Instant::never();
};

}  // namespace sl::agent
