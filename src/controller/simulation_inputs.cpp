#include "controller/simulation_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/csv.h"
#include "controller/job_book.h"
#include "wire/job_spec.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr double us_per_s = 1e6;

double seconds_of(std::int64_t us) { return static_cast<double>(us) / us_per_s; }

std::string number_or_nothing(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string row_of(const store::JobRow& job, const wire::JobSpec& spec, std::int64_t zero_us) {
  const double mean_gpus = static_cast<double>(job.attained_gpu_us) / static_cast<double>(job.run_us);
  const int gpus = std::clamp(static_cast<int>(std::lround(mean_gpus)), spec.gpus.min, spec.gpus.max);
  std::string types;
  for (const std::string& type : spec.resources.gpu_type) types += (types.empty() ? "" : "|") + type;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", job.id, seconds_of(job.submitted_us - zero_us), gpus,
                     seconds_of(job.run_us), csv_field(job.user), number_or_nothing(spec.estimate_s), job.priority,
                     spec.gpus.min, spec.gpus.max, csv_field(types), job.state);
}

}  // namespace

Result<std::string> past_as_trace(store::Reader& reader, std::int64_t since_us) {
  std::vector<std::pair<store::JobRow, wire::JobSpec>> jobs;
  store::JobQuery query{.limit = 1000};
  for (bool is_more = true; is_more && jobs.size() < past_jobs_max;) {
    auto rows = reader.finished_jobs(query);
    if (!rows.ok()) return rows.error();
    is_more = rows->size() == query.limit;
    for (store::JobRow& row : *rows) {
      query.before = row.id;
      if (row.finished_us.value_or(0) < since_us || row.run_us <= 0 || is_group(row)) continue;
      auto spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore);
      if (spec.ok() && spec->gpus.max > 0 && jobs.size() < past_jobs_max)
        jobs.emplace_back(std::move(row), std::move(*spec));
    }
  }
  if (jobs.empty())
    return invalid("trace-empty", "no job with GPUs has ended in that time")
        .hint("ask for more days, or for a workload");
  std::int64_t zero_us = INT64_MAX;
  for (const auto& [job, spec] : jobs) zero_us = std::min(zero_us, job.submitted_us);
  std::string text =
      "job_id,submit_time_s,gpus,duration_s,user,est_duration_s,priority,gpus_min,gpus_max,gpu_type,status\n";
  for (auto each = jobs.rbegin(); each != jobs.rend(); ++each) text += row_of(each->first, each->second, zero_us);
  return text;
}

Result<std::string> servers_as_file(const Core& core) {
  using Kind = std::tuple<int, std::string, std::int64_t>;  // GPUs, their type, their memory
  std::map<Kind, int> kinds;
  const ServerTable& servers = core.servers();
  for (std::uint32_t s = 0; s < servers.size(); ++s) {
    const Server& server = servers[ServerIndex(s)];
    if (server.state == ServerState::removed || server.description.gpus == 0) continue;
    const GpuTypeIndex type = server.description.gpu_type;
    ++kinds[{server.description.gpus, type.valid() ? std::string(core.gpu_types().text(type)) : "",
             server.description.gpu_memory_bytes.value_or(0)}];
  }
  if (kinds.empty())
    return conflict("no-servers", "this cluster has no server with GPUs").hint("name the servers to simulate: 4x8");
  std::string text;
  for (const auto& [kind, count] : kinds) {
    const auto& [gpus, type, memory_bytes] = kind;
    text += fmt::format("[[servers]]\ncount = {}\ngpus = {}\n", count, gpus);
    if (!type.empty()) text += "gpu_type = " + boost::json::serialize(boost::json::string(type)) + '\n';
    if (memory_bytes > 0) text += fmt::format("gpu_memory = \"{}MiB\"\n", memory_bytes >> 20);
  }
  return text;
}

}  // namespace sl::controller
