#include "controller/gang.h"

#include <algorithm>

#include "base/check.h"
#include "controller/attempt_exit.h"

namespace sl::controller {
namespace {

// How much an end says about why the attempt ended: most a failure of the training itself, then a part that is lost or
// whose lease was over; least one that was stopped, perhaps because of another part. 0: it succeeded.
int weight(const wire::AttemptReport& end) {
  const Exit exit = exit_of(end);
  const bool succeeded = exit.failure == FailureKind::none;
  if (end.stopped_by) return *end.stopped_by == "lease" ? 3 : succeeded ? 1 : 2;
  return succeeded ? 0 : exit.failure == FailureKind::server_lost ? 4 : 5;
}

wire::AttemptReport lost_end() {
  wire::AttemptReport end;
  end.state = "exited";
  end.failure_kind = to_string(FailureKind::server_lost);
  return end;
}

}  // namespace

void Gang::on_report(int rank, const wire::AttemptReport& report) {
  Part& part = parts_[static_cast<std::size_t>(rank)];
  if (report.state == "prepared") part.is_prepared = true, part.port = report.port;
  if (controller::has_started(report)) part.has_started = true;
  if (report.state == "exited") part.end = report;
  part.is_missing = false;
  if (is_launched_ || !has_begun()) return;
  // It began under a controller that is gone: a part that its agent does not have has no others to meet any more.
  for (std::size_t other = 0; other < parts_.size(); ++other) {
    if (parts_[other].is_missing) lose(static_cast<int>(other));
  }
}

void Gang::lose(int rank) {
  Part& part = parts_[static_cast<std::size_t>(rank)];
  if (!part.end) part.end = lost_end();
}

bool Gang::has_begun() const { return is_launched_ || std::ranges::any_of(parts_, &Part::has_started); }

bool Gang::is_ready() const { return !has_begun() && !is_broken() && std::ranges::all_of(parts_, &Part::is_prepared); }

bool Gang::has_started() const { return std::ranges::all_of(parts_, &Part::has_started); }

bool Gang::has_told_end(int rank) const {
  const auto& end = parts_[static_cast<std::size_t>(rank)].end;
  return end && end->incarnation.job != 0;
}

bool Gang::has_ended() const {
  return std::ranges::all_of(parts_, [](const Part& part) { return part.end.has_value(); });
}

std::optional<int> Gang::rank_of_failure() const {
  std::optional<int> worst;
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    const auto& end = parts_[rank].end;
    if (!end || weight(*end) == 0) continue;
    const auto precedes = [&](const wire::AttemptReport& other) {
      if (weight(*end) != weight(other)) return weight(*end) > weight(other);
      return end->ended_us.value_or(0) < other.ended_us.value_or(0);
    };
    if (!worst || precedes(*parts_[static_cast<std::size_t>(*worst)].end)) worst = static_cast<int>(rank);
  }
  return worst;
}

bool Gang::is_broken() const {
  const auto cannot_follow = [](const Part& part) { return part.is_prepared && !part.has_started && !part.end; };
  const bool began_before = !is_launched_ && has_begun();
  return rank_of_failure().has_value() || (began_before && std::ranges::any_of(parts_, cannot_follow));
}

const wire::AttemptReport& Gang::outcome() const {
  SL_CHECK(has_ended(), "an attempt ends with its last part");
  return *parts_[static_cast<std::size_t>(rank_of_failure().value_or(0))].end;
}

}  // namespace sl::controller
