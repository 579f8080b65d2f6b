#include "dst/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace sl::dst {

void Judge::started(std::int64_t process, Running running) {
  for (const auto& [pid, other] : running_) {
    if (other.job == running.job)
      throw Violation(fmt::format("job {} runs twice: attempt {} on server {} and attempt {} on server {}", running.job,
                                  other.attempt, other.server, running.attempt, running.server));
    if (other.server != running.server) continue;
    for (const int gpu : running.gpus) {
      if (std::find(other.gpus.begin(), other.gpus.end(), gpu) != other.gpus.end())
        throw Violation(
            fmt::format("GPU {} of server {} has jobs {} and {}", gpu, running.server, other.job, running.job));
    }
  }
  if (final_.count(running.job) != 0)
    throw Violation(fmt::format("job {} runs again though it is {}", running.job, final_[running.job]));
  running_.emplace(process, std::move(running));
}

void Judge::durable(const store::JobRow& row) {
  const auto before = final_.find(row.id);
  if (before != final_.end() && before->second != row.state)
    throw Violation(fmt::format("job {} was {} for good and is {} now", row.id, before->second, row.state));
  if (row.finished_us) final_[row.id] = row.state;
}

void Judge::accepted(const std::string& key, std::int64_t job) {
  const auto [at, is_new] = accepted_.emplace(key, job);
  if (at->second != job) throw Violation(fmt::format("submission {} became jobs {} and {}", key, at->second, job));
  for (const auto& [other, id] : accepted_) {
    if (id == job && other != key) throw Violation(fmt::format("job {} answers two submissions", job));
  }
}

bool Judge::all_ended(const std::map<std::int64_t, store::JobRow>& rows) const {
  return std::all_of(accepted_.begin(), accepted_.end(), [&](const auto& item) {
    const auto row = rows.find(item.second);
    if (row == rows.end()) throw Violation(fmt::format("job {} was accepted and is not in the database", item.second));
    return row->second.finished_us.has_value();
  });
}

void Judge::check_ends(const std::map<std::int64_t, store::JobRow>& rows) const {
  for (const auto& [key, id] : accepted_) {
    const store::JobRow& row = rows.at(id);
    const auto exit = exits_.find({id, row.attempt});
    if (exit == exits_.end()) {
      if (row.state == "succeeded") throw Violation(fmt::format("job {} succeeded though no process did", id));
      continue;
    }
    if (row.failure_kind == "time_limit") continue;  // whatever it said when it was asked to stop
    const char* due = exit->second == 0 ? "succeeded" : "failed";
    if (row.state != due && row.state != "cancelled")
      throw Violation(
          fmt::format("job {} is {} though attempt {} ended with {}", id, row.state, row.attempt, exit->second));
    if (row.state == "failed" && row.exit_code != exit->second)
      throw Violation(
          fmt::format("job {} ended with {}, the database says {}", id, exit->second, row.exit_code.value_or(-1)));
  }
}

}  // namespace sl::dst
