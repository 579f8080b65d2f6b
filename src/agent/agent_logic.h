// The agent as a state machine: messages of the controller, states from the launcher and time go in; messages and
// orders to the launcher go out. No socket, thread, file or clock. It can forget everything: the launcher reports it
// again.
//
// Time here is CLOCK_BOOTTIME, which never jumps: leases are measured in it. The lease runs from the moment a ping was
// sent that the controller answered. Once it has run out, the session is closed and nothing that was in progress in it
// is obeyed any more.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/launcher_wire.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// What an agent keeps of the cluster it was last welcome in, so that a controller can tell when its database is older.
struct KnownCluster {
  std::string id;             // empty: none yet
  std::int64_t last_job = 0;  // the highest job number it has heard of
  friend bool operator==(const KnownCluster&, const KnownCluster&) = default;
};

// The GPUs of an attempt since it was first asked to go over to others.
struct ResizedGpus {
  std::vector<int> held;
  std::vector<int> asked;  // those it was asked to use and may be using by now; empty: it has answered
};

// What the logic needs from the world.
class AgentPorts {
 public:
  virtual ~AgentPorts() = default;
  virtual void send(const wire::AgentMessage& message) = 0;  // dropped if no session is open
  // An error when this server cannot start anything at the moment; then nothing was started. `parts`: of an attempt that
  // was prepared.
  virtual Status launch(const std::string& key, const wire::StartAttempt& order,
                        const std::vector<wire::AttemptPart>& parts) = 0;
  // Makes everything ready for an attempt on several servers, and reserves a port, which is returned. It is given up by
  // launch() or abandon().
  virtual Result<int> prepare(const std::string& key, const wire::StartAttempt& order) = 0;
  virtual void abandon(const std::string& key) = 0;
  // Brings the checkpoint that the order names here, then calls on_fetched(). Given again: the source has changed.
  virtual void fetch(const std::string& key, const wire::StartAttempt& order) = 0;
  // It is of no use any more, or for now: what has come stays for another try, unless `discards`.
  virtual void end_fetch(const std::string& key, bool discards) = 0;
  // Sees to it that the image of the attempt's container is here, then calls on_image().
  virtual void find_image(const std::string& key, const wire::StartAttempt& order) = 0;
  virtual void end_find_image(const std::string& key) = 0;  // it is of no use any more, or for now
  // Sees to it that the code of the attempt (JobSpec::snapshot) is in its folder, then calls on_code().
  virtual void find_code(const std::string& key, const wire::StartAttempt& order) = 0;
  virtual void end_find_code(const std::string& key) = 0;  // as end_find_image()
  // An attempt on another server needs a checkpoint that was left here; then on_offered() is called.
  virtual void offer(const wire::OfferCheckpoint& order) = 0;
  virtual void signal(const std::string& key, int number) = 0;   // that asks it to end
  virtual void pass_on(const std::string& key, int number) = 0;  // of its user, who asks nothing of the kind
  virtual void freeze(const std::string& key, bool frozen) = 0;  // false: thaw
  // Asks a running attempt to go over to the GPUs of the order; once it has, on_resized() is called. Asked again, what it
  // has answered counts.
  virtual Status ask_to_resize(const std::string& key, const wire::ResizeAttempt& order) = 0;
  // For the next agent. An error: that would not know.
  virtual Status keep_gpus(const std::string& key, const ResizedGpus& gpus) = 0;
  virtual std::optional<ResizedGpus> kept_gpus(const std::string& key) = 0;  // empty: those that it began with
  virtual void forget(const std::string& key) = 0;
  virtual void renew(Instant until) = 0;                   // tells the launcher how long fenced attempts may run
  virtual void disconnect() = 0;                           // gives up the session; the world opens another one later
  virtual void remember(const KnownCluster& cluster) = 0;  // for restore_cluster() of the next agent
};

struct HeldAttempt {
  wire::AttemptReport report;
  Instant kill_at = Instant::never();
  // For GPUs that another attempt has not left yet, for its checkpoint, or, prepared, for the other servers.
  std::optional<wire::StartAttempt> waiting;
  bool is_fetching = false;                          // its checkpoint
  bool awaits_image = false;                         // of its container
  bool awaits_code = false;                          // of its snapshot
  std::optional<wire::ThawAttempt> waiting_to_thaw;  // for its GPUs
  std::optional<wire::ResizeAttempt> resizing;
  std::vector<int> asked;                 // as in ResizedGpus
  Instant resized_by = Instant::never();  // when it is stopped instead; never: it waits for its GPUs and was not asked
};

class AgentLogic {
 public:
  explicit AgentLogic(AgentPorts& ports) : ports_(ports) {}

