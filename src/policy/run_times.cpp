#include "policy/run_times.h"

#include <algorithm>
#include <cmath>

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

void RunTimes::learn(const Snapshot& snapshot) {
  reader_.read(
      snapshot.history, [this] { forget(); }, [this](const FinishedJob& job) { add(job); });
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

double RunTimes::guess_s(const Job& job) {
  guessed_ = true;
  const JobRequest& request = job.request;
  if (request.family.valid()) {
    if (const auto at = by_user_.find(pair_key(request.user.value, request.family.value)); at != by_user_.end())
      return at->second.sum_s / static_cast<double>(at->second.count);
    const auto width = pair_key(static_cast<std::uint32_t>(request.gpus), request.family.value);
    if (const auto at = by_width_.find(width); at != by_width_.end())
      return at->second.sum_s / static_cast<double>(at->second.count);
  }
  if (!sorted_s_.empty()) return sorted_s_[sorted_s_.size() / 2];
  return default_.to_seconds();
}

Duration RunTimes::bounded(double seconds) {
  constexpr double century_s = 3.2e9;
  if (!(seconds > 0)) return {};
  return Duration::seconds(std::min(seconds, century_s));
}

// A job whose speed on that many GPUs is unknown counts as fast as on those it asks for.
Duration RunTimes::total(const Snapshot& snapshot, const Job& job, int gpus) {
  Figure known = snapshot.estimates.run_time_s(job, gpus);
  if (!known.known() && gpus != job.request.gpus) known = snapshot.estimates.run_time_s(job, job.request.gpus);
  return bounded(known.known() ? known.value : guess_s(job));
}

Duration RunTimes::remaining(const Snapshot& snapshot, const Job& job, int gpus) {
  Figure known = snapshot.estimates.remaining_s(job, gpus, snapshot.now);
  if (!known.known() && gpus != job.request.gpus)
    known = snapshot.estimates.remaining_s(job, job.request.gpus, snapshot.now);
  if (known.known()) return bounded(known.value);
  const double ran_s = job.run_at(snapshot.now).to_seconds();
  return bounded(std::max(guess_s(job) - ran_s, 0.1 * ran_s));  // not "about to finish" for ever
}

Duration RunTimes::remaining_serial(const Snapshot& snapshot, const Job& job) {
  const Figure serial = snapshot.estimates.remaining_s(job, 1, snapshot.now);
  if (serial.known()) return bounded(serial.value);
  const int gpus = job.request.gpus;
  const double faster = snapshot.estimates.speedup(job, gpus).value_or(gpus);
  return bounded(remaining(snapshot, job, gpus).to_seconds() * faster);
}

}  // namespace sl
