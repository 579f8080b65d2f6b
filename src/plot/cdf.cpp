#include "plot/cdf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "plot/csv.h"
#include "plot/text.h"

namespace sl::plot {
namespace {

// The columns that give a job's value: one of its own, or the difference of two in older files.
struct ValueColumns {
  std::optional<std::size_t> value, from, to;
};

Result<ValueColumns> value_columns(const CsvReader& csv, const std::string& key) {
  ValueColumns columns;
  columns.value = csv.find_column(key);
  if (columns.value) return columns;
  if (key == "jct_s" || key == "wait_s") {
    columns.from = csv.find_column("submit_s");
    columns.to = csv.find_column(key == "jct_s" ? "finish_s" : "start_s");
  }
  if (columns.from && columns.to) return columns;
  return csv.column(key).error();
}

Result<std::optional<double>> value_of(const CsvReader& csv, const ValueColumns& columns) {
  if (columns.value) return csv.number(*columns.value);
  const auto from = csv.number(*columns.from), to = csv.number(*columns.to);
  if (!from.ok()) return from.error();
  if (!to.ok()) return to.error();
  if (!*from || !*to) return std::optional<double>();
  return std::optional<double>(**to - **from);
}

constexpr double slowdown_run_least_s = 10;  // bounded slowdown (policies.md 14)

// The value of the current row, from one or two columns.
class Measure {
 public:
  static Result<Measure> make(const CsvReader& csv, const JobQuantity& quantity) {
    Measure measure;
    const bool is_ratio = quantity.word == "slowdown";
    const Result<ValueColumns> value = value_columns(csv, is_ratio ? "jct_s" : quantity.quantity.key);
    if (!value.ok()) return value.error();
    measure.value_ = *value;
    if (!is_ratio) return measure;
    const Result<ValueColumns> run = value_columns(csv, "run_s");
    if (!run.ok()) return run.error();
    measure.run_ = *run;
    return measure;
  }
  Result<std::optional<double>> operator()(const CsvReader& csv) const {
    auto value = value_of(csv, value_);
    if (!value.ok() || !*value || !run_) return value;
    const auto run = value_of(csv, *run_);
    if (!run.ok() || !*run) return run;
    return std::optional<double>(**value / std::max(**run, slowdown_run_least_s));
  }

