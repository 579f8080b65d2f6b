// Every durable change of a job is explained by what really happened, or it is a violation.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>

#include "dst/judge.h"
#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/members.h"

namespace sl::dst {
namespace {

constexpr int again_code = 75;
constexpr int asks_max = 10;             // quick ends with it in a row (docs/guide/jobs.md)
constexpr int progress_events_max = 30;  // of one attempt: it is measured over windows that double

bool is_final(const std::string& state) { return state == "succeeded" || state == "failed" || state == "cancelled"; }

bool wants_retry(const wire::RetrySpec& retry, const std::string& failure, std::optional<int> exit_code) {
  return std::any_of(retry.on.begin(), retry.on.end(), [&](const std::string& on) {
    return on == "any" || on == failure || (exit_code && on == fmt::format("exit:{}", *exit_code));
  });
}

std::string failure_of(const AttemptTruth& truth) {
  if (truth.setup_failed) return "setup";
  if (truth.image_failed) return "image";
  if (!truth.end || truth.end->failure_kind == "lost") return "server_lost";
  if (!truth.end->failure_kind.empty()) return truth.end->failure_kind;
  return truth.end->signal ? "signal" : "exit";
}

// Compared as they are read again: what a row leaves out has its default then.
bool is_submission(const store::JobRow& row, const wire::JobSpec& submitted) {
  const auto read_again = [](const std::string& text) {
    const auto spec = wire::read_json<wire::JobSpec>(text);
    return spec.ok() ? wire::write_json(*spec) : "unreadable";
  };
  return read_again(row.spec_json) == read_again(wire::json_text(wire::to_value(submitted)));
}

}  // namespace

void Judge::durable(const store::Batch& batch) {
  std::map<std::int64_t, const store::JobRow*> last;
  for (const store::JobRow& row : batch.jobs) last[row.id] = &row;
  for (const store::IdempotencyRow& row : batch.keys) {
    const auto [at, is_new] = keys_.emplace(row.key, row.job_id);
    require(at->second == row.job_id, "submission {} became jobs {} and {}", row.key, at->second, row.job_id);
    const auto job = last.find(row.job_id);
    require(job != last.end() && is_submission(*job->second, truth_.submissions.at(row.key)),
            "job {} is not what was submitted", row.job_id);
  }
  for (const store::PlacementRow& row : batch.placements) {
    Part& part = gangs_[{row.job_id, row.attempt}][row.server];
    part.rank = row.rank, part.gpus = row.gpus, part.is_over = row.ended_us.has_value();
  }
  policies_.insert(policies_.end(), batch.policies.begin(), batch.policies.end());
  for (const store::EventRow& event : batch.events) {
    if (!event.job_id || !event.kind.starts_with("job.")) continue;
    const auto row = last.find(*event.job_id);
    if (row != last.end()) {
      check_event(event, *row->second);
    } else if (const Life* life = find(*event.job_id)) {
      check_event(event, store::JobRow(life->row));
    }
  }
  for (const auto& [id, row] : last) {
    const auto life = lives_.find(id);
    require(life != lives_.end(), "job {} is in the database and its submission is not in the history", id);
    check_row(life->second, *row);
  }
}

void Judge::check_event(const store::EventRow& event, const store::JobRow& row) {
  if (event.kind == "job.submitted") {
    Life& life = lives_[row.id];
    life.spec = *wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore);
    life.state = life.spec.hold ? "held" : "pending";
    life.row.state = life.state;
    life.row.group_id = row.group_id;
    return;
  }
  const auto life = lives_.find(row.id);
  require(life != lives_.end(), "job {} has a history and no beginning", row.id);
  if (event.kind == "job.progress")
    require(++life->second.progress_events <= progress_events_max, "the progress of job {} is recorded too often",
            row.id);
  if (event.kind == "job.state") check_step({life->second, event, row});
}

