#include "controller/simulation_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/csv.h"
#include "controller/job_book.h"
#include "wire/job_spec.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr double us_per_s = 1e6;
constexpr double mebibyte = 1 << 20;

double seconds_of(std::int64_t us) { return static_cast<double>(us) / us_per_s; }

std::string with_bars(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

template <typename T>
std::string number_or_nothing(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

struct PastJob {
  store::JobRow row;
  wire::JobSpec spec;
  bool states_cpus = false;  // and memory
  // What members of an array have in common.
  std::string asked(std::int64_t zero_us) const {
    const double mean_gpus = static_cast<double>(row.attained_gpu_us) / static_cast<double>(row.run_us);
    const int gpus = std::clamp(static_cast<int>(std::lround(mean_gpus)), spec.gpus.min, spec.gpus.max);
    return fmt::format("{},{},{},{},{},{},{},{},{},{}", seconds_of(row.submitted_us - zero_us), gpus,
                       csv_field(row.user), number_or_nothing(spec.estimate_s), row.priority, spec.gpus.min,
                       spec.gpus.max, csv_field(with_bars(spec.resources.gpu_type)),
                       states_cpus ? number_or_nothing(spec.resources.cpus) : "",
                       states_cpus ? number_or_nothing(spec.resources.memory_bytes) : "");
  }
};

// The jobs in the order of their numbers, but members of an array, as far as they are alike, after its first one.
class PastTrace {
 public:
  explicit PastTrace(const std::vector<PastJob>& jobs) {
    zero_us_ = INT64_MAX;
    for (const PastJob& job : jobs) zero_us_ = std::min(zero_us_, job.row.submitted_us);
    for (const PastJob& job : jobs) jobs_[job.row.id] = &job;
    for (const auto& [id, job] : jobs_) members_[job->row.group_id].push_back(job);
  }
  // `arrays`: the specifications of those that are known.
  std::string text(const std::map<std::int64_t, wire::JobSpec>& arrays) {
    text_ =
        "job_id,duration_s,status,submit_time_s,gpus,user,est_duration_s,priority,gpus_min,gpus_max,gpu_type,cpus,"
        "memory_bytes,array,max_running,after\n";
    for (const auto& [id, job] : jobs_) {
      if (named_.contains(id)) continue;
      const auto array = arrays.find(job->row.group_id);
      array == arrays.end() ? add(*job, fmt::format(",,{}", after(job->spec))) : add_array(*job, array->second);
    }
    return std::move(text_);
  }

 private:
  void add_array(const PastJob& first, const wire::JobSpec& array) {
    const std::int64_t group = first.row.group_id;
    const std::string asked = first.asked(zero_us_);
    if (!named_.insert(group).second) return add(first, ",,");  // unlike the others
    const std::string more = fmt::format("{},{},{}", group, array.max_running, after(array));
    for (const PastJob* member : members_[group]) {
      if (member->asked(zero_us_) == asked) add(*member, more);
    }
  }
  void add(const PastJob& job, const std::string& more) {
    text_ += fmt::format("{},{},{},{},{}\n", job.row.id, seconds_of(job.row.run_us), job.row.state, job.asked(zero_us_),
                         more);
    named_.insert(job.row.id);
  }
  // Those that are there before it.
  std::string after(const wire::JobSpec& spec) const {
    std::vector<std::string> names;
    for (const auto* jobs : {&spec.after, &spec.after_any}) {
      for (const std::int64_t id : *jobs) {
        if (named_.contains(id)) names.push_back(std::to_string(id));
      }
    }
    return with_bars(names);
  }

  std::int64_t zero_us_ = 0;
  std::map<std::int64_t, const PastJob*> jobs_;                  // by number
  std::map<std::int64_t, std::vector<const PastJob*>> members_;  // of arrays, in this order
  std::set<std::int64_t> named_;                                 // jobs and arrays that are in the text
  std::string text_;
};

// Of the arrays that these are members of; one that has been removed is missing.
Result<std::map<std::int64_t, wire::JobSpec>> arrays_of(const std::vector<PastJob>& jobs, store::Reader& reader) {
  std::map<std::int64_t, wire::JobSpec> arrays;
  std::set<std::int64_t> asked = {0};
  for (const PastJob& job : jobs) {
    if (!asked.insert(job.row.group_id).second) continue;
    const auto row = reader.job(job.row.group_id);
    if (!row.ok()) return row.error();
    if (!*row) continue;
    auto spec = wire::read_json<wire::JobSpec>((*row)->spec_json, wire::Unknown::ignore);
    if (spec.ok()) arrays[job.row.group_id] = std::move(*spec);
  }
  return arrays;
}

}  // namespace

Result<std::string> past_as_trace(store::Reader& reader, std::int64_t since_us, bool keeps_cpu_jobs) {
  std::vector<PastJob> jobs;
  store::JobQuery query{.limit = 1000};
  for (bool is_more = true; is_more && jobs.size() < past_jobs_max;) {
    auto rows = reader.finished_jobs(query);
    if (!rows.ok()) return rows.error();
    is_more = rows->size() == query.limit;
    for (store::JobRow& row : *rows) {
      query.before = row.id;
      if (row.finished_us.value_or(0) < since_us || row.run_us <= 0 || is_group(row)) continue;
      auto spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore);
      if (spec.ok() && (spec->gpus.max > 0 || keeps_cpu_jobs) && jobs.size() < past_jobs_max)
        jobs.push_back({std::move(row), std::move(*spec), keeps_cpu_jobs});
    }
  }
  if (jobs.empty())
    return invalid("trace-empty", fmt::format("no job{} has ended in that time", keeps_cpu_jobs ? "" : " with GPUs"))
        .hint("ask for more days, or for a workload");
  const auto arrays = arrays_of(jobs, reader);
  if (!arrays.ok()) return arrays.error();
  return PastTrace(jobs).text(*arrays);
}

