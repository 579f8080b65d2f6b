// Workloads of trainings that were measured for published schedulers (published_profiles.h): how fast they are on each
// number and type of GPUs and next to each other, and how their losses fall.
#include <algorithm>
#include <cmath>

#include "trace/profiles.h"
#include "trace/workloads/entry.h"
#include "trace/workloads/trace_builder.h"

namespace sl::trace {
namespace {

using Profile = std::shared_ptr<const wire::TrainingProfile>;

// Steps per second on one server with GPUs of the type that durations refer to.
double reference_speed(const wire::TrainingProfile& profile, int gpus) {
  const auto table = wire::steps_per_s_by_gpus(profile, profile.speeds.front().gpu_type, wire::Span::one_server);
  return table[std::min(static_cast<std::size_t>(gpus), table.size()) - 1];
}

// ---- Pollux: trainings until a target loss ----
struct Part {
  const char* family;
  double up_to;  // cumulative fraction of all jobs
};
constexpr Part pollux_parts[] = {{"pollux-cifar10", 0.6}, {"pollux-deepspeech2", 0.8}, {"pollux-yolov3", 1}};

Profile draw(const Part* parts, Random& random) {
  const double at = random.uniform();
  while (at >= parts->up_to) ++parts;
  return published_profiles().at(parts->family);
}

// The first epoch, from 1, after which the loss is as low as after epoch `wanted`.
std::size_t first_as_good(const std::vector<double>& losses, std::size_t wanted) {
  const double target = *std::min_element(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(wanted));
  return static_cast<std::size_t>(std::find(losses.begin(), losses.end(), target) - losses.begin()) + 1;
}

Result<Trace> make_pollux(const std::string&, const Parameters& p, Random random) {
  TraceBuilder builder(static_cast<std::size_t>(p.integer("jobs")));
  Random arrivals = random.fork(1), kinds = random.fork(2), targets = random.fork(3);
  const int gpus = p.integer("gpus");
  double submitted_s = 0;
  for (int i = 0; i < p.integer("jobs"); ++i) {
    const Profile profile = draw(pollux_parts, kinds);
    const std::vector<double>& losses = profile->loss->by_epoch;
    const double part = targets.uniform(p.number("part_min"), std::max(p.number("part_min"), p.number("part_max")));
    const auto wanted =
        std::clamp<std::size_t>(static_cast<std::size_t>(part * static_cast<double>(losses.size())), 1, losses.size());
    const std::size_t epoch = first_as_good(losses, wanted);
    auto said = std::make_shared<JobModel>();
    said->epochs_total = *profile->epochs;
    said->target_loss = losses[epoch - 1];
    TraceDetails details;
    details.family = profile->family;
    details.gpus_min = 1;
    details.gpus_max = std::max(gpus, p.integer("gpus_max"));
    details.model = std::move(said);
    details.profile = profile;
    const double duration_s = static_cast<double>(epoch) * *profile->steps_per_epoch / reference_speed(*profile, gpus);
    builder.add(Duration::seconds(submitted_s), Duration::seconds(duration_s), gpus).details =
        builder.add_details(std::move(details));
    submitted_s += std::round(arrivals.exponential(p.number("interval_s")));
  }
  return builder.finish();
}

WorkloadEntry pollux() {
  return {
      {"pollux",
       "Pollux trainings",
       "Image, speech and detection trainings with the speeds on T4 GPUs and the learning curves measured for "
       "Pollux; each ends when its loss reaches a target.",
       {whole_parameter("jobs", "", "60", 1, 100'000, "number of jobs"),
        real_parameter("interval_s", "s", "400", 0, 1e6, "time between two jobs, on average (Poisson)"),
        whole_parameter("gpus", "GPUs", "1", 1, 16, "GPUs that each job asks for"),
        whole_parameter("gpus_max", "GPUs", "8", 1, 64, "elastic policies: largest number of GPUs (smallest: 1)"),
        real_parameter("part_min", "", "0.3", 0.01, 1, "the target is the best loss up to this fraction of the epochs"),
        real_parameter("part_max", "", "0.9", 0.01, 1, "or up to this fraction; drawn uniformly between the two")}},
      make_pollux};
}

// ---- Gavel: trainings on GPUs of several types, which may share them ----
Result<Trace> make_gavel(const std::string&, const Parameters& p, Random random) {
  std::vector<Profile> families;
  for (const auto& [family, profile] : published_profiles()) {
    if (family.starts_with("gavel-")) families.push_back(profile);
  }
  TraceBuilder builder(static_cast<std::size_t>(p.integer("jobs")));
  for (const Profile& profile : families) {
    TraceDetails details;
    details.family = profile->family;
    details.profile = profile;
    details.gpu_share = p.text("share") == "yes" ? 0.5 : 1;
    builder.add_details(std::move(details));
  }
  Random arrivals = random.fork(1), kinds = random.fork(2), lengths = random.fork(3), widths = random.fork(4);
  double submitted_s = 0;
  for (int i = 0; i < p.integer("jobs"); ++i) {
    const auto family = static_cast<std::size_t>(kinds.integer(0, static_cast<std::int64_t>(families.size()) - 1));
    const double minutes =
        std::pow(10, lengths.uniform(std::log10(p.number("minutes_min")),
                                     std::log10(std::max(p.number("minutes_min"), p.number("minutes_max")))));
    const double width = widths.uniform();
    const bool scales = families[family]->speeds[1].gpus > 1;  // it was measured on several GPUs
    const int gpus = !scales || width < 0.7 ? 1 : width < 0.9 ? 2 : 4;
    builder.add(Duration::seconds(submitted_s), Duration::seconds(std::round(60 * minutes)), gpus).details =
        static_cast<std::uint32_t>(family);
    submitted_s += std::round(arrivals.exponential(p.number("interval_s")));
  }
  return builder.finish();
}

WorkloadEntry gavel() {
  return {{"gavel",
           "Gavel trainings",
           "Eight kinds of trainings with the speeds measured for Gavel on V100, P100 and K80 GPUs, alone and two on "
           "one GPU; for a cluster whose servers have these types.",
           {whole_parameter("jobs", "", "100", 1, 100'000, "number of jobs"),
            real_parameter("interval_s", "s", "600", 0, 1e6, "time between two jobs, on average (Poisson)"),
            real_parameter("minutes_min", "min", "20", 0.1, 1e5, "shortest duration on a V100"),
            real_parameter("minutes_max", "min", "1000", 0.1, 1e5, "longest duration; logarithms are drawn uniformly"),
            choice_parameter("share", {"yes", "no"}, "whether two jobs may share GPUs")}},
          make_gavel};
}

}  // namespace

std::vector<WorkloadEntry> measured_workloads() { return {pollux(), gavel()}; }

}  // namespace sl::trace
