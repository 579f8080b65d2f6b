// The workloads of the Schedulearn thesis (policies.md 0.5): trainings whose run times on 1 to 4 GPUs were measured,
// submitted one after the other.
#include <algorithm>

#include "trace/profiles.h"
#include "trace/workloads/entry.h"
#include "trace/workloads/trace_builder.h"

namespace sl::trace {
namespace {

const std::string prefix = "thesis/";

TraceDetails details_for(const MeasuredProfile& profile, const Parameters& p) {
  TraceDetails details;
  details.family = profile.name;
  details.model = *find_profile(profile.name);
  details.gpus_min = std::min(p.integer("gpus_min"), p.integer("gpus"));
  details.gpus_max = std::max(p.integer("gpus_max"), p.integer("gpus"));
  return details;
}

// The profiles the jobs use: one by its name, or all measured ones in random order.
std::vector<MeasuredProfile> profiles_of(const std::string& name) {
  std::vector<MeasuredProfile> all = measured_profiles();
  if (name == prefix + "mixed") return all;
  const std::string wanted = name == prefix + "resnet-3" ? "pytorch-resnet" : name.substr(prefix.size());
  std::erase_if(all, [&](const MeasuredProfile& profile) { return profile.name != wanted; });
  return all;
}

Result<Trace> make_thesis(const std::string& name, const Parameters& p, Random random) {
  const std::vector<MeasuredProfile> profiles = profiles_of(name);
  TraceBuilder builder(static_cast<std::size_t>(p.integer("jobs")));
  for (const MeasuredProfile& profile : profiles) builder.add_details(details_for(profile, p));
  const auto gpus = static_cast<std::size_t>(p.integer("gpus"));
  const Duration interval = Duration::seconds(p.number("interval_s"));
  for (int i = 0; i < p.integer("jobs"); ++i) {
    const auto which = static_cast<std::uint32_t>(random.integer(0, static_cast<std::int64_t>(profiles.size()) - 1));
    const double run_time_s = profiles[which].run_time_s[gpus - 1];
    builder.add(interval * i, Duration::seconds(run_time_s), p.integer("gpus")).details = which;
  }
  return builder.finish();
}

WorkloadEntry entry(const std::string& name, const std::string& title, const std::string& summary,
                    const std::string& jobs, const std::string& interval_s) {
  return {{prefix + name,
           title,
           summary,
           {whole_parameter("jobs", "", jobs, 1, 1e6, "number of jobs; the thesis uses 1, 5, 10, 15, 20"),
            real_parameter("interval_s", "s", interval_s, 0, 1e6, "time between two jobs"),
            whole_parameter("gpus", "GPUs", "1", 1, 4, "GPUs that each job asks for"),
            whole_parameter("gpus_min", "GPUs", "1", 1, 4, "elastic policies: smallest number of GPUs"),
            whole_parameter("gpus_max", "GPUs", "4", 1, 4, "elastic policies: largest number of GPUs")}},
          make_thesis};
}

}  // namespace

std::vector<WorkloadEntry> thesis_workloads() {
  std::vector<WorkloadEntry> list;
  for (const MeasuredProfile& profile : measured_profiles())
    list.push_back(
        entry(profile.name, profile.title, "Trainings of one kind, one every 10 s, as in the thesis.", "20", "10"));
  list.push_back(entry("mixed", "All five trainings",
                       "Each job is one of the five measured trainings, chosen at random.", "20", "10"));
  list.push_back(entry("resnet-3", "Three ResNets", "Three PyTorch ResNet trainings two minutes apart.", "3", "120"));
  return list;
}

}  // namespace sl::trace
