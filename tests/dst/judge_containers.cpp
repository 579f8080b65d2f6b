// What runs in containers of jobs, and how it is said to have ended.
#include <sys/wait.h>

#include <algorithm>

#include "dst/judge.h"

namespace sl::dst {

// Once, while its attempt is there and does not stand still.
void Judge::container_begins(const std::string& key) {
  AttemptTruth& truth = truth_.attempts[attempt_of(key)];
  const auto attempt =
      std::ranges::find_if(truth_.running, [&](const auto& item) { return item.second.key == attempt_of(key); });
  require(attempt != truth_.running.end(), "the container of {} runs though the attempt is over", key);
  require(!attempt->second.frozen, "{} is frozen, and its container begins to run", key);
  require(truth.container && !truth.container->has_begun, "the container of {} runs twice", key);
  truth.container->has_begun = true;
}

void Judge::container_ended(const std::string& key, int status, bool ran_out_of_memory, bool is_written) {
  ContainerTruth& truth = *truth_.attempts[attempt_of(key)].container;
  truth.has_ended = true, truth.status = status, truth.ran_out_of_memory = ran_out_of_memory;
  truth.end_is_written = is_written;
}

bool Judge::has_containers(std::int64_t job) const {
  return std::ranges::any_of(truth_.attempts,
                             [&](const auto& item) { return item.first.job == job && item.second.container; });
}

void Judge::memory_was_told(const std::string& key) {
  truth_.attempts[attempt_of(key)].container->memory_was_told = true;
}

void Judge::container_reported(const std::string& key, const container::Outcome& outcome) const {
  const AttemptTruth& truth = truth_of(attempt_of(key));
  const ContainerTruth& ended = *truth.container;
  const std::string& kind = outcome.failure_kind;
  require(outcome.may_have_begun || !ended.has_begun, "{} is said never to have begun", key);
  if (kind == "server_setup") {
    require(!ended.has_begun, "{} is said never to have run: {}", key, outcome.failure_message);
  } else if (kind == "setup") {
    require(ended.has_refused, "{} is said to be wrong: {}", key, outcome.failure_message);
  } else if (kind == "lost") {
    require(!ended.end_is_written && !ended.memory_was_told, "how {} ended is known, and is not told", key);
  } else if (kind == "out_of_memory") {
    require(ended.has_ended && ended.ran_out_of_memory, "{} is said to have run out of memory", key);
  } else if (!ended.has_begun) {
    require(outcome.signal && (truth.stop_was_ordered || truth.lease_ended_it),
            "{} has not begun, and is said to have ended", key);
  } else {
    const int status = outcome.signal ? *outcome.signal : outcome.exit_code.value_or(-1) << 8;
    require(ended.has_ended && ended.end_is_written && ended.status == status && !ended.ran_out_of_memory,
            "{} ended with {:#x}, and {:#x} is told", key, ended.status, status);
  }
}

// What the report says counts, whoever has seen the end. Without it: that of the program which ran the container, unless
// that says itself that it failed.
agent::LauncherState Judge::end_of_container(const agent::LauncherState& state,
                                             const std::optional<container::Outcome>& report) const {
  agent::LauncherState end = state;
  if (report) {
    end.exit_code = report->exit_code, end.signal = report->signal, end.failure_kind = report->failure_kind;
  } else if (state.exit_code == container::failed_code) {
    end.exit_code.reset();
    end.failure_kind = "lost";
  }
  return end;
}

// As the agent reports it; only a GPU's failure explains it in another way. What the database knows already, an agent may
// report once more though the report of its container was removed.
void Judge::check_container_end(const wire::AttemptReport& report) const {
  const agent::LauncherState& end = *truth_of({report.incarnation.job, report.incarnation.attempt}).end;
  const std::string kind = report.failure_kind.value_or("");
  const Life* life = find(report.incarnation.job);
  const bool is_news = life && life->row.attempt == report.incarnation.attempt && is_active(life->row.state);
  if (!is_news || kind == "gpu_error" || kind == "lost") return;
  require(report.exit_code == end.exit_code && report.signal == end.signal && kind == end.failure_kind,
          "{}.{} ended with {} in its container, and the agent reports exit code {} {}", report.incarnation.job,
          report.incarnation.attempt, end.failure_kind.empty() ? "its own end" : end.failure_kind,
          report.exit_code.value_or(-1), kind);
}

}  // namespace sl::dst