 private:
  ValueColumns value_;
  std::optional<ValueColumns> run_;
};

bool spans_decades(const std::vector<JobSample>& samples) {
  double low = INFINITY, high = 0;
  for (const JobSample& sample : samples) {
    if (sample.values.empty()) continue;
    low = std::min(low, std::max(percentile(sample.values, 0.05), 1e-3));
    high = std::max(high, sample.values.back());
  }
  return high > 100 * low;
}

Range range_of(const std::vector<JobSample>& samples, bool is_log) {
  Range range{INFINITY, 0};
  for (const JobSample& sample : samples) {
    for (const double value : sample.values) {
      if (value > 0) range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  if (!is_log) return {0, range.high > 0 ? range.high : 1};
  if (!(range.high > 0)) return {0.1, 1};
  range.low = std::max(range.low, range.high * 1e-7);
  return range.low < range.high ? range : Range{range.low / 2, range.high * 2};
}

std::string value_text(const JobQuantity& quantity, double most, double value) {
  return quantity.quantity.unit == Unit::seconds ? text_in(time_unit(most), value) : figure_text(value);
}

double largest(const std::vector<JobSample>& samples) {
  double most = 0;
  for (const JobSample& sample : samples) {
    if (!sample.values.empty()) most = std::max(most, sample.values.back());
  }
  return most;
}

std::string summary_of(const JobQuantity& quantity, const std::vector<JobSample>& samples) {
  std::vector<std::string> parts;
  const double most = largest(samples);
  for (const JobSample& sample : samples) {
    if (sample.values.empty()) continue;
    parts.push_back(fmt::format("{}: median {}, 95th percentile {}", sample.name,
                                value_text(quantity, most, percentile(sample.values, 0.5)),
                                value_text(quantity, most, percentile(sample.values, 0.95))));
  }
  std::string name = quantity.quantity.name;
  name[0] = static_cast<char>(std::tolower(name[0]));
  return "Share of jobs by " + name + ". " + joined(parts, "; ") + ".";
}

std::string caption_of(const JobQuantity& quantity, const std::vector<JobSample>& samples, bool is_log) {
  std::vector<std::string> parts = {quantity.quantity.definition};
  const bool same =
      std::all_of(samples.begin(), samples.end(), [&](const JobSample& s) { return s.jobs == samples.front().jobs; });
  std::vector<std::string> counts, missing, zeros;
  for (const JobSample& sample : samples) {
    counts.push_back(sample.name + " " + with_commas(static_cast<double>(sample.jobs), 0));
    const std::size_t without = sample.jobs - sample.values.size();
    if (without > 0) missing.push_back(sample.name + " " + with_commas(static_cast<double>(without), 0));
    const auto zero = std::upper_bound(sample.values.begin(), sample.values.end(), 0.0) - sample.values.begin();
    if (zero > 0)
      zeros.push_back(fmt::format("{} {} %", sample.name,
                                  figure_text(100.0 * static_cast<double>(zero) / static_cast<double>(sample.jobs))));
  }
  parts.push_back(
      same ? fmt::format("n = {}{}.", counted(samples.front().jobs, "job"), samples.size() > 1 ? " each" : "")
           : "Jobs: " + joined(counts, ", ") + ".");
  if (!missing.empty()) parts.push_back("Without a value, counted in n: " + joined(missing, ", ") + ".");
  if (is_log && !zeros.empty()) parts.push_back("Zero, left of the axis: " + joined(zeros, ", ") + ".");
  return joined(parts, " ");
}

}  // namespace

Result<JobSample> read_sample(const std::string& path, const std::string& name, const JobQuantity& quantity) {
  Result<CsvReader> csv = CsvReader::open_file(path);
  if (!csv.ok()) return csv.error();
  const Result<Measure> measure = Measure::make(*csv, quantity);
  if (!measure.ok()) return measure.error();
  JobSample sample{name, {}, 0};
  for (Result<bool> more = csv->next();; more = csv->next()) {
    if (!more.ok()) return more.error();
    if (!*more) break;
    const auto value = (*measure)(*csv);
    if (!value.ok()) return value.error();
    ++sample.jobs;
    if (*value) sample.values.push_back(**value);
  }
  if (sample.jobs == 0) return invalid("empty-data", path + " holds no jobs");
  std::sort(sample.values.begin(), sample.values.end());
  return sample;
}

std::vector<Point> cumulative(const JobSample& sample) {
  std::vector<Point> points;
  if (sample.values.empty()) return points;
  points.push_back({sample.values.front(), 0});
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    if (i + 1 < sample.values.size() && sample.values[i + 1] == sample.values[i]) continue;
    points.push_back({sample.values[i], points.back().y});
    points.push_back({sample.values[i], 100 * static_cast<double>(i + 1) / static_cast<double>(sample.jobs)});
  }
  return points;
}

Result<Figure> cdf_figure(const JobQuantity& quantity, const std::vector<JobSample>& samples, XScale scale) {
  const bool any = std::any_of(samples.begin(), samples.end(), [](const JobSample& s) { return !s.values.empty(); });
  if (!any) return invalid("empty-data", "no job has a value for " + quantity.word);
  const bool is_log = scale == XScale::logarithmic || (scale == XScale::automatic && spans_decades(samples));
  Panel panel;
  panel.x = {quantity.quantity.name, quantity.quantity.unit, range_of(samples, is_log),
             is_log ? Spacing::logarithmic : Spacing::linear};
  panel.y = {"Share of jobs", Unit::percent, {0, 100}};
  for (const JobSample& sample : samples) {
    Series series{sample.name, static_cast<int>(panel.series.size()), cumulative(sample)};
    if (series.points.empty()) continue;
    series.points.push_back({std::max(panel.x.range.high, series.points.back().x), series.points.back().y});
    panel.series.push_back(std::move(series));
  }
  Figure figure;
  figure.kind = "cdf-" + quantity.word;
  figure.title = quantity.quantity.name + " of jobs";
  figure.summary = summary_of(quantity, samples);
  figure.caption = caption_of(quantity, samples, is_log);
  figure.panels.push_back(std::move(panel));
  return figure;
}

}  // namespace sl::plot
