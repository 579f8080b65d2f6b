#include "dst/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/json.h"

namespace sl::dst {

// ---- the truth ----

std::string list(const std::vector<int>& gpus) { return fmt::format("{}", fmt::join(gpus, ",")); }

AttemptKey attempt_of(const std::string& text) {
  return {std::atoll(text.c_str()), std::atoi(text.c_str() + text.find('.') + 1)};
}

std::string to_string(AttemptKey key) { return fmt::format("{}.{}", key.job, key.attempt); }

bool Truth::runs(std::int64_t job) const {
  return std::any_of(running.begin(), running.end(), [&](const auto& item) { return item.second.key.job == job; });
}

bool Truth::stands_still(std::int64_t job) const {
  return std::any_of(running.begin(), running.end(),
                     [&](const auto& item) { return item.second.key.job == job && item.second.frozen; });
}

// How long that is: docs/formats/agent-protocol.md, without the margin for clocks.
bool Truth::leases_were_over(const std::string& server, Instant at) const {
  constexpr Duration lease_and_grace = Duration::whole_seconds(40);
  const auto known = servers.find(server);
  if (known == servers.end()) return false;
  const ServerTruth& truth = known->second;
  const Instant heard = std::max(truth.heard, controller_started);
  return heard + lease_and_grace <= at || std::ranges::any_of(truth.silences, [&](const Silence& silence) {
           return silence.from + lease_and_grace <= at && at <= silence.to;
         });
}

const Judge::Life* Judge::find(std::int64_t job) const {
  const auto at = lives_.find(job);
  return at == lives_.end() ? nullptr : &at->second;
}

const AttemptTruth& Judge::truth_of(AttemptKey key) const {
  static const AttemptTruth nothing;
  const auto at = truth_.attempts.find(key);
  return at == truth_.attempts.end() ? nothing : at->second;
}

// ---- processes ----

// No other job computes on its GPUs.
void Judge::check_gpus(const Running& running) const {
  for (const auto& [pid, other] : truth_.running) {
    if (other.server != running.server || other.frozen || other.key.job == running.key.job) continue;
    for (const int gpu : running.gpus)
      require(std::find(other.gpus.begin(), other.gpus.end(), gpu) == other.gpus.end(),
              "GPU {} of {} has jobs {} and {}", gpu, running.server, other.key.job, running.key.job);
  }
}

// What starts has on each of its GPUs the memory that it asked for, beside the jobs that stand still there.
void Judge::check_memory(const Running& running) const {
  const auto needs = [&](AttemptKey key) {
    const Life* life = find(key.job);
    return life && key.attempt == life->attempt ? life->spec.resources.gpu_memory_bytes.value_or(0) : 0;
  };
  for (const int gpu : running.gpus) {
    std::int64_t used = needs(running.key);
    if (used == 0) return;
    for (const auto& [pid, other] : truth_.running) {
      const bool is_there = std::find(other.gpus.begin(), other.gpus.end(), gpu) != other.gpus.end();
      if (other.frozen && other.server == running.server && is_there) used += needs(other.key);
    }
    require(used <= gpu_memory_bytes, "{} needs memory of GPU {} of {} that frozen jobs hold: {} bytes in all",
            to_string(running.key), gpu, running.server, used);
  }
}

void Judge::frozen(std::int64_t leader, bool frozen) {
  Running& running = truth_.running.at(leader);
  running.frozen = frozen;
  if (!frozen) check_gpus(running);
}

// In place: it uses the GPUs that it was asked to use, and has left the others.
void Judge::resized(std::int64_t leader, const std::vector<int>& gpus) {
  Running& running = truth_.running.at(leader);
  running.gpus = truth_.attempts[running.key].gpus = gpus;
  check_gpus(running);
  check_memory(running);
}

void Judge::started(std::int64_t leader, Running running) {
  const auto [job, attempt] = running.key;
  if (may_be_gang(job)) {
    check_gpus(running);
    part_started(running);
    truth_.running.emplace(leader, std::move(running));
    return;
  }
  for (const auto& [pid, other] : truth_.running) {
    require(other.key.job != job, "job {} runs twice: attempt {} on {} and attempt {} on {}", job, other.key.attempt,
            other.server, attempt, running.server);
  }
  check_gpus(running);
  check_memory(running);
  const Life* life = find(job);
  require(life != nullptr, "job {} runs and is not in the database", job);
  require(!life->row.finished_us, "job {} runs again though it is {}", job, life->row.state);
  require(attempt == life->attempt && is_active(life->state), "{} starts though the job is {} with attempt {}",
          to_string(running.key), life->state, life->attempt);
  require(list(running.gpus) == life->row.gpus, "{} has the GPUs {} and finds the GPUs {}", to_string(running.key),
          life->row.gpus, list(running.gpus));
  AttemptTruth& truth = truth_.attempts[running.key];
  truth.started = heap_.now(), truth.server = running.server, truth.gpus = running.gpus;
  truth.image_failed = false;  // of an agent that died before it said so; its successor has the image
  if (running.has_container) truth.container.emplace();
  truth_.running.emplace(leader, std::move(running));
}

void Judge::notes_cut_off(AttemptKey key, Instant at) {
  const Life* life = find(key.job);
  if (!life || life->spec.on_partition != "stop") return;
  for (auto& [other, truth] : truth_.attempts) {
    if (other.job == key.job && truth.started && truth_.leases_were_over(truth.server, at)) truth.was_cut_off = true;
  }
}

// No work is lost: an attempt finds what the one before it has left, wherever that ran, unless its server was given up.
void Judge::continues(AttemptKey key, std::optional<AttemptKey> from) const {
  const auto next = truth_.attempts.lower_bound(key);
  for (auto at = std::make_reverse_iterator(next); at != truth_.attempts.rend() && at->first.job == key.job; ++at) {
    const auto& [before, truth] = *at;
    if (!truth.started || (truth.container && !truth.container->has_begun)) continue;
    const auto server = truth_.servers.find(truth.server);
    const bool is_lost = server != truth_.servers.end() && server->second.given_up >= *truth.started;
    require(from == before || is_lost || truth.was_cut_off || truth.cannot_be_copied,
            "{} continues from the checkpoint of {}, and {} has left one on {}", to_string(key),
            from ? to_string(*from) : "nobody", to_string(before), truth.server);
    return;
  }
}

void Judge::signalled(const std::string& key, bool by_order) {
  AttemptTruth& truth = truth_.attempts[attempt_of(key)];
  (by_order ? truth.stop_was_ordered : truth.lease_ended_it) = true;
}

void Judge::gpu_is_blamed(const std::string& key, const std::set<int>& present) const {
  const std::vector<int>& gpus = truth_of(attempt_of(key)).gpus;
  require(std::any_of(gpus.begin(), gpus.end(), [&](int gpu) { return present.count(gpu) == 0; }),
          "the end of {} is blamed on a GPU, and all it had are there", key);
}

void Judge::memory_lost(const std::string& server) {
  for (auto& [key, truth] : truth_.attempts) {
    if (truth.server == server && truth.started && !truth.end) truth.cannot_be_known = true;
  }
}

// ---- the agent ----

void Judge::counts_lease(const std::string& server, Instant from) const {
  const auto known = truth_.servers.find(server);
  const Instant heard = known == truth_.servers.end() ? Instant() : known->second.heard;
  constexpr Duration rounding{10};
  require(from <= heard + rounding, "the lease of {} is counted from after the controller heard of it", server);
}

void Judge::launches(const std::string& server, const std::string& key) const {
  constexpr Duration drift = Duration::milliseconds(200);
  const auto known = truth_.servers.find(server);
  require(known != truth_.servers.end() && heap_.now() <= known->second.heard + lease + drift,
          "{} is started on {} after the lease was over", key, server);
}

// ---- the launcher ----

void Judge::wrote_end(const std::string& server, const agent::LauncherState& state,
                      const std::optional<container::Outcome>& report) {
  const AttemptKey key = attempt_of(state.key);
  if (may_be_gang(key.job)) {
    gangs_[key][server].end = state;
    return;
  }
  AttemptTruth& truth = truth_.attempts[key];
  truth.end = state;
  if (!truth.container) return;
  require(!truth.container->has_begun || truth.container->has_ended, "{} is said to have ended, and its container runs",
          state.key);
  truth.end = end_of_container(state, report);
  // The launcher that the order had reached has died, and the job ended by itself before the order was passed on.
  if (report && !report->asked_to_end && state.stopped_by.empty()) truth.stop_was_ordered = false;
  truth.setup_failed = truth.end->failure_kind == "setup";
  truth.cannot_be_known = truth.end->failure_kind == "lost" || truth.end->failure_kind == "server_setup";
}

void Judge::writes_end(const agent::LauncherState& state) const {
  if (may_be_gang(attempt_of(state.key).job)) return;
  require(!truth_of(attempt_of(state.key)).cannot_be_known || state.failure_kind == "lost",
          "the launcher records how {} ended and cannot know", state.key);
}

void Judge::launcher_tells(const agent::LauncherState& state) const {
  if (may_be_gang(attempt_of(state.key).job)) return;
  const AttemptTruth& truth = truth_of(attempt_of(state.key));
  if (state.state != "exited" || (state.failure_kind == "lost" && !truth.end)) return;
  require(truth.end.has_value(), "the end of {} is told and not on disk", state.key);
}

// All of the attempt, unless this server was lost.
void Judge::must_be_over(const std::string& server, AttemptKey key, const char* what) const {
  const Parts* parts = parts_of(key);
  if (parts && parts->contains(server) && parts->at(server).is_over) return;
  const Life* life = find(key.job);
  require(life != nullptr, "{} {} and its job is not in the database", to_string(key), what);
  require(life->row.attempt != key.attempt || !is_active(life->row.state),
          "{} {} though the database says that it is {}", to_string(key), what, life->row.state);
}

// ---- what the controller hears and orders ----

void Judge::controller_hears(const std::string& server, const wire::AgentMessage& message, int gpus) {
  ServerTruth& truth = truth_.servers[server];
  const Instant now = heap_.now(), before = std::max(truth.heard, truth_.controller_started);
  if (std::holds_alternative<wire::Progress>(message) || std::holds_alternative<wire::LogChunk>(message)) return;
  if (const auto* hello = std::get_if<wire::Hello>(&message)) {
    if (hello->call < truth.call) return;  // delivered late: what it says is not news
    truth.call = hello->call;
  }
  if (before + Duration::whole_seconds(40) <= now) truth.silences.push_back({before, now});
  truth.heard = now;
  if (const auto* changed = std::get_if<wire::AttemptChanged>(&message)) {
    hear_of_end(changed->report);
    hear_of_part(server, changed->report);
  }
  if (const auto* hello = std::get_if<wire::Hello>(&message)) {
    for (const wire::AttemptReport& report : hello->attempts) hear_of_end(report), hear_of_part(server, report);
    hear_of_gpus(truth, hello->gpus, gpus);
  }
  if (const auto* telemetry = std::get_if<wire::Telemetry>(&message)) hear_of_gpus(truth, telemetry->gpus, gpus);
}

void Judge::hear_of_end(const wire::AttemptReport& report) {
  if (report.state != "exited") return;
  AttemptTruth& truth = truth_.attempts[{report.incarnation.job, report.incarnation.attempt}];
  if (truth.container && truth.end) check_container_end(report);
  (report.failure_kind == "gpu_error" ? truth.gpu_error_heard : truth.other_end_heard) = true;
}

void Judge::hear_of_gpus(ServerTruth& server, const std::vector<wire::GpuReport>& gpus, int count) const {
  std::set<int> present;
  for (const wire::GpuReport& gpu : gpus) {
    if (!gpu.missing) present.insert(gpu.index);
  }
  // What it has decided at this very moment, it may have decided before.
  const Instant known_from = heap_.now() + Duration{truth_.controller_turned == heap_.now() ? 1 : 0};
  for (int gpu = 0; gpu < count; ++gpu) {
    if (present.count(gpu) != 0) {
      server.missing_gpus.erase(gpu);
    } else {
      server.missing_gpus.try_emplace(gpu, known_from);
    }
  }
}

// Jobs that may be started elsewhere do not wait for a server that has been silent for too long.
void Judge::controller_turns(bool calm) {
  constexpr Duration awake = Duration::whole_seconds(2);  // it takes a turn more often than that
  // The lease, the grace, the controller's margin, and time to write it down.
  constexpr Duration patience = Duration::whole_seconds(30 + 10 + 5 + 10);
  const Instant now = heap_.now();
  if (!calm || truth_.controller_turned + awake < now) truth_.controller_works_since = now;
  truth_.controller_turned = now;
  const Instant works_since = std::max(truth_.controller_works_since, truth_.controller_started);
  if (now < works_since + patience) return;
  for (const auto& [job, life] : lives_) {
    if (!is_active(life.state) || life.spec.on_partition != "stop" || life.spec.servers > 1) continue;
    require(now < std::max(works_since, truth_.servers[life.row.server].heard) + patience,
            "job {} is {} on {}, which has been silent for long", job, life.state, life.row.server);
  }
}

void Judge::progress_sent(const wire::Progress& progress) {
  AttemptTruth& truth = truth_.attempts[{progress.incarnation.job, progress.incarnation.attempt}];
  truth.steps_told = static_cast<std::int64_t>(progress.step.value_or(0));
}

// An order leaves only when what it rests on is durable.
void Judge::orders(const std::string& server, const wire::ControllerMessage& message) {
  const auto job = std::visit(
      [](const auto& order) -> std::int64_t {
        if constexpr (requires { order.incarnation; }) return order.incarnation.job;
        return 0;
      },
      message);
  if (may_be_gang(job)) return part_ordered(server, message);
  if (const auto* start = std::get_if<wire::StartAttempt>(&message)) {
    const Life* life = find(start->incarnation.job);
    require(life && life->row.state == "starting" && life->row.attempt == start->incarnation.attempt &&
                life->row.server == server && life->row.gpus == list(start->placement.gpus),
            "{}.{} is ordered to start on {} and the database does not know it", start->incarnation.job,
            start->incarnation.attempt, server);
    notes_cut_off({start->incarnation.job, start->incarnation.attempt}, heap_.now());
  }
  if (const auto* stop = std::get_if<wire::StopAttempt>(&message)) {
    const Life* life = find(stop->incarnation.job);
    const bool is_here = life && life->row.attempt == stop->incarnation.attempt && life->row.server == server;
    if (stop->reason == "stranger") {
      require(!is_here || !is_active(life->row.state), "{}.{} is a stranger on {} and {} in the database",
              stop->incarnation.job, stop->incarnation.attempt, server, life ? life->row.state : "");
    } else {
      const bool moves = is_moving(stop->reason);
      require(is_here && life->row.state == (moves ? stop->reason : "stopping"),
              "{}.{} is ordered to stop on {} and the database does not know it", stop->incarnation.job,
              stop->incarnation.attempt, server);
      // "time_limit:KILL" is why, and the signal asked for since; an order from before that is true as well.
      const std::string why = life->row.extra_json.substr(0, life->row.extra_json.find(':'));
      require(moves || why == stop->reason || (stop->reason == "cancelled" && life->row.cancel_requested),
              "{}.{} is ordered to stop ({}), the database says '{}'", stop->incarnation.job, stop->incarnation.attempt,
              stop->reason, life->row.extra_json);
    }
  }
  if (const auto* resize = std::get_if<wire::ResizeAttempt>(&message)) {
    const Life* life = find(resize->incarnation.job);
    require(life && life->row.attempt == resize->incarnation.attempt && life->row.server == server &&
                life->row.state == "resizing" && life->spec.resize == "in_place",
            "{}.{} is to be resized on {} and the database does not know it", resize->incarnation.job,
            resize->incarnation.attempt, server);
  }
  if (const auto* freeze = std::get_if<wire::FreezeAttempt>(&message)) {
    const Life* life = find(freeze->incarnation.job);
    require(life && life->row.attempt == freeze->incarnation.attempt &&
                (life->row.state == "stopping" || life->row.state == "suspended"),
            "{}.{} is to be frozen on {} and the database does not know it", freeze->incarnation.job,
            freeze->incarnation.attempt, server);
  }
  if (const auto* thaw = std::get_if<wire::ThawAttempt>(&message)) {
    const Life* life = find(thaw->incarnation.job);
    require(life && life->row.attempt == thaw->incarnation.attempt &&
                (life->row.state == "starting" || life->row.state == "running"),
            "{}.{} is to be thawed on {} and the database does not know it", thaw->incarnation.job,
            thaw->incarnation.attempt, server);
  }
  if (const auto* forget = std::get_if<wire::ForgetAttempt>(&message))
    must_be_over(server, {forget->incarnation.job, forget->incarnation.attempt}, "may be forgotten");
}

// ---- clients ----

void Judge::accepted(const std::string& key, std::int64_t job) {
  const auto durable = keys_.find(key);
  require(find(job) != nullptr && durable != keys_.end(), "job {} was accepted and is not in the database", job);
  require(durable->second == job, "submission {} became jobs {} and {}", key, durable->second, job);
  const auto [at, is_new] = accepted_.emplace(key, job);
  require(at->second == job, "submission {} became jobs {} and {}", key, at->second, job);
  for (const auto& [other, id] : accepted_) require(id != job || other == key, "job {} answers two submissions", job);
}

void Judge::cancel_answered(std::int64_t job, const Result<JobId>& answer) {
  const auto at = lives_.find(job);
  if (at == lives_.end()) return;
  Life& life = at->second;
  if (answer.ok()) {
    require(life.row.cancel_requested || life.row.finished_us,
            "job {} is promised to be cancelled, the database is not told", job);
    life.cancel_is_promised = true;
    return;
  }
  require(answer.error().code != "job-not-found", "job {} is in the database and the controller does not know it", job);
  require(answer.error().code != "job-finished" || life.row.finished_us,
          "job {} is said to have ended, the database says {}", job, life.row.state);
}

void Judge::suspend_answered(std::int64_t job, const Result<JobId>& answer) const {
  const Life* life = find(job);
  require(!life || !answer.ok() || life->row.held || life->row.finished_us || truth_.releases.count(job) != 0,
          "job {} is said to be held, and the database is not told", job);
}

// It is in the database, or one that was asked for later.
void Judge::priority_answered(std::int64_t job, int priority) const {
  const Life* life = find(job);
  if (!life) return;
  const std::vector<int>& asked = truth_.priorities.at(job);
  const auto of_group = truth_.priorities.find(life->row.group_id);  // a group's change is one of its members too
  const bool by_group =
      of_group != truth_.priorities.end() &&
      std::find(of_group->second.begin(), of_group->second.end(), life->row.priority) != of_group->second.end();
  require(by_group || std::find(std::find(asked.begin(), asked.end(), priority), asked.end(), life->row.priority) !=
                          asked.end(),
          "job {} was promised priority {}, the database says {}", job, priority, life->row.priority);
}

void Judge::release_answered(std::int64_t job, const Result<JobId>& answer) const {
  const Life* life = find(job);
  if (!life || life->attempt > 0) return;
  const bool says_released = answer.ok() || answer.error().code == "job-not-held";
  require(!says_released || life->row.state != "held" || truth_.holds.count(job) != 0,
          "job {} is said to be released, the database says held", job);
}

void Judge::policy_answered(const std::string& name) const {
  require(policies_.empty() ||
              std::any_of(policies_.begin(), policies_.end(), [&](const auto& row) { return row.name == name; }),
          "the policy {} was promised and is not in the database", name);
}

// The output of an attempt is its name over and over (server_node.cpp).
void Judge::output_read(AttemptKey key, std::int64_t offset, const std::string& bytes) const {
  const std::string line = to_string(key) + "\n";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    require(bytes[i] == line[(static_cast<std::size_t>(offset) + i) % line.size()],
            "a reader of the output of {} gets another's at {}", to_string(key), offset);
}

// ---- the end ----

bool Judge::all_ended() const {
  return std::all_of(accepted_.begin(), accepted_.end(),
                     [&](const auto& item) { return find(item.second)->row.finished_us.has_value(); });
}

void Judge::check_ends() const {
  for (const auto& [key, job] : accepted_) {
    const Life& life = *find(job);
    require(!life.cancel_is_promised || life.row.state == "cancelled" || life.row.state == "succeeded",
            "job {} was promised to be cancelled and has {}", job, life.row.state);
  }
}

}  // namespace sl::dst
