// What Prometheus reads from GET /metrics (docs/guide/monitoring.md): counts since the controller started, and how things
// stand. Only the sample that says which job has which GPU names jobs, so that the number of series stays bounded.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/record.h"

namespace sl::controller {

// Observations by size, in buckets with these upper bounds, and their sum.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  std::int64_t below(std::size_t bound) const;  // observations up to bounds()[bound]
  std::int64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;  // ascending
  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  double sum_ = 0;
};

// What has become of jobs since the controller started.
class JobTotals {
 public:
  // `job`: the record's, as it is after it.
  void note(const Record& record, const Job& job);

  std::map<std::string, std::int64_t> finished = {{"cancelled", 0}, {"failed", 0}, {"succeeded", 0}};
  std::int64_t preemptions = 0, migrations = 0, resizes = 0;
  std::int64_t deadlines_met = 0, deadlines_missed = 0;  // of jobs that had one and were not cancelled
  Histogram wait_s{{1, 10, 60, 300, 1'800, 3'600, 14'400, 86'400}};  // until the first start
  Histogram run_s{{1, 10, 60, 300, 1'800, 3'600, 14'400, 86'400}};   // of jobs that have ended
};

// How long requests took until their answer began. Any thread may use it.
class HttpTimes {
 public:
  void observe(const std::string& method, int status, Duration time);
  // By method and kind of status ("2xx").
  std::map<std::pair<std::string, std::string>, Histogram> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Histogram> times_;
};

class Logic;
std::string metrics_text(const Logic& logic, const HttpTimes& http);

}  // namespace sl::controller