void Judge::check_step(const Step& step) {
  auto& [life, event, row] = step;
  require(event.from == life.state, "job {} was {} and goes from {} to {}", row.id, life.state, event.from, event.to);
  const std::string from = std::exchange(life.state, event.to);
  const AttemptKey key{row.id, life.attempt};
  if (event.to == "starting") check_prerequisites(step, from);
  if (event.text == "dependency") return check_dependency(step);
  if (wire::is_group(life.spec) && is_final(event.to)) return check_group_end(step);
  if (life.spec.servers > 1) {
    check_gang(life, from, event, row);
    if (event.to == "starting" && from != "suspended") ++life.attempt, life.progress_events = 0;
    return;
  }
  if (event.to == "suspended") {
    // From starting: after a restart, when it was waiting for its GPUs to go on.
    require(life.spec.freeze && (from == "stopping" || from == "starting"), "job {} is frozen and did not allow it",
            row.id);
    require(!truth_.runs(row.id) || truth_.stands_still(row.id), "{} is suspended though it runs", to_string(key));
  } else if (from == "suspended" && event.to == "starting") {
    require(!life.cancel_is_promised, "job {} goes on though it was promised to be cancelled", row.id);
  } else if (event.to == "starting") {
    if (is_moving(from)) check_moved(step);
    check_start(step);
  } else if (event.to == "running") {
    require(truth_of(key).started.has_value(), "{} runs in the database and never did", to_string(key));
    if (from == "resizing") {
      require(life.spec.resize == "in_place", "{} was resized in place and did not allow it", to_string(key));
      require(row.state != "running" || list(truth_of(key).gpus) == row.gpus, "{} has the GPUs {} and uses {}",
              to_string(key), row.gpus, list(truth_of(key).gpus));
    }
  } else if (event.to == "stopping") {
    check_stop(step, from);
  } else if (is_moving(event.to)) {
    check_move(step);
  } else if (is_final(event.to)) {
    check_final(step);
  } else if (is_active(from)) {
    event.to == "held" ? check_moved(step) : check_requeue(step);
  } else if (from == "held") {
    require(life.attempt > 0 || truth_.releases.count(row.id) != 0, "job {} is released and nobody has asked for it",
            row.id);
  } else {
    const bool again = (truth_of(key).end && truth_of(key).end->exit_code == again_code) || is_server_fault(step);
    require(again || truth_.holds.count(row.id) != 0, "job {} is held and nobody has asked for it", row.id);
    life.waits += again ? 1 : 0;
  }
}

// Those of a member are its group's.
void Judge::check_prerequisites(const Step& step, const std::string& from) const {
  const auto& [life, event, row] = step;
  const Life* group = row.group_id > 0 ? find(row.group_id) : nullptr;
  require(!wire::is_group(life.spec), "group {} starts itself", row.id);
  require(row.group_id == 0 || group, "job {} is a member of no group", row.id);
  const wire::JobSpec& spec = group ? group->spec : life.spec;
  for (const std::int64_t id : spec.after)
    require(find(id) && find(id)->state == "succeeded", "job {} starts before job {} has succeeded", row.id, id);
  for (const std::int64_t id : spec.after_any)
    require(find(id) && is_final(find(id)->state), "job {} starts before job {} has ended", row.id, id);
  if (spec.not_before)
    require(event.at_us >= *wire::parse_time_us(*spec.not_before), "job {} starts before its time", row.id);
  if (!group || from != "pending") return;
  require(group->state != "held", "job {} starts though its group is held", row.id);
  std::int64_t running = 1;
  for (const auto& [id, other] : lives_)
    running += id != row.id && other.row.group_id == row.group_id && is_active(other.state);
  require(spec.max_running == 0 || running <= spec.max_running, "{} members of group {} run", running, row.group_id);
}

void Judge::check_dependency(const Step& step) const {
  const auto& [life, event, row] = step;
  require(event.to == "failed" && row.failure_kind == "dependency" && life.attempt == 0,
          "job {} is {} because of a job that it was to follow", row.id, event.to);
  require(std::any_of(life.spec.after.begin(), life.spec.after.end(),
                      [&](std::int64_t id) {
                        const Life* other = find(id);
                        return other && is_final(other->state) && other->state != "succeeded";
                      }),
          "job {} failed because of a job that it was to follow, and none of those did", row.id);
}

void Judge::check_group_end(const Step& step) const {
  const auto& [life, event, row] = step;
  std::int64_t succeeded = 0, failed = 0;
  for (const auto& [id, member] : lives_) {
    if (member.row.group_id != row.id) continue;
    require(is_final(member.state), "group {} is {} and its member {} {}", row.id, event.to, id, member.state);
    succeeded += member.state == "succeeded";
    failed += member.state == "failed";
  }
  require((event.to == "succeeded") == (succeeded == wire::member_count(life.spec)),
          "group {} is {}, {} of its members succeeded", row.id, event.to, succeeded);
  require(event.to != "failed" || failed > 0, "group {} failed and none of its members did", row.id);
  require(event.to != "cancelled" || failed == 0 || is_asked_to_cancel(row),
          "group {} is cancelled, and members failed", row.id);
}

void Judge::check_start(const Step& step) {
  auto& [life, event, row] = step;
  ++life.attempt;
  life.progress_events = 0;
  require(!life.cancel_is_promised, "job {} starts again though it was promised to be cancelled", row.id);
  if (row.attempt != life.attempt || !is_active(row.state)) return;  // over already: where it was to be is not known
  const auto server = truth_.servers.find(row.server);
  require(server != truth_.servers.end(), "job {} starts on the unknown server {}", row.id, row.server);
  require(server->second.drained >= Instant{event.at_us}, "job {} starts on {}, which is drained", row.id, row.server);
  for (const auto& [gpu, since] : server->second.missing_gpus)
    require(since > Instant{event.at_us} ||
                fmt::format(",{},", row.gpus).find(fmt::format(",{},", gpu)) == std::string::npos,
            "job {} starts on GPU {} of {}, which is not there", row.id, gpu, row.server);
}

