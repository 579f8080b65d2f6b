#include "cli/live_cluster.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "cli/commands.h"
#include "cli/render.h"
#include "wire/json.h"

namespace sl::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds look_every{50};

Error interrupted() {
  return conflict("interrupted", "interrupted; submitted jobs keep running").hint("schedulearn cancel all");
}

// Ends early on Ctrl-C.
void sleep_until(Clock::time_point at) {
  while (interrupts() == 0 && Clock::now() < at) std::this_thread::sleep_until(std::min(at, Clock::now() + look_every));
}

// "2026-01-02T03:04:05.678Z" as seconds since 1970.
double seconds_of(const std::string& rfc3339) {
  std::tm calendar{};
  double seconds = 0;
  if (std::sscanf(rfc3339.c_str(), "%d-%d-%dT%d:%d:%lf", &calendar.tm_year, &calendar.tm_mon, &calendar.tm_mday,
                  &calendar.tm_hour, &calendar.tm_min, &seconds) != 6)
    return 0;
  calendar.tm_year -= 1900;
  calendar.tm_mon -= 1;
  return static_cast<double>(::timegm(&calendar)) + seconds;
}

// "fifo, 5 jobs on 1 to 2 GPUs each"
std::string text_of(const reproduce::LiveRun& run) {
  const int least = run.gpus.min, most = run.gpus.max;
  const std::string gpus =
      least == most ? plural(static_cast<std::size_t>(most), "GPU") : fmt::format("{} to {} GPUs", least, most);
  return fmt::format("{}, {} on {}{}", run.policy, plural(static_cast<std::size_t>(run.count), "job"), gpus,
                     run.count > 1 ? " each" : "");
}

Status check_idle(const json::value& view) {
  for (const char* state : {"pending", "starting", "running", "suspended", "migrating", "resizing", "stopping"}) {
    if (number_at(value_at(view, "jobs"), state) > 0)
      return conflict("cluster-busy", "the cluster has unfinished jobs, which would be part of the measurement")
          .hint("schedulearn wait all");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LiveCluster>> LiveCluster::open(const Context& context) {
  const auto view = context.get("/api/v1/cluster");
  if (!view.ok()) return view.error();
  if (Status idle = check_idle(*view); !idle.ok()) return idle.error();
  const auto policy = context.get("/api/v1/policy");
  if (!policy.ok()) return policy.error();
  std::unique_ptr<LiveCluster> cluster(new LiveCluster(context, *policy));
  if (Status read = cluster->read_servers(*view); !read.ok()) return read.error();
  return cluster;
}

LiveCluster::~LiveCluster() {
  if (policy_.empty()) return;
  json::object body;
  for (const char* key : {"name", "parameters", "source"}) {
    if (const json::value& value = value_at(policy_before_, key); !value.is_null()) body[key] = value;
  }
  if (const auto put = context_.call("PUT", "/api/v1/policy", json::serialize(body)); !put.ok()) fail(put.error());
}

Status LiveCluster::read_servers(const json::value& view) {
  int first = 0;
  for (const json::value& server : value_at(view, "servers").as_array()) {
    if (text_at(server, "state") != "up") continue;
    const int gpus = static_cast<int>(value_at(server, "gpus").as_array().size());
    servers_.push_back({text_at(server, "name"), gpus, first});
    first += gpus;
    const json::value& simulated = value_at(server, "simulated");
    if (simulated.is_bool() && simulated.as_bool()) simulated_ += gpus;
  }
  if (first == 0) return conflict("no-servers", "no server with GPUs is up").hint("schedulearn up");
  return {};
}

std::string LiveCluster::description() const {
  const int gpus = servers_.back().gpu_first + servers_.back().gpus;
  std::string text = plural(static_cast<std::size_t>(gpus), "GPU") + " on " + plural(servers_.size(), "server");
  if (simulated_ > 0)
    text += fmt::format(", {} simulated: trainings there share this machine's CPUs",
                        simulated_ == gpus ? "all" : fmt::format("{} of them", simulated_));
  return text;
}

Status LiveCluster::set_policy(const std::string& name) {
  if (name == policy_) return {};
  const json::object body = {{"name", name}, {"parameters", json::object{}}};
  if (const auto put = context_.call("PUT", "/api/v1/policy", json::serialize(body)); !put.ok()) return put.error();
  policy_ = name;
  return {};
}

Result<std::vector<reproduce::LiveJob>> LiveCluster::run(wire::JobSpec training, const reproduce::LiveRun& run) {
  if (!context_.quiet) std::fprintf(stderr, "%s ...\n", text_of(run).c_str());
  if (Status set = set_policy(run.policy); !set.ok()) return set.error();
  training.gpus = run.gpus;
  training.preemptible = false;
  const auto ids = hand_in(wire::write_json(training), run);
  if (!ids.ok()) return ids.error();
  std::vector<reproduce::LiveJob> jobs;
  for (const std::int64_t id : *ids) {
    auto job = finished(id);
    if (!job.ok()) return job.error();
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

Result<std::vector<std::int64_t>> LiveCluster::hand_in(const std::string& body, const reproduce::LiveRun& run) {
  std::vector<std::int64_t> ids;
  const auto interval = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(run.interval_s));
  auto next = Clock::now();
  for (std::int64_t i = 0; i < run.count; ++i, next += interval) {
    sleep_until(next);
    if (interrupts() > 0) return interrupted();
    const auto job = context_.create_job("/api/v1/jobs", body);
    if (!job.ok()) return job.error();
    ids.push_back(static_cast<std::int64_t>(number_at(*job, "id")));
  }
  return ids;
}

Result<reproduce::LiveJob> LiveCluster::finished(std::int64_t id) {
  while (interrupts() == 0) {
    const auto job = context_.get("/api/v1/jobs/" + std::to_string(id));
    if (!job.ok()) return job.error();
    if (!value_at(*job, "finished_at").is_string()) {
      std::this_thread::sleep_for(look_every);
      continue;
    }
    if (text_at(*job, "state") != "succeeded")
      return conflict("job-failed", fmt::format("job {} {}", id, text_at(*job, "state")))
          .hint(fmt::format("schedulearn logs {}", id));
    const reproduce::JobTimes times = {seconds_of(text_at(*job, "created_at")), seconds_of(text_at(*job, "started_at")),
                                       seconds_of(text_at(*job, "finished_at")), 0, true};
    return reproduce::LiveJob{times, gpus_of(*job)};
  }
  return interrupted();
}

std::vector<plot::GpuPiece> LiveCluster::gpus_of(const json::value& job) const {
  std::vector<plot::GpuPiece> pieces;
  for (const json::value& place : value_at(job, "placement").as_array()) {
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      if (servers_[s].name != text_at(place, "server")) continue;
      for (const json::value& gpu : value_at(place, "gpus").as_array()) {  // "server-2"
        const int index = std::atoi(gpu.as_string().c_str() + servers_[s].name.size() + 1);
        pieces.push_back({static_cast<int>(s), index, index});
      }
    }
  }
  return pieces;
}

}  // namespace sl::cli
