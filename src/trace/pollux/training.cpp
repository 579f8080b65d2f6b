#include "trace/pollux/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sl::trace {
namespace {

constexpr std::int64_t restart_s = 30;
constexpr int gpus_per_server = 4;

// Rounded up, with the tolerance of the original.
int rounded_up(double value) { return static_cast<int>(std::ceil(value - 1e-8)); }

}  // namespace

Result<PolluxTraining> PolluxTraining::of(const std::string& application, int batch) {
  const PolluxApplication* found = find_pollux_application(application);
  if (!found)
    return invalid("semantics-trace",
                   "there are no measurements of " + (application.empty() ? "a training without a name" : application))
        .note(fmt::format("of these there are: {}", fmt::join(pollux_applications(), ", ")));
  if (batch < found->batch_min() || batch > found->batch_max())
    return invalid("semantics-trace", fmt::format("{} was not measured with a batch of {}", application, batch))
        .note(fmt::format("batches from {} to {} were", found->batch_min(), found->batch_max()));
  return PolluxTraining(*found, application, batch);
}

void PolluxTraining::choose_passes() {
  const int local = rounded_up(static_cast<double>(batch_) / gpus_);
  passes_ = rounded_up(static_cast<double>(local) / application_->local_batch_max);
  if (gpus_ == 1 && batch_ > application_->batch_min()) passes_ = std::max(2, passes_);
  local_batch_ =
      std::min(rounded_up(static_cast<double>(local) / passes_), application_->batch_max() / (gpus_ * passes_));
}

Status PolluxTraining::place(std::vector<int> gpus_by_server) {
  gpus_ = std::accumulate(gpus_by_server.begin(), gpus_by_server.end(), 0);
  if (gpus_ == 0) return {};
  choose_passes();
  const auto time = application_->step_times.at(gpus_by_server, local_batch_);
  if (!time || gpus_ * local_batch_ * passes_ < application_->batch_min())
    return invalid(
        "semantics-trace",
        fmt::format("{} was not measured with a batch of {} on {} GPU{} of {}", name_, batch_,
                    fmt::join(gpus_by_server, "+"), gpus_ == 1 ? "" : "s",
                    gpus_by_server.size() == 1 ? "one server" : fmt::format("{} servers", gpus_by_server.size())));
  time_ = *time;
  pause_s_ = restart_s;
  return {};
}

double PolluxTraining::progress_per_second() const {
  const int batch = gpus_ * local_batch_ * passes_;
  const double scale = static_cast<double>(batch) / application_->batch_min();
  const auto [norm_squared, variance] = application_->noise(batch, epochs_done_);
  const double gain = (variance + norm_squared) / (variance / scale + norm_squared);
  return gain / (time_.step_s + (time_.step_s - time_.sync_s) * (passes_ - 1));
}

void PolluxTraining::run(std::int64_t seconds) {
  if (!has_gpus() || done_after_s_) {
    passed_s_ += seconds;
    return;
  }
  const std::int64_t paused = std::min(pause_s_, seconds);
  pause_s_ -= paused;
  passed_s_ += paused;
  seconds -= paused;
  while (seconds > 0 && !done_after_s_) {
    const double per_second = progress_per_second();
    const double epoch_end = application_->progress_after(epochs_done_ + 1);
    std::int64_t step = seconds;
    if (progress_ + per_second * static_cast<double>(seconds) < epoch_end) {
      progress_ += per_second * static_cast<double>(seconds);
    } else {
      step = static_cast<std::int64_t>(std::nearbyint((epoch_end - progress_) / per_second));
      progress_ = epoch_end;
      if (++epochs_done_ >= application_->epochs) done_after_s_ = passed_s_ + step;
    }
    passed_s_ += step;
    seconds -= step;
  }
  passed_s_ += seconds;
}

Result<std::int64_t> PolluxTraining::length_s(const std::string& application, int batch, int gpus) {
  Result<PolluxTraining> training = of(application, batch);
  if (!training.ok()) return training.error();
  std::vector<int> servers(static_cast<std::size_t>(gpus / gpus_per_server), gpus_per_server);
  if (gpus % gpus_per_server > 0) servers.push_back(gpus % gpus_per_server);
  if (Status placed = training->place(servers); !placed.ok()) return placed.error();
  while (!training->done_after_s()) training->run(60);
  return *training->done_after_s() - restart_s;
}

}  // namespace sl::trace