void Judge::check_stop(const Step& step, const std::string& from) {
  auto& [life, event, row] = step;
  if (event.text.empty()) {
    require(life.spec.freeze && (from == "running" || from == "suspended"),
            "job {} is {} and to be frozen, which it does not allow", row.id, from);
  } else if (event.text == "cancelled") {
    require(is_asked_to_cancel(row), "job {} is stopped as cancelled and nobody has asked for it", row.id);
  } else if (event.text == "time_limit") {
    require(life.spec.time_limit_s.has_value(), "job {} has no time limit and is stopped by it", row.id);
    life.over_time_in = life.attempt;
  } else {
    require(event.text == "preempted", "job {} is stopped and nobody says why: '{}'", row.id, event.text);
    const bool begins = from == "starting" && truth_.holds.count(row.id) != 0;  // it has lost nothing yet
    // The row may be written so late that it names the server of the next attempt, or none.
    const std::string& on = truth_of({row.id, life.attempt}).server;
    const bool is_driven_out =
        std::ranges::any_of(truth_.servers, [&](const auto& item) {  // by a drain with a deadline
          return item.second.emptied && (item.first == on || on.empty() || life.spec.servers > 1);
        });
    require(life.spec.checkpoint.dir || begins || is_driven_out, "job {} cannot be preempted and is", row.id);
    life.preempted_in = life.attempt;
  }
}

void Judge::check_move(const Step& step) {
  auto& [life, event, row] = step;
  require(life.spec.preemptible && life.spec.checkpoint.dir, "job {} cannot be stopped to move and is", row.id);
  require(event.to == "migrating" ? life.spec.migratable
                                  : life.spec.gpus.min < life.spec.gpus.max || truth_.scales.count(row.id) != 0,
          "job {} is {} and did not allow it", row.id, event.to);
  life.preempted_in = life.attempt;
}

// It has stopped to move, or is held at once. If it asked for another start by itself, that counts as such.
void Judge::check_moved(const Step& step) {
  auto& [life, event, row] = step;
  check_requeue(step);
  const AttemptTruth& truth = truth_of({row.id, life.attempt});
  const bool asked = truth.end && truth.end->exit_code == again_code;
  const bool was_lost = life.preempted_in != life.attempt && is_server_fault(step);  // while it was being frozen
  // That its lease has ended it may have been forgotten with its launcher.
  const bool counts = !was_interrupted(life) ? asked || was_lost : was_lost && truth.cannot_be_known;
  life.waits += counts ? 1 : 0;
}

// Its end says nothing of the job: it never ran, whoever saw the end has died, or it had to end with its lease.
bool Judge::is_lost(const Step& step) const {
  auto& [life, event, row] = step;
  const AttemptTruth& truth = truth_of({row.id, life.attempt});
  if (!truth.started || truth.cannot_be_known) return true;
  const auto server = truth_.servers.find(truth.server);
  if (server != truth_.servers.end() && server->second.given_up > *truth.started) return true;
  return life.spec.on_partition == "stop" && truth_.leases_were_over(life.row.server, Instant{event.at_us});
}

bool Judge::is_server_fault(const Step& step) const {
  return is_lost(step) || truth_of({step.row.id, step.life.attempt}).gpu_error_heard;
}

bool Judge::was_interrupted(const Life& life) const {
  const AttemptTruth& truth = truth_of({life.row.id, life.attempt});
  return (life.preempted_in == life.attempt && truth.stop_was_ordered) ||
         (life.spec.on_partition == "stop" && truth.lease_ended_it);
}

void Judge::check_requeue(const Step& step) {
  auto& [life, event, row] = step;
  const AttemptKey key{row.id, life.attempt};
  const AttemptTruth& truth = truth_of(key);
  require(!truth_.runs(row.id), "{} is given up though it runs", to_string(key));
  notes_cut_off(key, Instant{event.at_us});
  // Over its time limit it has failed, also if the end of its lease or launcher came first.
  const bool is_over_time = life.over_time_in == life.attempt;
  if (was_interrupted(life)) return void(life.lost += is_over_time ? 1 : 0);
  const bool was_stopped_for_it = is_over_time && truth.stop_was_ordered;
  // Asking is no answer to a stop for good.
  if (truth.end && truth.end->exit_code == again_code && !was_stopped_for_it) return;
  if (is_server_fault(step)) return void(++life.lost);
  require(truth.end.has_value(), "{} is repeated though nobody has seen its end", to_string(key));
  const std::string failure = was_stopped_for_it ? "time_limit" : failure_of(truth);
  require(wants_retry(life.spec.retry, failure, truth.end->exit_code), "{} is repeated though its end is known: {}",
          to_string(key), truth.end->exit_code ? fmt::format("exit code {}", *truth.end->exit_code) : failure);
  ++life.retried;
  require(life.retried <= life.spec.retry.max, "job {} is tried again {} times, it asked for {}", row.id, life.retried,
          life.spec.retry.max);
}

