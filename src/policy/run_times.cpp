#include "policy/run_times.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace sl {
namespace {

std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }

}  // namespace

void RunTimes::forget() {
  by_user_.clear();
  by_width_.clear();
  sorted_s_.clear();
}

void RunTimes::reset() {
  forget();
  reader_.reset();
  guessed_ = false;
}

void RunTimes::add(const FinishedJob& job) {
  if (!job.succeeded) return;
  const double run_s = job.run.to_seconds();
  const auto count = [run_s](Mean& mean) {
    mean.sum_s += run_s;
    ++mean.count;
  };
  if (job.family.valid()) {
    count(by_user_[pair_key(job.user.value, job.family.value)]);
    count(by_width_[pair_key(static_cast<std::uint32_t>(job.gpus), job.family.value)]);
  }
  sorted_s_.insert(std::upper_bound(sorted_s_.begin(), sorted_s_.end(), run_s), run_s);
}

// Reads finished jobs only here, when a guess is needed: if all run times are known, it never is.
RunTimes::Guess RunTimes::guess(const View& view, const Job& job) {
  reader_.read(
      view.history, [this] { forget(); }, [this](const FinishedJob& finished) { add(finished); });
  const JobRequest& request = job.request;
  if (request.family.valid()) {
    if (const auto at = by_user_.find(pair_key(request.user.value, request.family.value)); at != by_user_.end())
      return {at->second.value(), "by its user's finished jobs of its family"};
    const auto width = pair_key(static_cast<std::uint32_t>(request.gpus), request.family.value);
    if (const auto at = by_width_.find(width); at != by_width_.end())
      return {at->second.value(), "by finished jobs of its family on as many GPUs"};
  }
  if (!sorted_s_.empty()) return {sorted_s_[sorted_s_.size() / 2], "by the median of all finished jobs"};
  return {default_.to_seconds(), "by the policy's default, as nothing is known"};
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

std::string RunTimes::standing(const View& view, const Job& job, int gpus) const {
  RunTimes copy(*this);
  const Duration left = copy.remaining(view, job, gpus);
  const bool is_known = view.estimates.remaining_s(job, gpus, view.now).known();
  return "about " + duration_text(left.to_seconds()) + " left on " + std::to_string(gpus) +
         (gpus == 1 ? " GPU, " : " GPUs, ") + (is_known ? "by its own estimate" : copy.guess(view, job).from);
}

}  // namespace sl
