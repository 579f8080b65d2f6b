// Checks from outside that what must never happen does not: the judge sees processes, durable rows and events, orders
// and answers, not what the daemons think. It records the truth (truth.h) and checks every statement against it.
//
//   judge.cpp          processes, orders, answers, ends
//   judge_history.cpp  every durable change of a job must be explained by what really happened
//   judge_containers.cpp   what runs in containers, and how it is said to have ended
//   judge_gangs.cpp    the same for jobs that may be on several servers: all parts of an attempt, or none
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "base/result.h"
#include "container/order.h"
#include "dst/heap.h"
#include "dst/truth.h"
#include "store/store.h"
#include "wire/agent_protocol.h"
#include "wire/intervention.h"

namespace sl::dst {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Arguments>
void require(bool holds, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (!holds) throw Violation(fmt::format(text, std::forward<Arguments>(arguments)...));
}

inline bool is_moving(const std::string& state) { return state == "migrating" || state == "resizing"; }
inline bool is_active(const std::string& state) {
  return state == "starting" || state == "running" || state == "suspended" || state == "stopping" || is_moving(state);
}

class Judge {
 public:
  explicit Judge(const Heap& heap) : heap_(heap) {}

  // ---- processes ----
  void started(std::int64_t leader, Running running);
  void frozen(std::int64_t leader, bool frozen);
  void resized(std::int64_t leader, const std::vector<int>& gpus);
  void check_gpus(const Running& running) const;
  void check_memory(const Running& running) const;
  void ended(std::int64_t leader) { truth_.running.erase(leader); }  // with everything it has started
  // It finds the checkpoint that this attempt has written, if any.
  void continues(AttemptKey key, std::optional<AttemptKey> from) const;
  // Its checkpoint cannot be copied.
  // Whether attempts of the job may have run, as far as launchers know, and left no checkpoint.
  bool has_containers(std::int64_t job) const;
  void cannot_be_copied(AttemptKey key) { truth_.attempts[key].cannot_be_copied = true; }
  void setup_failed(const std::string& key) { truth_.attempts[attempt_of(key)].setup_failed = true; }
  // The launcher asks or forces it to end.
  void signalled(const std::string& key, bool by_order);
  // The process that saw others of this server end, and had not recorded it yet, is dead.
  // The agent reports that it failed because a GPU it had is not among these.
  void gpu_is_blamed(const std::string& key, const std::set<int>& present) const;
  void memory_lost(const std::string& server);

  // It asked for several servers.
  bool may_be_gang(std::int64_t job) const;

  // ---- containers (judge_containers.cpp) ----
  void image_failed(const std::string& key) { truth_.attempts[attempt_of(key)].image_failed = true; }
  void container_begins(const std::string& key);  // the job in it
  void container_refused(const std::string& key) { truth_.attempts[attempt_of(key)].container->has_refused = true; }
  // `is_written`: its first process could write how.
  void container_ended(const std::string& key, int status, bool ran_out_of_memory, bool is_written);
  void memory_was_told(const std::string& key);
  // By the program that ran it.
  void container_reported(const std::string& key, const container::Outcome& outcome) const;

  // ---- the agent ----
  // It counts its lease from then on, or starts an attempt: the controller must have heard it since, or at most a lease ago.
  void counts_lease(const std::string& server, Instant from) const;
  void launches(const std::string& server, const std::string& key) const;

  // ---- the launcher ----
  void writes_end(const agent::LauncherState& state) const;  // not yet for good
  // `report`: of the program that ran its container, as it is on disk.
  void wrote_end(const std::string& server, const agent::LauncherState& state,
                 const std::optional<container::Outcome>& report);
  void launcher_tells(const agent::LauncherState& state) const;
  void launcher_forgets(const std::string& server, const std::string& key) const {
    must_be_over(server, attempt_of(key), "is forgotten");
  }

  // ---- what the controller hears, orders and records ----
  void controller_starts() { truth_.controller_started = heap_.now(); }
  // It takes a turn after all that it has heard; `calm`: nothing keeps it from writing down what it decides.
  void controller_turns(bool calm);
  void controller_hears(const std::string& server, const wire::AgentMessage& message, int gpus);
  void progress_sent(const wire::Progress& progress);
  void orders(const std::string& server, const wire::ControllerMessage& message);
  void durable(const store::Batch& batch);

