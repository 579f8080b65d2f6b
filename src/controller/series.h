// What GPUs and the queue did over the last day, one value per minute: REST's `…/metrics`. Kept in memory, so it begins
// anew with the controller. Lives on the core's thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "controller/logic.h"

namespace sl::controller {

// The means of the minutes of the last day; those without a sample are unknown. 6 KB.
class MinuteRing {
 public:
  static constexpr std::int64_t minutes_max = 24 * 60;
  // `minute`: since 1970; they never go back.
  void add(std::int64_t minute, double value);
  std::optional<double> at(std::int64_t minute) const;

 private:
  void close();
  std::array<float, minutes_max> means_ = unknown();
  std::int64_t minute_ = -1;  // the one that is being measured
  double sum_ = 0;
  int count_ = 0;
  static std::array<float, minutes_max> unknown();
};

class Series {
 public:
  struct Line {
    std::string name;
    std::map<std::string, std::string> labels;
    std::vector<std::optional<double>> values;
  };
  struct Piece {
    std::int64_t from_us = 0, to_us = 0, step_s = 60;
    std::vector<Line> lines;
  };

  // Measures if it is time; called as often as you like.
  void sample(const Logic& logic, Instant now);

  // The last `hours`, in at most a thousand steps of whole minutes.
  Piece cluster(Instant now, std::int64_t hours) const;
  // Of each server the means of its GPUs, and how many jobs hold, in at most a hundred steps.
  Piece servers(Instant now, std::int64_t hours) const;
  Piece server(const std::string& name, Instant now, std::int64_t hours) const;
  // The GPUs of the job's latest attempt, while it had them, and the CPUs of their servers; what it reported of its
  // training in that time, of the latest few hundred jobs that ran.
  Piece job(const JobEntry& entry, Instant now, std::int64_t hours) const;

  // What was measured of these GPUs between two times, as far as it is still known.
  struct Spent {
    double energy_joules = 0, powered_s = 0;  // seconds in which the power of a GPU is known, of all GPUs together
    std::optional<double> memory_bytes_peak;  // the highest mean of a minute on any of them
  };
  Spent spent(const std::string& server, GpuSet gpus, std::int64_t from_us, std::int64_t to_us) const;

 private:
  enum Metric { utilization, memory, temperature, power };
  using Rings = std::map<std::string, MinuteRing>;  // by name
  using GpuRings = std::array<MinuteRing, 4>;       // by Metric
  struct GpuMeans {                                 // of all GPUs of a server
    MinuteRing utilization, allocated;
  };
  static Piece frame(Instant now, std::int64_t hours, std::int64_t steps_most);
  template <typename Key>
  static void add_rings(Piece& piece, const std::map<Key, Rings>& all, const Key& of,
                        const std::map<std::string, std::string>& labels, std::int64_t first_minute,
                        std::int64_t last_minute) {
    const auto found = all.find(of);
    if (found == all.end()) return;
    for (const auto& [name, ring] : found->second)
      piece.lines.push_back(line(piece, name, labels, ring, first_minute, last_minute));
  }
  static Line line(const Piece& piece, std::string name, std::map<std::string, std::string> labels,
                   const MinuteRing& ring, std::int64_t first_minute, std::int64_t last_minute);
  void add_gpus(Piece& piece, const std::string& server, const std::optional<std::vector<int>>& only,
                std::int64_t first_minute, std::int64_t last_minute) const;
  void sample_gpus(const Logic& logic, std::int64_t minute);
  void sample_servers(const Logic& logic, std::int64_t minute);
  void sample_jobs(const Logic& logic, std::int64_t minute);

  Instant sampled_;
  std::map<std::string, std::map<int, GpuRings>> gpus_;  // by server and index
  std::map<std::string, GpuMeans> gpu_means_;            // by server
  Rings cluster_;
  std::map<std::string, Rings> servers_;
  std::map<std::int64_t, Rings> jobs_;
};

}  // namespace sl::controller
