#include "study/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "study/published_worlds.h"

namespace sl::study {
namespace {

struct Published {
  const char* semantics;
  const char* policy;
  Result<sim::SimulationResult> (*simulate)(const SecondsTrace&, const Shape&);
};
constexpr Published answers[] = {{"tiresias", "fifo", tiresias_fifo},
                                 {"tiresias", "srtf", tiresias_srtf},
                                 {"tiresias", "tiresias", tiresias_dlas_gpu},
                                 {"tiresias-mended", "tiresias", tiresias_dlas_gpu_mended},
                                 {"lucid", "fifo", lucid_fifo},
                                 {"lucid", "srtf", lucid_srtf},
                                 {"lucid", "tiresias", lucid_tiresias},
                                 {"pollux", "tiresias", pollux_tiresias}};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Result<SecondsTrace> in_seconds(const trace::Trace& trace) {
  SecondsTrace jobs;
  for (const trace::TraceJob& job : trace.jobs) {
    if (job.submitted.us % 1'000'000 != 0 || job.duration.us % 1'000'000 != 0)
      return invalid("semantics-trace", "job " + std::string(job.id()) + " has a time that is not a whole second")
          .note("published simulators count whole seconds");
    SecondsJob made{job.submitted.us / 1'000'000, job.duration.us / 1'000'000, job.gpus, std::string(job.id()), {}, 0};
    const trace::TraceDetails* details = trace.details_of(job);
    if (details && (!details->gpu_types.empty() || !details->demand.is_zero()))
      return invalid("semantics-trace", fmt::format("job {} asks for more than a number of GPUs", job.id()))
          .note("published simulators know neither types of GPUs nor CPUs and memory");
    if (details) made.application = details->family;
    if (details && details->model) made.batch = details->model->batch_size.value_or(0);
    jobs.push_back(std::move(made));
  }
  return jobs;
}

Result<const Published*> find_published(const std::string& semantics, const std::string& policy) {
  std::vector<std::string> known;
  for (const Published& published : answers) {
    if (published.semantics != semantics) continue;
    if (published.policy == policy) return &published;
    known.emplace_back(published.policy);
  }
  if (known.empty())
    return invalid("bad-semantics", "there is no published simulator " + semantics)
        .note("it is one of " + joined(published_simulators()));
  return invalid("semantics-policy", fmt::format("policy {1} of {0} is not reproduced", semantics, policy))
      .note("it is one of " + joined(known));
}

Shape shape_of(const sim::Cluster& cluster) { return {cluster.servers(), cluster.gpus_per_server_max()}; }

}  // namespace

std::vector<std::string> published_simulators() { return {"tiresias", "tiresias-mended", "lucid", "pollux"}; }

Status could_simulate_as(const std::string& semantics, const std::string& policy, const trace::Trace& trace,
                         const sim::Cluster& cluster) {
  if (const auto published = find_published(semantics, policy); !published.ok()) return published.error();
  if (const Result<SecondsTrace> jobs = in_seconds(trace); !jobs.ok()) return jobs.error();
  if (cluster.is_pool || !cluster.is_uniform())
    return invalid("semantics-shape", "published simulators know only servers of one kind").hint("--servers 16x8");
  if (cluster.costs != sim::Costs() || cluster.faults != sim::Faults() || !cluster.events.empty())
    return invalid("semantics-shape", "published simulators have costs of their own and no faults")
        .hint("leave [costs], [faults] and [[events]] out of the file");
  const Shape shape = shape_of(cluster);
  if (semantics == "lucid" && shape.gpus_per_server != 8)
    return invalid("semantics-shape", "lucid's servers have 8 GPUs").hint("--servers 16x8");
  if (semantics == "pollux" && shape.gpus_per_server > 4)
    return invalid("semantics-shape", "pollux's servers have at most 4 GPUs").hint("--servers 16x4");
  return {};
}

Result<sim::SimulationResult> simulate_as(const std::string& semantics, const std::string& policy,
                                          const trace::Trace& trace, const sim::Cluster& cluster) {
  if (Status could = could_simulate_as(semantics, policy, trace, cluster); !could.ok()) return could.error();
  Result<sim::SimulationResult> result =
      (*find_published(semantics, policy))->simulate(*in_seconds(trace), shape_of(cluster));
  if (!result.ok() || semantics == "pollux") return result;
  for (std::size_t i = 0; i < result->outcomes.size(); ++i) {
    if (result->outcomes[i].finished.happened())
      result->outcomes[i].run = trace.jobs[i].duration;  // the others do not report restarts
  }
  return result;
}

}  // namespace sl::study