  void restore_cluster(KnownCluster cluster) { cluster_ = std::move(cluster); }
  // A session may begin only after the launcher has reported what runs. The attempts are added to `hello`.
  void on_session_opened(wire::Hello hello, Instant now);
  void on_session_closed();
  void on_message(const wire::ControllerMessage& message, Instant now);
  // As if the controller had sent these; nothing is said of attempts that are not here.
  void stop_those_here(const std::vector<wire::StopAttempt>& orders, Instant now);
  void on_launcher_state(const LauncherState& state);
  // The contents of the checkpoint folder of an attempt that is about to be reported as exited.
  void on_checkpoint(const std::string& key, std::int64_t bytes, std::optional<double> seconds);
  // Its checkpoint is here, or there is none to be had; or it cannot be brought here ("server_setup").
  void on_fetched(const std::string& key, const Result<wire::CheckpointCopy>& copy, Instant now);
  // The image of its container is here, under this digest or id; or it cannot be had ("image", "server_setup"). Also for
  // an attempt that runs, once it is known again.
  void on_image(const std::string& key, const Result<std::string>& digest, Instant now);
  // Its code is in its folder; or it cannot be had ("setup", "server_setup").
  void on_code(const std::string& key, const Status& found, Instant now);
  void on_offered(wire::CheckpointOffered offered);
  // It has gone over to the GPUs that it was asked to use.
  void on_resized(const std::string& key);
  void on_launcher_listed() { launcher_ready_ = true; }
  // The launcher has gone (killed): what it ran is unknown until the next one has checked.
  void on_launcher_lost();
  bool launcher_ready() const { return launcher_ready_; }
  void tick(Instant now);  // a few times a second: pings, closes silent sessions, kills what outlived its grace period

  const std::map<std::string, HeldAttempt>& attempts() const { return attempts_; }
  // Those that it has now: the launcher knows which it began with.
  std::vector<int> gpus_of(const LauncherState& state) const;
  // Whether an attempt of the job is here whose end, if it has ended, the controller has not confirmed. A job without a
  // cluster may be of any.
  bool holds(const wire::StoredJob& job) const;
  // Whether another attempt of the job than `key` is here and has not ended.
  bool runs_another(std::int64_t job_id, const std::string& key) const;

 private:
  void start(const wire::StartAttempt& order);
  void start_again(const std::string& key, HeldAttempt& attempt, const wire::StartAttempt& order);
  void launch(const wire::LaunchAttempt& order);
  void prepare(const std::string& key, const wire::StartAttempt& order);
  void drop_waiting();
  void end_bringing(const std::string& key, HeldAttempt& attempt, bool discards);
  void fail_to_bring(const std::string& key, HeldAttempt& attempt, const Error& error);
  void fail(const std::string& key, const Error& error);
  void stop(const wire::StopAttempt& order, Instant now);
  void pass_on(const wire::SignalAttempt& order);
  // `kill_at`: when it is killed if it has not ended by itself.
  void end(const std::string& key, HeldAttempt& attempt, const std::string& signal, Instant kill_at);
  void resize(const wire::ResizeAttempt& order, Instant now);
  void ask_to_resize(const std::string& key, HeldAttempt& attempt, Instant now);
  void stop_to_resize(const std::string& key, HeldAttempt& attempt, Instant now);
  void freeze(const wire::FreezeAttempt& order);
  void thaw(const wire::ThawAttempt& order);
  void forget(const wire::ForgetAttempt& order);
  void report(const wire::AttemptReport& report);
  void report_lost(const Incarnation& incarnation);
  void disconnect();
  void renew(Instant from);
  void hear_of(const std::string& cluster, std::int64_t last_job);
  bool is_next(std::int64_t seq);
  bool are_free(const std::vector<int>& gpus, const Incarnation& self,
                const std::vector<Incarnation>& neighbours) const;
  void launch(const std::string& key, const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts);
  void begin(const std::string& key, const wire::StartAttempt& order);
  void launch_waiting();

  AgentPorts& ports_;
  std::map<std::string, HeldAttempt> attempts_;
  KnownCluster cluster_;             // as it is kept
  std::int64_t last_forgotten_ = 0;  // the highest number of a job of it that was here; kept with the next ping
  bool launcher_ready_ = false;
  bool in_session_ = false;
  bool is_welcome_ = false;                          // in this session
  std::int64_t reports_sent_ = 0, orders_seen_ = 0;  // in this session
  Instant hello_sent_, next_ping_;
  Duration lease_ = Duration::whole_seconds(30);  // until the controller sends its own
  Instant lease_until_ = Instant::never();
};

}  // namespace sl::agent
