#include "cli/reproduce_real.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <thread>

#include "cli/commands.h"
#include "plot/render.h"
#include "reproduce/live.h"
#include "sim/choices.h"
#include "sim/trace_file.h"
#include "wire/json.h"

namespace sl::cli {
namespace {

constexpr const char* experiment_of_real = "schedulearn-turnaround";
constexpr const char* policies[] = {"fifo", "round_robin"};
constexpr int runs_alone = 3;                      // how long one takes: their mean
constexpr double interval_of_length = 10.0 / 157;  // the thesis: one every 10 s of a training of 157 s
constexpr double chart_width_mm = 160;

// "2026-01-02T03:04:05.678Z" in seconds since 1970.
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

// The policy of the live cluster as it was found; put back at the end, however that comes.
class PolicyGuard {
 public:
  PolicyGuard(const Context& context, json::value before) : context_(context), before_(std::move(before)) {}
  PolicyGuard(const PolicyGuard&) = delete;
  PolicyGuard& operator=(const PolicyGuard&) = delete;
  ~PolicyGuard() {
    const json::object body = {{"name", text_at(before_, "name")}, {"parameters", value_at(before_, "parameters")}};
    if (const auto put = context_.call("PUT", "/api/v1/policy", json::serialize(body)); !put.ok()) fail(put.error());
  }

 private:
  const Context& context_;
  json::value before_;
};

class RealRuns {
 public:
  RealRuns(const Context& context, std::string body) : context_(context), body_(std::move(body)) {}

  // How long the training takes alone.
  Result<double> alone() {
    double sum = 0;
    for (int i = 0; i < runs_alone; ++i) {
      const auto jobs = run(1, 0);
      if (!jobs.ok()) return jobs.error();
      sum += jobs->front().finished_s - jobs->front().started_s;
    }
    return sum / runs_alone;
  }

  // So many of them, one every so many seconds. Errors: "job-failed", "interrupted", those of the controller.
  Result<std::vector<reproduce::JobTimes>> run(std::int64_t count, double interval_s) {
    std::vector<std::int64_t> ids;
    auto next = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < count; ++i) {
      std::this_thread::sleep_until(next);
      next += std::chrono::microseconds(static_cast<std::int64_t>(interval_s * 1e6));
      const auto job = context_.call("POST", "/api/v1/jobs", body_);
      if (!job.ok()) return job.error();
      ids.push_back(static_cast<std::int64_t>(number_at(*job, "id")));
    }
    std::vector<reproduce::JobTimes> jobs;
    for (const std::int64_t id : ids) {
      const auto times = times_of(id);
      if (!times.ok()) return times.error();
      jobs.push_back(*times);
    }
    return jobs;
  }

 private:
  Result<reproduce::JobTimes> times_of(std::int64_t id) {
    while (interrupts() == 0) {
      const auto job = context_.get("/api/v1/jobs/" + std::to_string(id));
      if (!job.ok()) return job.error();
      if (!value_at(*job, "finished_at").is_string()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        continue;
      }
      if (text_at(*job, "state") != "succeeded")
        return conflict("job-failed", fmt::format("job {} {}", id, text_at(*job, "state")))
            .hint(fmt::format("schedulearn logs {}", id));
      return reproduce::JobTimes{seconds_of(text_at(*job, "created_at")), seconds_of(text_at(*job, "started_at")),
                                 seconds_of(text_at(*job, "finished_at")), 0, true};
    }
    return conflict("interrupted", "interrupted; jobs that were handed in go on").hint("schedulearn ls");
  }