Result<std::string> servers_as_file(const Core& core, bool with_cpus) {
  // GPUs, their type, their memory, CPUs, memory in MiB; 0: unknown
  using Kind = std::tuple<int, std::string, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Kind, int> kinds;
  const ServerTable& servers = core.servers();
  for (std::uint32_t s = 0; s < servers.size(); ++s) {
    const Server& server = servers[ServerIndex(s)];
    if (server.state == ServerState::removed || server.description.gpus == 0) continue;
    const GpuTypeIndex type = server.description.gpu_type;
    const auto amount = [&](Resource what, double unit) {
      return with_cpus ? static_cast<std::int64_t>(server.description.capacity[what] / unit) : 0;
    };
    ++kinds[{server.description.gpus, type.valid() ? std::string(core.gpu_types().text(type)) : "",
             server.description.gpu_memory_bytes.value_or(0), amount(Resource::cpu, 1),
             amount(Resource::memory, mebibyte)}];
  }
  if (kinds.empty())
    return conflict("no-servers", "this cluster has no server with GPUs").hint("name the servers to simulate: 4x8");
  std::string text;
  for (const auto& [kind, count] : kinds) {
    const auto& [gpus, type, memory_bytes, cpus, memory_mib] = kind;
    text += fmt::format("[[servers]]\ncount = {}\ngpus = {}\n", count, gpus);
    if (!type.empty()) text += "gpu_type = " + boost::json::serialize(boost::json::string(type)) + '\n';
    if (memory_bytes > 0) text += fmt::format("gpu_memory = \"{}MiB\"\n", memory_bytes >> 20);
    if (cpus > 0) text += fmt::format("cpus = {}\n", cpus);
    if (memory_mib > 0) text += fmt::format("memory = \"{}MiB\"\n", memory_mib);
  }
  return text;
}

}  // namespace sl::controller
