// poisson, uniform, burst and philly-like: one generator with different arrivals and defaults. Sizes, durations,
// arrivals and users are drawn from separate streams, so that changing one leaves the others as they are.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "trace/numbers.h"
#include "trace/profiles.h"
#include "trace/workloads/entry.h"
#include "trace/workloads/trace_builder.h"

namespace sl::trace {
namespace {

constexpr int widths[] = {1, 2, 4, 8, 16, 32, 64};
constexpr std::size_t width_count = std::size(widths);

// Standard normal numbers, in pairs (Box and Muller 1958).
class Normal {
 public:
  double operator()(Random& random) {
    if (has_spare_) return has_spare_ = false, spare_;
    const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
    const double angle = 2 * std::numbers::pi * random.uniform();
    has_spare_ = true;
    spare_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  bool has_spare_ = false;
  double spare_ = 0;
};

class Sizes {
 public:
  explicit Sizes(const Parameters& p) {
    for (std::size_t i = 0; i < width_count; ++i)
      up_to_[i] = (i > 0 ? up_to_[i - 1] : 0) + p.number("weight_" + std::to_string(widths[i]));
  }
  bool any() const { return up_to_[width_count - 1] > 0; }
  int draw(Random& random) const {
    const double at = random.uniform() * up_to_[width_count - 1];
    for (std::size_t i = 0; i < width_count; ++i) {
      if (at < up_to_[i]) return widths[i];
    }
    return widths[0];
  }

 private:
  double up_to_[width_count];
};

// Whole seconds, so that a trace written as text stays the same.
class Durations {
 public:
  explicit Durations(const Parameters& p)
      : shape_of_(find_shape(p.text("durations"))),
        median_(p.number("median_s")),
        sigma_(p.number("sigma")),
        shape_(p.number("shape")),
        min_(p.number("min_s")),
        max_(std::max(min_, p.number("max_s"))) {
    for (std::size_t i = 0; i < width_count; ++i) factor_[i] = std::pow(widths[i], p.number("width_exponent"));
  }
  Duration draw(Random& random, int gpus) {
    const auto width = static_cast<std::size_t>(std::find(widths, widths + width_count, gpus) - widths);
    const double seconds = std::clamp((this->*shape_of_)(random)*factor_[width], min_, max_);
    return Duration::whole_seconds(static_cast<std::int64_t>(std::llround(seconds)));
  }

 private:
  using Shape = double (Durations::*)(Random&);
  static Shape find_shape(std::string_view name) {
    if (name == "lognormal") return &Durations::lognormal;
    if (name == "exponential") return &Durations::exponential;
    if (name == "uniform") return &Durations::uniform;
    if (name == "pareto") return &Durations::pareto;
    return &Durations::constant;
  }
  double lognormal(Random& random) { return median_ * std::exp(sigma_ * normal_(random)); }
  double exponential(Random& random) { return random.exponential(median_ / std::numbers::ln2); }
  double uniform(Random& random) { return random.uniform(min_, max_); }
  double pareto(Random& random) { return median_ * std::pow(2 * (1 - random.uniform()), -1 / shape_); }
  double constant(Random&) { return median_; }

  Shape shape_of_;
  double median_, sigma_, shape_, min_, max_;
  double factor_[width_count];
  Normal normal_;
};

enum class Arrivals { poisson, uniform, burst };

// At most 37 times the mean, as a double draws it.
Duration gap(Random& random, double mean_s) { return Duration::seconds(random.exponential(mean_s)); }

// One job at a time, `mean_s` apart on average.
void arrive_poisson(LargeVector<TraceJob>& jobs, Random& random, double mean_s) {
  Instant now{0};
  for (TraceJob& job : jobs) job.submitted = now = now + gap(random, mean_s);
}

// Independent times, uniform over the span. In order they are the sums of exponential gaps divided by their total.
void arrive_uniform(LargeVector<TraceJob>& jobs, Random& random, double mean_s) {
  const double span_us = mean_s * 1e6 * static_cast<double>(jobs.size());
  Instant now{0};
  for (TraceJob& job : jobs) job.submitted = now = now + gap(random, 1);
  const double total = static_cast<double>((now + gap(random, 1)).us);
  for (TraceJob& job : jobs)
    job.submitted = Instant{std::llround(static_cast<double>(job.submitted.us) / total * span_us)};
}

// `size` jobs at once, bursts at Poisson times.
void arrive_in_bursts(LargeVector<TraceJob>& jobs, Random& random, double mean_s, int size) {
  Instant now{0};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i % static_cast<std::size_t>(size) == 0) now = now + gap(random, mean_s * size);
    jobs[i].submitted = now;
  }
}

// Few users submit most jobs: the share of the first n of N users is the square root of n/N.
void give_users(TraceBuilder& builder, Random random, int users) {
  if (users == 0) return;
  for (int u = 1; u <= users; ++u) builder.add_user("user" + std::to_string(u));
  for (TraceJob& job : builder.jobs()) {
    const double at = random.uniform();
    job.user = 1 + static_cast<std::uint32_t>(at * at * users);
  }
}

// What jobs have besides size and duration. Jobs of one size that do not differ otherwise share their details.
class Extras {
 public:
  explicit Extras(const Parameters& p)
      : elastic_(p.number("elastic")),
        gpus_min_(p.integer("gpus_min")),
        gpus_max_(p.integer("gpus_max")),
        slack_(p.number("deadline_slack")),
        error_(p.number("estimate_error")) {
    const std::string& profile = p.text("profile");
    if (profile == "none") return;
    model_ = *find_profile(profile == "amdahl" ? "amdahl:" + p.text("parallel") : profile);
    profile_ = profile;
  }

