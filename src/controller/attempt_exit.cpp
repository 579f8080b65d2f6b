#include "controller/attempt_exit.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/requeues.h"

namespace sl::controller {

bool matches_retry(const wire::RetrySpec& retry, const Exit& exit) {
  if (exit.failure == FailureKind::time_limit)
    return false;  // it is the job's, so a further attempt would have none left
  return std::any_of(retry.on.begin(), retry.on.end(), [&](const std::string& on) {
    return on == "any" || on == to_string(exit.failure) || on == fmt::format("exit:{}", exit.exit_code);
  });
}

bool never_ran(FailureKind failure) { return failure == FailureKind::setup || failure == FailureKind::server_setup; }

bool asks_again(const Exit& exit) {
  return exit.exit_code == exit_code_again && exit.failure != FailureKind::time_limit;
}

bool is_server_fault(FailureKind failure) {
  return failure == FailureKind::server_lost || failure == FailureKind::server_setup ||
         failure == FailureKind::gpu_error;
}

bool has_started(const wire::AttemptReport& report) {
  if (report.state == "exited") return report.started_us && !never_ran(exit_of(report).failure);
  return report.state != "starting" && report.state != "prepared";
}

bool was_interrupted(const wire::AttemptReport& report) {
  return report.stopped_by || exit_of(report).failure == FailureKind::server_lost;
}

Exit exit_of(const wire::AttemptReport& report) {
  Exit exit;
  exit.exit_code = report.exit_code.value_or(0);
  exit.signal = report.signal.value_or(0);
  if (report.failure_kind) {
    exit.failure = parse_failure_kind(*report.failure_kind == "lost" ? "server_lost" : *report.failure_kind)
                       .value_or(FailureKind::exit);
  } else if (exit.signal != 0) {
    exit.failure = FailureKind::signal;
  } else if (exit.exit_code != 0) {
    exit.failure = FailureKind::exit;
  }
  return exit;
}

std::string describe_failure(const Exit& exit, const wire::AttemptReport& report) {
  if (report.failure_message && !report.failure_message->empty()) return *report.failure_message;
  switch (exit.failure) {
    case FailureKind::none:
      return "";
    case FailureKind::signal:
      return fmt::format("ended by signal {}", exit.signal);
    case FailureKind::time_limit:
      return "it ran longer than its time limit";
    case FailureKind::server_lost:
      return "its process vanished and its exit code is not known";
    case FailureKind::server_setup:
      return "its server could not start it";
    case FailureKind::gpu_error:
      return "it ended when a GPU it had failed";
    default:
      return fmt::format("exit code {}", exit.exit_code);
  }
}

std::string describe_final_failure(const Exit& exit, const wire::AttemptReport& report) {
  const std::string too_often = fmt::format("more than {} times in a row, each time after less than {:.0f} s",
                                            Requeues::quick_max, Requeues::quick.to_seconds());
  if (asks_again(exit) && !is_server_fault(exit.failure))
    return fmt::format("it asked to be started again (exit code {}) {}", exit_code_again, too_often);
  const std::string text = describe_failure(exit, report);
  return is_server_fault(exit.failure) ? text + "; this happened " + too_often : text;
}

}  // namespace sl::controller
