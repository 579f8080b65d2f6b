// Sessions with agents and their leases: who may speak for a server, whether every report has arrived, and when a
// server has been silent for so long that everything that had to end there has ended. What reports mean is decided
// elsewhere (reconciler.h, progress_reports.h).
#pragma once

#include <functional>
#include <set>
#include <string>

#include "controller/drains.h"
#include "controller/images.h"
#include "controller/job_numbers.h"
#include "controller/logs.h"
#include "controller/progress_reports.h"
#include "controller/reconciler.h"

namespace sl::controller {

// How many jobs an agent may ask about at once (job_files.h).
inline constexpr int query_jobs_max = 500;
// So long after its start a controller takes no server over that runs jobs of another cluster.
inline constexpr Duration takeover_after = Duration::whole_seconds(600);

struct SessionSettings {
  std::string version;  // of this program, sent to agents
  Duration lease;       // how long an agent's attempts may rely on a contact
  Instant began;        // when this controller started
};

class Sessions {
 public:
  Sessions(SessionSettings settings, Core& core, Agents& agents, const Incarnations& incarnations, JobNumbers& numbers,
           Recorder& recorder, Engine& engine, Outside& outside, Logs& logs, Reconciler& reconciler,
           ProgressReports& progress_reports, Checkpoints& checkpoints, Images& images, ServerHealth& health,
           Drains& drains)
      : settings_(std::move(settings)),
        core_(core),
        agents_(agents),
        incarnations_(incarnations),
        numbers_(numbers),
        recorder_(recorder),
        engine_(engine),
        outside_(outside),
        logs_(logs),
        reconciler_(reconciler),
        progress_reports_(progress_reports),
        checkpoints_(checkpoints),
        images_(images),
        health_(health),
        drains_(drains) {}

  void on_message(SessionId session, const wire::AgentMessage& message, Instant now);
  void on_closed(SessionId session, Instant now);
  // Ends sessions that have been silent for a lease, and the leases of servers that have been away for longer. Does so
  // once a second, however often it is called.
  void check_leases(Instant now);
  Instant next_lease_check() const;
  // An administrator states that a server will not come back. Errors: "server-not-found", "server-connected".
  void declare_lost(const std::string& server, const std::string& by, Instant now,
                    std::function<void(const Status&)> done);
  // Takes a server out of the cluster for as long as its agent does not call. Errors: "server-not-found",
  // "server-connected", "server-has-jobs".
  void remove(const std::string& server, const std::string& by, Instant now, std::function<void(const Status&)> done);

 private:
  // One function per message.
  void on(SessionId session, const wire::Hello& hello, Instant now);
  void on(SessionId session, const wire::AttemptChanged& changed, Instant now);
  void on(SessionId session, const wire::Progress& progress, Instant now);
  void on(SessionId session, const wire::Telemetry& telemetry, Instant now);
  void on(SessionId session, const wire::LogChunk& chunk, Instant now);
  void on(SessionId, const wire::JobFilesQuery&, Instant) {}  // decides nothing; answered by job_files.h
  void on(SessionId session, const wire::CheckpointOffered& offered, Instant now);
  void on(SessionId session, const wire::CheckpointProgress& progress, Instant now);
  void on(SessionId session, const wire::ImageProgress& progress, Instant now);
  void on(SessionId, const wire::CheckpointRead&, Instant) {}  // these decide nothing; passed on by checkpoint_relay.h
  void on(SessionId, const wire::CheckpointPiece&, Instant) {}
  void on(SessionId session, const wire::ForeignGpuUse& use, Instant now);
  void on(SessionId, const wire::ChannelRefused&, Instant) {}  // decides nothing; answered by channels.h
  void on(SessionId, const wire::SnapshotRead&, Instant) {}    // decides nothing; answered by snapshots.h
  void on(SessionId session, const wire::Ping& ping, Instant now);

  Status admit(const wire::Hello& hello, Instant now) const;
  bool notice_restore(const wire::Hello& hello, Instant now);
  void note_limits(const wire::Hello& hello, const std::string& before, Instant now);
  Instant end_of_lease(const Agent& agent) const;
  Status check_copy(const Agent& before, const wire::Hello& hello, Instant now) const;
  Status check_renamed(const wire::Hello& hello) const;
  Status check_other_cluster(const wire::Hello& hello, Instant now) const;
  void refuse(SessionId session, const wire::Hello& hello, const Error& why, Instant now);
  void note_other_cluster(const wire::Hello& hello, Instant now);
  bool is_next(Agent& agent, SessionId session, std::int64_t seq, Instant now);
  void drop(SessionId session, const std::string& why, Instant now);
  // The server's agent, which must be away. Errors: "server-not-found", "server-connected".
  Result<const Agent*> find_silent(const std::string& server, const std::string& otherwise) const;
  std::optional<JobId> job_on(const std::string& server) const;  // one that may still run there
  void note_request(const char* kind, const std::string& server, const std::string& by, Instant now);

  SessionSettings settings_;
  Core& core_;
  Agents& agents_;
  const Incarnations& incarnations_;
  JobNumbers& numbers_;
  Recorder& recorder_;
  Engine& engine_;
  Outside& outside_;
  Logs& logs_;
  Reconciler& reconciler_;
  ProgressReports& progress_reports_;
  Checkpoints& checkpoints_;
  Images& images_;
  ServerHealth& health_;
  Drains& drains_;
  std::set<std::string> refusals_;  // that were told, by whom and why
  Instant next_lease_check_;
};

}  // namespace sl::controller