  void give(TraceBuilder& builder, Random random) {
    if (elastic_ == 0 && slack_ == 0 && error_ == 0 && !model_) return;
    for (TraceJob& job : builder.jobs()) job.details = details_of(builder, job, random);
  }

 private:
  std::uint32_t details_of(TraceBuilder& builder, const TraceJob& job, Random& random) {
    const bool is_elastic = elastic_ > 0 && random.chance(elastic_);
    const auto width = static_cast<std::size_t>(std::find(widths, widths + width_count, job.gpus) - widths);
    std::uint32_t& shared = shared_[is_elastic][width];
    const bool differs = slack_ > 0 || error_ > 0;
    if (!differs && shared != TraceJob::nothing_more) return shared;
    TraceDetails details;
    details.model = model_;
    details.family = profile_;
    if (is_elastic) {
      details.gpus_min = std::min(job.gpus, gpus_min_);
      details.gpus_max = std::max(job.gpus, gpus_max_);
    }
    if (slack_ > 0) details.deadline = job.submitted + scaled(job.duration, random.uniform(1, 1 + slack_));
    if (error_ > 0) details.estimate = scaled(job.duration, std::exp(error_ * normal_(random)));
    return shared = builder.add_details(std::move(details));
  }
  static Duration scaled(Duration duration, double factor) {
    return Duration::whole_seconds(
        std::max<std::int64_t>(1, std::llround(std::min(duration.to_seconds() * factor, 1e10))));
  }