  // ---- clients ----
  void submits(const std::string& key, const wire::JobSpec& spec) { truth_.submissions[key] = spec; }
  void accepted(const std::string& key, std::int64_t job);
  void asks_to_cancel(std::int64_t job) { truth_.cancels.insert(job); }
  int undrains(const std::string& server) { return truth_.servers[server].undrains; }
  // `undrains`: as many as when the request was made.
  void drain_answered(const std::string& server, int undrains) {
    ServerTruth& truth = truth_.servers[server];
    if (truth.undrains == undrains) truth.drained = heap_.now();
  }
  void asks_to_empty(const std::string& server) { truth_.servers[server].emptied = true; }
  void asks_to_undrain(const std::string& server) {
    ++truth_.servers[server].undrains;
    truth_.servers[server].drained = Instant::never();
  }
  void asks_for_priority(std::int64_t job, int priority) { truth_.priorities[job].push_back(priority); }
  void priority_answered(std::int64_t job, int priority) const;
  void cancel_answered(std::int64_t job, const Result<JobId>& answer);
  void server_given_up(const std::string& server) { truth_.servers[server].given_up = heap_.now(); }
  void asks_to_release(std::int64_t job) { truth_.releases.insert(job); }
  void asks(const wire::Intervention& wanted, std::int64_t job) {
    if (wanted.verb == "resume") truth_.releases.insert(job);
    if (wanted.verb == "suspend") truth_.holds.insert(job);
    if (wanted.verb == "scale") truth_.scales.insert(job);
  }
  void suspend_answered(std::int64_t job, const Result<JobId>& answer) const;
  void release_answered(std::int64_t job, const Result<JobId>& answer) const;
  // A change of policy that was answered is in force, unless another one came later.
  void policy_answered(const std::string& name) const;
  void output_read(AttemptKey key, std::int64_t offset, const std::string& bytes) const;

  // ---- the end ----
  std::size_t accepted_count() const { return accepted_.size(); }
  bool all_ended() const;
  void check_ends() const;

 private:
  // A job as its durable rows and events have told it.
  struct Life {
    wire::JobSpec spec;
    store::JobRow row;
    std::string state;  // by its events
    int attempt = 0;
    int preempted_in = 0;     // the attempt that was last preempted, or stopped to move
    int over_time_in = 0;     // the attempt that was last stopped by its time limit
    int retried = 0;          // attempts whose failure was the only reason for another attempt
    int lost = 0;             // attempts that were lost, which may have counted as failures
    int waits = 0;            // times it was held before another attempt
    int progress_events = 0;  // of this attempt
    Instant since;            // of the state
    bool cancel_is_promised = false;
  };

  const Life* find(std::int64_t job) const;
  const AttemptTruth& truth_of(AttemptKey key) const;
  void hear_of_end(const wire::AttemptReport& report);
  agent::LauncherState end_of_container(const agent::LauncherState& state,
                                        const std::optional<container::Outcome>& report) const;
  void check_container_end(const wire::AttemptReport& report) const;
  void hear_of_gpus(ServerTruth& server, const std::vector<wire::GpuReport>& gpus, int count) const;
  void must_be_over(const std::string& server, AttemptKey key, const char* what) const;

  // ---- judge_gangs.cpp ----
  // On one server of an attempt, as far as the database and the world know.
  struct Part {
    int rank = 0;
    std::string gpus;
    bool is_prepared = false;  // the controller has heard so
    bool has_started = false;
    bool is_over = false;  // the database says so
    std::optional<agent::LauncherState> end;
  };
  using Parts = std::map<std::string, Part>;  // by server
  const Parts* parts_of(AttemptKey key) const;
  void hear_of_part(const std::string& server, const wire::AttemptReport& report);
  void part_started(const Running& running);
  void part_ordered(const std::string& server, const wire::ControllerMessage& message);
  void check_gang(const Life& life, const std::string& from, const store::EventRow& event, const store::JobRow& row);
  // The job goes back to the queue, or is ordered to start: which of its checkpoints are on servers that are cut off.
  void notes_cut_off(AttemptKey key, Instant at);

  // ---- judge_history.cpp ----
  struct Step {  // a change of state that is durable now
    Life& life;
    const store::EventRow& event;
    const store::JobRow& row;  // at the end of the same transaction
  };
  void check_event(const store::EventRow& event, const store::JobRow& row);
  void check_step(const Step& step);
  void check_start(const Step& step);
  void check_prerequisites(const Step& step, const std::string& from) const;
  void check_dependency(const Step& step) const;
  void check_group_end(const Step& step) const;
  bool is_asked_to_cancel(const store::JobRow& row) const {
    return truth_.cancels.count(row.id) != 0 || (row.group_id > 0 && truth_.cancels.count(row.group_id) != 0);
  }
  void check_stop(const Step& step, const std::string& from);
  void check_move(const Step& step);
  void check_moved(const Step& step);
  void check_requeue(const Step& step);
  void check_final(const Step& step) const;
  void check_failure(const Step& step) const;
  void check_row(Life& life, const store::JobRow& row) const;
  void check_progress(const Life& life, const store::JobRow& row) const;
  bool is_lost(const Step& step) const;
  bool is_server_fault(const Step& step) const;
  bool was_interrupted(const Life& life) const;

  const Heap& heap_;
  Truth truth_;
  std::map<std::int64_t, Life> lives_;
  std::map<AttemptKey, Parts> gangs_;
  std::map<std::string, std::int64_t> accepted_;
  std::map<std::string, std::int64_t> keys_;  // durable ones
  std::vector<store::PolicyRow> policies_;    // durable ones
};

}  // namespace sl::dst
