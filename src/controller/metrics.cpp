#include "controller/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/outlook.h"
#include "controller/views.h"

namespace sl::controller {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) text += c == '\\' ? "\\\\" : c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
  return text;
}

std::string labels_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels)
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value));
  return text.empty() ? "" : "{" + text + "}";
}

// The text exposition format, version 0.0.4.
class Exposition {
 public:
  // Samples follow. `kind`: "gauge", "counter", "histogram", "summary".
  void family(const char* name, const char* kind, const char* help) {
    name_ = std::string("schedulearn_") + name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, kind);
  }
  void sample(double value, const Labels& labels = {}, const char* suffix = "") {
    text_ += fmt::format("{}{}{} {}\n", name_, suffix, labels_text(labels), value);
  }
  void histogram(const Histogram& histogram, Labels labels = {}) {
    labels.emplace_back("le", "");
    for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
      labels.back().second = fmt::format("{}", histogram.bounds()[i]);
      sample(static_cast<double>(histogram.below(i)), labels, "_bucket");
    }
    labels.back().second = "+Inf";
    sample(static_cast<double>(histogram.count()), labels, "_bucket");
    labels.pop_back();
    sample(histogram.sum(), labels, "_sum");
    sample(static_cast<double>(histogram.count()), labels, "_count");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

double gpus_wanted(const Core& core) {
  double gpus = 0;
  for (const auto* queue : {&core.waiting(), &core.aside()}) {
    for (const JobIndex index : *queue) {
      const Job& job = core.job(index);
      const std::int64_t jobs = job.group ? job.group->to_come.count() : 1;
      gpus += static_cast<double>(jobs) * job.request.gpus;
    }
  }
  return gpus;
}

void add_jobs(const Logic& logic, Exposition& to) {
  to.family("jobs", "gauge",
            "Jobs by state, members of arrays included; those that have ended as long as they are kept.");
  for (int s = 0; s <= static_cast<int>(JobState::cancelled); ++s) {
    const auto state = static_cast<JobState>(s);
    to.sample(static_cast<double>(count_jobs(logic, state)), {{"state", to_string(state)}});
  }
  to.family("queue_gpus_wanted", "gauge", "GPUs that waiting jobs ask for, members of arrays included.");
  to.sample(gpus_wanted(logic.core()));
  const JobTotals& totals = logic.recorder().totals();
  to.family("job_wait_seconds", "histogram", "Time from submission to the first start.");
  to.histogram(totals.wait_s);
  to.family("job_run_seconds", "histogram", "Time that jobs which have ended were running.");
  to.histogram(totals.run_s);
  to.family("jobs_finished_total", "counter", "Jobs that have ended since the controller started.");
  for (const auto& [result, count] : totals.finished) to.sample(static_cast<double>(count), {{"result", result}});
  to.family("preemptions_total", "counter", "Times that a job was stopped or frozen for others.");
  to.sample(static_cast<double>(totals.preemptions));
  to.family("migrations_total", "counter", "Times that a job was moved to other GPUs.");
  to.sample(static_cast<double>(totals.migrations));
  to.family("resizes_total", "counter", "Times that a job got another number of GPUs.");
  to.sample(static_cast<double>(totals.resizes));
  to.family("deadlines_total", "counter", "Jobs with a deadline that have ended, other than by being cancelled.");
  to.sample(static_cast<double>(totals.deadlines_met), {{"result", "met"}});
  to.sample(static_cast<double>(totals.deadlines_missed), {{"result", "missed"}});
}

void add_scheduler(const Logic& logic, Exposition& to) {
  const TurnTimes& turns = logic.turn_times();
  to.family("scheduler_cycle_seconds", "summary", "Time of a turn: deciding, recording, sending; of the latest 4,096.");
  for (const double q : {0.5, 0.9, 0.99})
    to.sample(turns.quantile(q).to_seconds(), {{"quantile", fmt::format("{}", q)}});
  to.sample(turns.sum().to_seconds(), {}, "_sum");
  to.sample(static_cast<double>(turns.count()), {}, "_count");
  to.family("policy_info", "gauge", "The policy in force.");
  to.sample(1, {{"policy", logic.policies().in_force().name}});
  to.family("build_info", "gauge", "The version of the controller.");
  to.sample(1, {{"version", logic.settings().version}});
  const auto prospects = logic.outlook() ? logic.outlook()->latest() : nullptr;
  to.family("estimate_error_ratio", "gauge",
            "Share of the ranges shown that did not hold; one in five is meant not to.");
  for (const forecast::HitRate& rate : prospects ? prospects->record : std::vector<forecast::HitRate>()) {
    if (rate.ranges == 0) continue;
    to.sample(1 - static_cast<double>(rate.held) / static_cast<double>(rate.ranges),
              {{"policy", rate.policy}, {"target", to_string(rate.target)}, {"horizon", to_string(rate.horizon)}});
  }
}

// visit(GPU's report, labels) for each GPU that an agent has reported.
template <typename Visit>
void for_each_gpu(const Logic& logic, Visit visit) {
  for_each_server(logic.core(), [&](const Server& server, ServerIndex) {
    const Agent* agent = logic.agents().by_server(server.description.name);
    if (!agent) return;
    for (const wire::GpuReport& gpu : agent->hello.gpus)
      visit(gpu, Labels{{"server", server.description.name}, {"gpu", std::to_string(gpu.index)}});
  });
}

