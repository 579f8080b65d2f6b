#include "controller/attempt_meter.h"

#include <algorithm>

namespace sl::controller {
namespace {

constexpr std::int64_t window_first_us = 2'000'000;
constexpr std::int64_t window_max_us = 600'000'000;

}  // namespace

bool AttemptMeter::begin(int attempt, JobId neighbour) {
  const bool is_another = attempt != attempt_;
  if (!is_another && neighbour == neighbour_) return false;
  attempt_ = attempt;
  neighbour_ = neighbour;
  begin_again();
  return is_another;
}

void AttemptMeter::begin_again() {
  const int attempt = attempt_;
  const JobId neighbour = neighbour_;
  *this = {};
  attempt_ = attempt;
  neighbour_ = neighbour;
  window_us_ = window_first_us;
}

void AttemptMeter::on_count(double count, std::int64_t at_us) {
  if (first_.at_us == 0 || count < last_.count) {  // it continues from an earlier step
    first_ = window_first_ = last_ = {count, at_us};
  } else if (count > last_.count && at_us > last_.at_us) {
    last_ = {count, at_us};
  }
}

void AttemptMeter::on_gpus(std::optional<double> utilization_pct, std::optional<std::int64_t> memory_used_bytes) {
  for (Load* load : {&load_, &window_load_}) {
    if (utilization_pct) load->utilization_sum += *utilization_pct, ++load->samples;
    load->memory_max = std::max(load->memory_max, memory_used_bytes);
  }
}

std::optional<double> AttemptMeter::rate(const Point& from, const Point& to) {
  if (from.at_us == 0 || to.at_us <= from.at_us || to.count <= from.count) return std::nullopt;
  return (to.count - from.count) / (static_cast<double>(to.at_us - from.at_us) * 1e-6);
}

std::optional<AttemptMeter::Measured> AttemptMeter::take(std::int64_t now_us) {
  if (window_begin_us_ == 0) window_begin_us_ = now_us;
  if (now_us - window_begin_us_ < window_us_) return std::nullopt;
  const Measured measured{rate(window_first_, last_), window_load_.mean(), window_load_.memory_max};
  // If the job reports steps or epochs, the other figures wait for its speed.
  if (first_.at_us != 0 ? !measured.per_s : !measured.gpu_utilization_pct && !measured.gpu_memory_used_bytes)
    return std::nullopt;
  window_first_ = last_;
  window_load_ = {};
  window_begin_us_ = now_us;
  window_us_ = std::min(2 * window_us_, window_max_us);
  return measured;
}

std::optional<double> AttemptMeter::per_s() const { return rate(first_, last_); }
double AttemptMeter::measured_s() const { return static_cast<double>(last_.at_us - first_.at_us) * 1e-6; }
std::optional<double> AttemptMeter::gpu_utilization_pct() const { return load_.mean(); }
std::optional<std::int64_t> AttemptMeter::gpu_memory_used_bytes() const { return load_.memory_max; }

std::optional<double> AttemptMeter::start_up_s(std::int64_t started_us, double before) const {
  const auto speed = per_s();
  if (!speed || started_us == 0) return std::nullopt;
  return std::max(0.0, static_cast<double>(first_.at_us - started_us) * 1e-6 - before / *speed);
}

}  // namespace sl::controller
