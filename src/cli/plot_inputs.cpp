#include "cli/plot_inputs.h"

#include <filesystem>

#include "plot/arrivals.h"
#include "plot/speedup.h"
#include "trace/profiles.h"
#include "trace/workloads.h"

namespace sl::cli {
namespace {

using plot::SpeedupCurve;

SpeedupCurve curve_of(const wire::TrainingProfile& profile) {
  const auto rates = wire::steps_per_s_by_gpus(profile, profile.speeds.front().gpu_type, wire::Span::any);
  SpeedupCurve curve{profile.family, {}};
  for (std::size_t i = 0; i < rates.size(); ++i)
    curve.points.push_back({static_cast<double>(i + 1), rates[i] / rates.front()});
  return curve;
}

Result<SpeedupCurve> curve_of(const std::string& name) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos || std::filesystem::exists(name, ignored)) {
    const auto read = trace::read_profiles({name});
    if (!read.ok()) return read.error();
    return curve_of(*read->begin()->second);
  }
  if (const auto training = trace::find_training(name, {})) return curve_of(*training);
  const auto model = trace::find_profile(name);
  if (!model.ok()) return model.error();
  SpeedupCurve curve{name, {}};
  for (const double speed : (*model)->speed_curve.table())
    curve.points.push_back({static_cast<double>(curve.points.size() + 1), speed});
  return curve;
}

}  // namespace

Result<plot::Figure> arrivals_of(const std::vector<std::string>& traces, std::uint64_t seed) {
  std::vector<plot::Arrivals> all;
  for (const std::string& source : traces) {
    const auto trace = trace::open_trace(source, seed, {});
    if (!trace.ok()) return trace.error();
    const bool is_file = !trace::is_workload(source);
    plot::Arrivals arrivals{is_file ? std::filesystem::path(source).filename().string() : source, {}};
    for (const trace::TraceJob& job : trace->jobs) arrivals.submitted_s.push_back(job.submitted.to_seconds());
    all.push_back(std::move(arrivals));
  }
  return plot::arrivals_figure(all);
}

Result<plot::Figure> speedup_of(const std::vector<std::string>& profiles) {
  std::vector<SpeedupCurve> curves;
  for (const std::string& name : profiles) {
    auto curve = curve_of(name);
    if (!curve.ok()) return curve.error();
    curves.push_back(std::move(*curve));
  }
  return plot::speedup_figure(curves);
}

}  // namespace sl::cli
