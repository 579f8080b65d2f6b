// How fast one attempt progresses and how busy its GPUs are, from its reports. Figures are given out over windows that
// double in length, so that a training of days causes a few dozen decisions, and each figure is based on more data than
// the one before.
#pragma once

#include <cstdint>
#include <optional>

#include "model/ids.h"

namespace sl::controller {

class AttemptMeter {
 public:
  struct Measured {
    std::optional<double> per_s;  // steps or epochs per second, in the window
    std::optional<double> gpu_utilization_pct;
    std::optional<std::int64_t> gpu_memory_used_bytes;
  };

  // Begins again for another attempt, or when another job starts or stops sharing its GPUs. Returns whether it is
  // another attempt.
  bool begin(int attempt, JobId neighbour);
  // The attempt stands still for a while, which is no part of its speed.
  void begin_again();
  // That many steps (or epochs, never both) were finished at this time of the agent's clock.
  void on_count(double count, std::int64_t at_us);
  // Its GPUs, while no other job shares them: mean utilization, and memory used on the fullest one.
  void on_gpus(std::optional<double> utilization_pct, std::optional<std::int64_t> memory_used_bytes);
  // The figures of the window that has ended. Nothing before that, and nothing if nothing was reported in it.
  std::optional<Measured> take(std::int64_t now_us);

  // Over the whole time since the first report; nothing before the second report.
  std::optional<double> per_s() const;
  double measured_s() const;
  std::optional<double> gpu_utilization_pct() const;
  std::optional<std::int64_t> gpu_memory_used_bytes() const;
  // From the start of the attempt to its first step, which was `before` steps before the first report.
  std::optional<double> start_up_s(std::int64_t started_us, double before) const;
  double first_count() const { return first_.count; }
  double last_count() const { return last_.count; }  // 0: nothing was reported

 private:
  struct Point {
    double count = 0;
    std::int64_t at_us = 0;  // 0: none yet
  };
  struct Load {
    double utilization_sum = 0;
    int samples = 0;
    std::optional<std::int64_t> memory_max;
    std::optional<double> mean() const { return samples > 0 ? std::optional(utilization_sum / samples) : std::nullopt; }
  };
  static std::optional<double> rate(const Point& from, const Point& to);

  int attempt_ = 0;
  JobId neighbour_;
  Point first_, window_first_, last_;
  Load load_, window_load_;
  std::int64_t window_begin_us_ = 0;  // 0: the next report begins it
  std::int64_t window_us_ = 0;
};

}  // namespace sl::controller