  double elastic_;
  int gpus_min_, gpus_max_;
  double slack_, error_;
  std::shared_ptr<const JobModel> model_;
  std::string profile_;
  std::array<std::array<std::uint32_t, width_count>, 2> shared_ = [] {
    std::array<std::array<std::uint32_t, width_count>, 2> none;
    for (auto& row : none) row.fill(TraceJob::nothing_more);
    return none;
  }();
  Normal normal_;
};

Arrivals arrivals_of(const std::string& name) {
  if (name == "uniform") return Arrivals::uniform;
  return name == "poisson" ? Arrivals::poisson : Arrivals::burst;
}

Result<Trace> make_statistical(const std::string& name, const Parameters& p, Random random) {
  const Sizes sizes(p);
  if (!sizes.any())
    return invalid("bad-parameter", "all weights are 0, so no job has a size").hint("weight_1=1: all ask for one GPU");
  Durations durations(p);
  Random of_sizes = random.fork(1), of_durations = random.fork(2), of_arrivals = random.fork(3);
  const int jobs = p.integer("jobs");
  TraceBuilder builder(static_cast<std::size_t>(jobs));
  double gpu_s = 0;
  for (int i = 0; i < jobs; ++i) {
    const int gpus = sizes.draw(of_sizes);
    const Duration duration = durations.draw(of_durations, gpus);
    gpu_s += gpus * duration.to_seconds();
    builder.add(Duration{0}, duration, gpus);
  }
  const double rate = p.number("rate_per_hour");
  const double mean_s = rate > 0 ? 3600 / rate : gpu_s / p.number("load") / p.integer("cluster_gpus") / jobs;
  if (mean_s * jobs > seconds_max) return too_late();  // then no draw comes near what can be counted, 292,000 years
  switch (arrivals_of(name)) {
    case Arrivals::poisson:
      arrive_poisson(builder.jobs(), of_arrivals, mean_s);
      break;
    case Arrivals::uniform:
      arrive_uniform(builder.jobs(), of_arrivals, mean_s);
      break;
    case Arrivals::burst:
      arrive_in_bursts(builder.jobs(), of_arrivals, mean_s, p.integer("burst_jobs"));
  }
  give_users(builder, random.fork(4), p.integer("users"));
  Extras(p).give(builder, random.fork(5));
  return builder.finish();
}

// ---- Parameters ----

struct Defaults {
  std::array<const char*, width_count> weights = {"60", "15", "15", "10", "0", "0", "0"};
  const char *median = "1200", *sigma = "2", *width_exponent = "0", *max = "604800";
};

void add_shape_parameters(std::vector<ParameterInfo>& list, const Defaults& defaults) {
  for (std::size_t i = 0; i < width_count; ++i) {
    const std::string gpus = std::to_string(widths[i]);
    list.push_back(real_parameter("weight_" + gpus, "", defaults.weights[i], 0, 1e6,
                                  "how often a job asks for " + gpus + (i == 0 ? " GPU" : " GPUs")));
  }
  list.push_back(choice_parameter("durations", {"lognormal", "exponential", "uniform", "pareto", "constant"},
                                  "distribution of durations"));
  list.push_back(real_parameter("median_s", "s", defaults.median, 1, 1e8, "median duration (not for uniform)"));
  list.push_back(real_parameter("sigma", "", defaults.sigma, 0, 10, "lognormal: standard deviation of the logarithm"));
  list.push_back(real_parameter("shape", "", "1.5", 0.1, 100, "pareto: shape of the tail; smaller is heavier"));
  list.push_back(real_parameter("min_s", "s", "1", 1, 1e8, "no duration is shorter"));
  list.push_back(real_parameter("max_s", "s", defaults.max, 1, 1e8, "no duration is longer"));
  list.push_back(real_parameter("width_exponent", "", defaults.width_exponent, -5, 5,
                                "jobs on g GPUs run g to this power times as long"));
}

void add_extra_parameters(std::vector<ParameterInfo>& list) {
  list.push_back(whole_parameter("users", "", "0", 0, 1e6, "number of users who submit them; 0: users are unknown"));
  list.push_back(
      real_parameter("elastic", "", "0", 0, 1, "fraction of the jobs that can run on other numbers of GPUs"));
  list.push_back(whole_parameter("gpus_min", "GPUs", "1", 1, 1024, "elastic jobs: smallest number of GPUs"));
  list.push_back(whole_parameter("gpus_max", "GPUs", "8", 1, 1024, "elastic jobs: largest number of GPUs"));
  std::vector<std::string> profiles = {"none", "linear", "amdahl"};
  for (const MeasuredProfile& profile : measured_profiles()) profiles.push_back(profile.name);
  list.push_back(choice_parameter("profile", std::move(profiles), "how fast jobs are on other numbers of GPUs"));
  list.push_back(real_parameter("parallel", "", "0.9", 0, 1, "amdahl: fraction of the work that runs in parallel"));
  list.push_back(real_parameter("deadline_slack", "", "0", 0, 1000,
                                "deadlines 1 to 1 + this many durations after submission; 0: none"));
  list.push_back(real_parameter("estimate_error", "", "0", 0, 10,
                                "users' estimates: standard deviation of log(estimate / duration); 0: no estimates"));
}

WorkloadEntry statistical(const std::string& name, const std::string& title, const std::string& summary,
                          const Defaults& defaults = {}) {
  WorkloadInfo info = {name, title, summary, {}};
  auto& list = info.parameters;
  list.push_back(whole_parameter("jobs", "", "1000", 1, 50'000'000, "number of jobs"));
  list.push_back(
      real_parameter("load", "", "0.8", 0.001, 100, "work that arrives relative to what the cluster can do"));
  list.push_back(
      whole_parameter("cluster_gpus", "GPUs", "64", 1, 10'000'000, "size of the cluster that has this load"));
  list.push_back(real_parameter("rate_per_hour", "1/h", "0", 0, 1e9, "jobs per hour, instead of a load; 0: by load"));
  if (arrivals_of(name) == Arrivals::burst)
    list.push_back(whole_parameter("burst_jobs", "", name == "burst" ? "20" : "4", 1, 1e6, "jobs submitted at once"));
  add_shape_parameters(list, defaults);
  add_extra_parameters(list);
  return {std::move(info), make_statistical};
}

}  // namespace

std::vector<WorkloadEntry> statistical_workloads() {
  // Weights and medians of Philly 2017 (docs/formats/trace.md names its source): 93 % of its jobs ask for one GPU, with
  // a median duration of 1,117 s and a spread of 2.0; jobs on 4, 8 and 16 GPUs run 16 to 47 times longer.
  Defaults philly;
  philly.weights = {"93.2", "2.2", "2.3", "2.0", "0.25", "0.08", "0.01"};
  philly.median = "1100";
  philly.width_exponent = "1.4";
  philly.max = "4628226";
  return {statistical("poisson", "Poisson arrivals", "Jobs arrive one at a time, independently of each other."),
          statistical("uniform", "Uniform arrivals", "Each job arrives at a uniformly random time of the span."),
          statistical("burst", "Bursts", "Many jobs arrive at once, with nothing in between."),
          statistical("philly-like", "Like Philly",
                      "Sizes and durations distributed like those of Microsoft's cluster in 2017.", philly)};
}

}  // namespace sl::trace