  const Context& context_;
  std::string body_;
};

struct Live {
  sim::Cluster cluster;
  std::string caption;
};

// The servers that are up, as the simulator knows them.
Result<Live> live_cluster(const Context& context) {
  const auto view = context.get("/api/v1/cluster");
  if (!view.ok()) return view.error();
  const json::value& jobs = value_at(*view, "jobs");
  for (const char* state : {"pending", "starting", "running", "suspended", "stopping"}) {
    if (number_at(jobs, state) > 0)
      return conflict("cluster-busy", "the cluster has unfinished jobs, which would be part of the measurement")
          .hint("schedulearn wait all");
  }
  Live live;
  double gpus = 0, simulated = 0;
  for (const json::value& server : value_at(*view, "servers").as_array()) {
    if (text_at(server, "state") != "up") continue;
    sim::ServerKind kind;
    kind.name = text_at(server, "name");
    kind.gpus = static_cast<int>(value_at(server, "gpus").as_array().size());
    live.cluster.kinds.push_back(kind);
    gpus += kind.gpus;
    simulated += value_at(server, "simulated").is_bool() && value_at(server, "simulated").as_bool() ? kind.gpus : 0;
  }
  if (live.cluster.kinds.empty()) return conflict("no-servers", "no server is up").hint("schedulearn up");
  live.caption = fmt::format("{} GPUs on {} servers", gpus, live.cluster.kinds.size());
  if (simulated > 0)
    live.caption += fmt::format(", {} of them simulated: trainings there share this machine's CPUs", simulated);
  return live;
}

Result<std::vector<reproduce::LiveRun>> run_all(const Context& context, RealRuns& runs,
                                                const std::vector<std::int64_t>& counts, double interval_s) {
  std::vector<reproduce::LiveRun> all;
  for (const char* policy : policies) {
    const json::object body = {{"name", policy}, {"parameters", json::object{}}};
    if (const auto put = context.call("PUT", "/api/v1/policy", json::serialize(body)); !put.ok()) return put.error();
    for (const std::int64_t count : counts) {
      if (!context.quiet) std::fprintf(stderr, "%s, %lld jobs …\n", policy, static_cast<long long>(count));
      auto jobs = runs.run(count, interval_s);
      if (!jobs.ok()) return jobs.error();
      all.push_back({policy, std::move(*jobs)});
    }
  }
  return all;
}

Status write_all(const RealOptions& options, const std::string& folder, const std::vector<reproduce::LiveRow>& rows,
                 const std::string& caption) {
  plot::Figure figure = reproduce::live_figure(rows, caption);
  figure.command = options.command;
  const std::string svg = plot::render(figure, {chart_width_mm, plot::Theme::automatic});
  if (Status written = sim::write_text(folder + "/real.svg", svg); !written.ok()) return written;
  return sim::write_text(folder + "/real.csv", reproduce::live_csv(rows));
}

Result<std::string> folder_of(const RealOptions& options) {
  const std::string folder = options.folder + "/" + options.experiment;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return denied("cannot-write", "cannot make the folder " + folder + ": " + error.message());
  return folder;
}

Status measure(const Context& context, const RealOptions& options) {
  if (options.experiment != experiment_of_real)
    return invalid("bad-flag", "--real is for " + std::string(experiment_of_real))
        .hint(fmt::format("schedulearn reproduce {} --real job.toml", experiment_of_real));
  const auto counts = sim::parse_numbers(options.job_counts, "--jobs");
  if (!counts.ok()) return counts.error();
  SubmitOptions submitted;
  submitted.file = options.job_file;
  const auto spec = job_to_submit(context, submitted);
  if (!spec.ok()) return spec.error();
  if (spec->gpus.max != 1) return invalid("bad-job", "the training asks for more than one GPU").hint("gpus = 1");
  const auto folder = folder_of(options);
  if (!folder.ok()) return folder.error();
  const auto live = live_cluster(context);
  if (!live.ok()) return live.error();
  const auto before = context.get("/api/v1/policy");
  if (!before.ok()) return before.error();

  catch_interrupts();
  const PolicyGuard guard(context, *before);
  RealRuns runs(context, wire::write_json(*spec));
  const auto alone_s = runs.alone();
  if (!alone_s.ok()) return alone_s.error();
  const double interval_s = *alone_s * interval_of_length;
  const auto real = run_all(context, runs, *counts, interval_s);
  if (!real.ok()) return real.error();
  const auto rows = reproduce::compare_live(live->cluster, *alone_s, *real, *folder);
  if (!rows.ok()) return rows.error();
  const std::string caption = fmt::format("{}: {:.2f} s alone (mean of {}), one every {:.2f} s, {}.", spec->name,
                                          *alone_s, runs_alone, interval_s, live->caption);
  if (Status written = write_all(options, *folder, *rows, caption); !written.ok()) return written;
  context.as_json ? static_cast<void>(std::printf("%s", reproduce::live_csv(*rows).c_str()))
                  : static_cast<void>(std::printf("%s\n\n%s\nwrote %s/real.csv, real.svg\n", caption.c_str(),
                                                  reproduce::live_table(*rows).c_str(), folder->c_str()));
  return {};
}

}  // namespace

int reproduce_real(const Context& context, const RealOptions& options) {
  const Status done = measure(context, options);
  if (done.ok()) return 0;
  return done.error().code == "interrupted" ? (fail(done.error()), 130) : fail(done.error());
}

}  // namespace sl::cli
