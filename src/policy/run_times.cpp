#include "policy/run_times.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace sl {
namespace {

RunTimeHistory::Kind kind(UserIndex user, FamilyIndex family, int gpus) {
  return {.user = user.value, .family = family.value, .gpus = gpus};
}

std::string name_of(RunTimeHistory::Likeness likeness, bool has_family) {
  const std::string of_its_family = has_family ? " of its family" : "";
  switch (likeness) {
    case RunTimeHistory::Likeness::user_family_gpus:
      return "by its user's finished jobs" + of_its_family + " on as many GPUs";
    case RunTimeHistory::Likeness::user_family:
      return "by its user's finished jobs" + of_its_family;
    case RunTimeHistory::Likeness::family_gpus:
      return "by finished jobs" + of_its_family + " on as many GPUs";
    case RunTimeHistory::Likeness::all:
      break;
  }
  return "by the latest finished jobs";
}

}  // namespace

RunTimeHistory::Kind RunTimes::kind_of(const Job& job) {
  return kind(job.request.user, job.request.family, job.request.gpus);
}

void RunTimes::reset() {
  history_.clear();
  reader_.reset();
  guessed_ = false;
}

// Reads finished jobs only here, when a guess is needed: if all run times are known, it never is.
std::optional<RunTimeHistory::Guess> RunTimes::guess(const View& view, const RunTimeHistory::Kind& of) {
  const auto add = [this](const FinishedJob& finished) {
    if (finished.succeeded)
      history_.add(kind(finished.user, finished.family, finished.gpus), finished.run.to_seconds(),
                   finished.ended.to_seconds());
  };
  reader_.read(
      view.history, [this] { history_.clear(); }, add);
  return history_.guess(of);
}

double RunTimes::guess_s(const View& view, const Job& job) {
  guessed_ = true;
  return guess_s(view, kind_of(job));
}

double RunTimes::guess_s(const View& view, const RunTimeHistory::Kind& of) {
  const auto guessed = guess(view, of);
  return guessed ? guessed->run_s : default_.to_seconds();
}

Duration RunTimes::bounded(double seconds) {
  constexpr double century_s = 3.2e9;
  if (!(seconds > 0)) return {};
  return Duration::seconds(std::min(seconds, century_s));
}

Duration RunTimes::total(const View& view, const Job& job, int gpus) {
  const Figure known = view.estimates.run_time_s(job, gpus);
  if (known.known()) return bounded(known.value);
  return bounded(guess_s(view, job) / view.estimates.speed_curve(job).speed_on(gpus, job.request.gpus));
}

Duration RunTimes::remaining(const View& view, const Job& job, int gpus) {
  const Figure known = view.estimates.remaining_s(job, gpus, view.now);
  if (known.known()) return bounded(known.value);
  return bounded(remaining_s(job, view.estimates.speed_curve(job), guess_s(view, job), gpus, view.now));
}

// Completes "about 4m 05s left, ".
std::string RunTimes::origin(const View& view, const Job& job) {
  const auto guessed = guess(view, kind_of(job));
  if (!guessed) return "by the policy's default, as nothing is known";
  const RunTimeHistory::Range range = history_.range(*guessed);
  return name_of(guessed->from, job.request.family.valid()) + "; 8 of 10 such jobs run for " +
         duration_text(range.low_s) + " to " + duration_text(range.high_s);
}

std::string RunTimes::standing(const View& view, const Job& job, int gpus) const {
  RunTimes copy(*this);
  const Duration left = copy.remaining(view, job, gpus);
  const bool is_known = view.estimates.remaining_s(job, gpus, view.now).known();
  return "about " + duration_text(left.to_seconds()) + " left on " + std::to_string(gpus) +
         (gpus == 1 ? " GPU, " : " GPUs, ") + (is_known ? "by its own estimate" : copy.origin(view, job));
}

}  // namespace sl