void Judge::check_final(const Step& step) const {
  auto& [life, event, row] = step;
  const AttemptKey key{row.id, life.attempt};
  const AttemptTruth& truth = truth_of(key);
  require(!truth_.runs(row.id), "job {} is {} though it runs", row.id, event.to);
  if (event.to == "cancelled")
    require(is_asked_to_cancel(row), "job {} is cancelled and nobody has asked for it", row.id);
  if (event.to == "succeeded")
    require(truth.end && truth.end->exit_code == 0, "job {} succeeded though {} did not", row.id, to_string(key));
  if (event.to == "failed") check_failure(step);
}

void Judge::check_failure(const Step& step) const {
  auto& [life, event, row] = step;
  const AttemptKey key{row.id, life.attempt};
  const AttemptTruth& truth = truth_of(key);
  require(row.failure_kind == event.text, "job {} failed by {}, its row says {}", row.id, event.text, row.failure_kind);
  if (event.text == "time_limit") {
    require(life.spec.time_limit_s && (truth.stop_was_ordered || truth.lease_ended_it || is_lost(step)),
            "job {} failed by its time limit though {} ended before anybody stopped it", row.id, to_string(key));
    return;
  }
  if (event.text == "server_lost") {
    require(is_lost(step), "{} is lost though its end is known", to_string(key));
    require(life.waits >= asks_max, "job {} failed because {} was lost", row.id, to_string(key));
  } else if (event.text == "gpu_error") {
    require(truth.gpu_error_heard, "job {} failed by a GPU error that no agent has reported", row.id);
    require(life.waits >= asks_max, "job {} failed because of a GPU of {}", row.id, to_string(key));
  } else {
    require(!truth.gpu_error_heard || truth.other_end_heard, "{} ended by a GPU error, the database says {}",
            to_string(key), event.text);
    require(failure_of(truth) == event.text, "{} failed by {}, the database says {}", to_string(key), failure_of(truth),
            event.text);
    require(!was_interrupted(life), "job {} failed though {} was only interrupted", row.id, to_string(key));
    require(!truth.end || truth.end->exit_code == row.exit_code, "{} ended with {}, the database says {}",
            to_string(key), truth.end->exit_code.value_or(-1), row.exit_code.value_or(-1));
    require(row.exit_code != again_code || life.waits >= asks_max, "job {} asked to be started again and failed",
            row.id);
  }
  // One that was back too often may have been tried again for that.
  require(life.waits >= asks_max || life.retried + life.lost >= life.spec.retry.max ||
              !wants_retry(life.spec.retry, event.text, row.exit_code),
          "job {} failed by {} though it may be tried again", row.id, event.text);
}

void Judge::check_row(Life& life, const store::JobRow& row) const {
  require(!life.row.finished_us || (row.finished_us && life.row.state == row.state),
          "job {} was {} for good and is {} now", row.id, life.row.state, row.state);
  require(row.state == life.state && row.attempt == life.attempt,
          "job {} is {} with attempt {}, by its history {} with {}", row.id, row.state, row.attempt, life.state,
          life.attempt);
  require(row.finished_us.has_value() == is_final(row.state), "job {} is {} and has {}ended", row.id, row.state,
          row.finished_us ? "" : "not ");
  check_progress(life, row);
  life.row = row;
}

// Reports say of what they are (ServerNode::send_progress).
void Judge::check_progress(const Life& life, const store::JobRow& row) const {
  if (row.progress_json == life.row.progress_json) return;
  const auto attempt_of = [](const std::string& json) -> std::pair<AttemptKey, std::int64_t> {
    if (json.empty()) return {};
    const auto step = static_cast<std::int64_t>(boost::json::parse(json).at("step").to_number<double>());
    return {{step / 1'000'000'000, static_cast<int>(step / 1'000'000 % 1'000)}, step};
  };
  const auto [key, step] = attempt_of(row.progress_json);
  require(key.job == row.id && key.attempt <= row.attempt, "the progress of {} is recorded as that of {}.{}",
          to_string(key), row.id, row.attempt);
  require(attempt_of(life.row.progress_json).first <= key, "job {} goes back to the progress of {}", row.id,
          to_string(key));
  require(step <= truth_of(key).steps_told, "job {} has done steps that nobody has told of", row.id);
}

}  // namespace sl::dst