template <typename ValueOf>
void add_gpu_figure(const Logic& logic, Exposition& to, const char* name, const char* help, ValueOf value_of) {
  to.family(name, "gauge", help);
  for_each_gpu(logic, [&](const wire::GpuReport& gpu, const Labels& labels) {
    if (const std::optional<double> value = value_of(gpu)) to.sample(*value, labels);
  });
}

void add_servers(const Logic& logic, Exposition& to) {
  to.family("agent_up", "gauge", "Whether the agent of the server is connected.");
  for_each_server(logic.core(), [&](const Server& server, ServerIndex) {
    const Agent* agent = logic.agents().by_server(server.description.name);
    to.sample(agent && agent->session != 0 ? 1 : 0, {{"server", server.description.name}});
  });
  using Gpu = const wire::GpuReport&;
  using Maybe = std::optional<double>;
  add_gpu_figure(logic, to, "gpu_utilization_ratio", "How busy the GPU is, 0 to 1.",
                 [](Gpu gpu) { return gpu.utilization_pct ? Maybe(*gpu.utilization_pct / 100) : Maybe(); });
  add_gpu_figure(logic, to, "gpu_memory_used_bytes", "Memory in use on the GPU.", [](Gpu gpu) {
    return gpu.memory_used_bytes ? Maybe(static_cast<double>(*gpu.memory_used_bytes)) : Maybe();
  });
  add_gpu_figure(logic, to, "gpu_memory_total_bytes", "Memory of the GPU.",
                 [](Gpu gpu) { return Maybe(static_cast<double>(gpu.memory_total_bytes)); });
  add_gpu_figure(logic, to, "gpu_temperature_celsius", "Temperature of the GPU.",
                 [](Gpu gpu) { return gpu.temperature_celsius; });
  add_gpu_figure(logic, to, "gpu_power_watts", "Power that the GPU draws.", [](Gpu gpu) { return gpu.power_watts; });
  add_gpu_figure(logic, to, "gpu_outside_bytes", "GPU memory of processes that were not started here.", [](Gpu gpu) {
    double bytes = 0;
    for (const wire::GpuProcess& process : gpu.outside) bytes += static_cast<double>(process.memory_bytes.value_or(0));
    return Maybe(bytes);
  });
  to.family("gpu_allocated", "gauge", "1 for each GPU that a job has.");
  for_each_server(logic.core(), [&](const Server& server, ServerIndex index) {
    for (int gpu = 0; gpu < server.description.gpus; ++gpu) {
      logic.core().ledger().for_each_tenant(index, gpu, [&](JobIndex tenant) {
        to.sample(1, {{"server", server.description.name},
                      {"gpu", std::to_string(gpu)},
                      {"job", std::to_string(logic.core().job(tenant).request.id.value)}});
      });
    }
  });
}

}  // namespace

void Histogram::observe(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  ++count_;
  sum_ += value;
}

std::int64_t Histogram::below(std::size_t bound) const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i <= bound; ++i) count += counts_[i];
  return count;
}

void JobTotals::note(const Record& record, const Job& job) {
  if (record.kind != RecordKind::job_state || job.group) return;
  const bool is_frozen = record.why == StopReason::none && record.from == JobState::running;
  if (record.to == JobState::stopping && (record.why == StopReason::preempted || is_frozen) && !job.on_hold)
    ++preemptions;
  if (is_moving(record.from) && (record.to == JobState::starting || record.to == JobState::running))
    ++(record.from == JobState::migrating ? migrations : resizes);
  if (record.to == JobState::running && record.from == JobState::starting && job.first_start == record.at)
    wait_s.observe((record.at - job.request.submitted).to_seconds());
  if (!is_finished(record.to)) return;
  ++finished[to_string(record.to)];
  if (job.request.deadline != Instant::never() && record.to != JobState::cancelled)
    ++(record.to == JobState::succeeded && record.at <= job.request.deadline ? deadlines_met : deadlines_missed);
  if (job.first_start.happened()) run_s.observe(job.run.to_seconds());
}

void HttpTimes::observe(const std::string& method, int status, Duration time) {
  static const std::vector<double> bounds = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5};
  const bool is_known =
      method == "GET" || method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE";
  const std::lock_guard lock(mutex_);
  times_.try_emplace({is_known ? method : "other", fmt::format("{}xx", status / 100)}, bounds)
      .first->second.observe(time.to_seconds());
}

std::map<std::pair<std::string, std::string>, Histogram> HttpTimes::all() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::string metrics_text(const Logic& logic, const HttpTimes& http) {
  Exposition text;
  add_jobs(logic, text);
  add_scheduler(logic, text);
  add_servers(logic, text);
  text.family("http_request_seconds", "histogram", "Time from taking up a request until its answer began.");
  for (const auto& [labels, times] : http.all())
    text.histogram(times, {{"method", labels.first}, {"status", labels.second}});
  return text.take();
}

}  // namespace sl::controller
