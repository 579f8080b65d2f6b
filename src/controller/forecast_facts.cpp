#include "controller/forecast_facts.h"

#include <algorithm>
#include <tuple>

#include "wire/json.h"
#include "wire/members.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr std::size_t ended_known_most = 4'000;

GivenParameters given_in(const std::string& parameters_json) {
  GivenParameters given;
  json::error_code error;
  const json::value parsed = json::parse(parameters_json, error);
  if (error || !parsed.is_object()) return given;
  for (const auto& [key, value] : parsed.get_object()) {
    if (value.is_string()) given.emplace_back(std::string(key), std::string(value.get_string()));
  }
  return given;
}

std::string command_of(const wire::JobSpec& spec) {
  if (const auto* line = std::get_if<std::string>(&spec.command)) return *line;
  std::string text;
  for (const std::string& word : std::get<std::vector<std::string>>(spec.command)) text += word + '\n';
  return text;
}

// Run times of those that gave up by themselves count: they free their GPUs too.
bool says_how_long_it_takes(const ToldEnd& end) {
  return end.state == "succeeded" || (end.state == "failed" && end.failure_kind != "server_lost");
}

double ran_s(const ToldEnd& end, const wire::JobSpec& spec) {
  if (end.run_us <= 0) return 0;
  const double held = static_cast<double>(end.attained_gpu_us) / static_cast<double>(end.run_us);
  const double pace = spec.gpus.max > 0 && held > 0 ? std::min(1.0, held / spec.gpus.max) : 1;
  return static_cast<double>(end.run_us) * 1e-6 * pace;
}

double number_in(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_number() ? value->to_number<double>() : 0;
}

// How fast it was when it last ran on as many GPUs: what an attempt that has just begun is likely to reach.
std::optional<double> earlier_speed(const Core& core, JobId id) {
  const JobIndex index = core.find(id);
  if (!index.valid() || !core.job(index).telemetry) return std::nullopt;
  const Job& job = core.job(index);
  const std::vector<SpeedSample>& speeds = job.telemetry->speeds;
  const auto last = std::find_if(speeds.rbegin(), speeds.rend(),
                                 [&](const SpeedSample& sample) { return sample.workers == job.allocation.count(); });
  return last == speeds.rend() ? std::nullopt : std::optional(last->steps_per_s);
}

}  // namespace

forecast::RunKind kind_of(const wire::JobSpec& spec) {
  const std::string family = spec.training.family ? *spec.training.family : forecast::family_of(spec.name);
  return {.user = forecast::hash_of(spec.user),
          .family = forecast::hash_of(family),
          .command = forecast::hash_of(command_of(spec)),
          .gpus = spec.gpus.max};
}

// ---- the core's thread ----

Told Teller::tell_present(Instant now) const {
  Told told;
  told.version = version();
  told.present = forecast::copy_of(logic_.core(), now);
  const store::PolicyRow& policy = logic_.policies().in_force();
  told.policy = {.name = policy.name, .parameters = given_in(policy.parameters_json), .source = policy.source};
  const ServerTable& servers = logic_.core().servers();
  for (std::uint32_t s = 0; s < servers.size(); ++s) {
    const Server& server = servers[ServerIndex(s)];
    const Quarantine* quarantine = logic_.health().find(server.description.name);
    if (server.state == ServerState::quarantined && quarantine)
      told.present.returns.push_back({Instant{quarantine->until_us}, ServerIndex(s)});
  }
  return told;
}

Told Teller::tell(Instant now) {
  Told told = tell_present(now);
  tell_jobs(told, now);
  return told;
}

void Teller::tell_jobs(Told& told, Instant now) {
  const JobId before = told_up_to_;
  logic_.book().for_each([&](const JobEntry& entry) {
    const store::JobRow& row = entry.row;
    const JobId id(row.id);
    if (row.finished_us) {
      if (Instant{*row.finished_us} <= last_) return;
      const auto started_us = is_group(row) ? row.first_start_us : row.last_start_us;
      told.ends.push_back({.id = id,
                           .state = row.state,
                           .failure_kind = row.failure_kind,
                           .spec_json = row.spec_json,
                           .started = started_us ? std::optional(Instant{*started_us}) : std::nullopt,
                           .at = Instant{*row.finished_us},
                           .run_us = row.run_us,
                           .attained_gpu_us = row.attained_gpu_us});
      return;
    }
    if (id > before) told.jobs.push_back({id, row.spec_json});
    told_up_to_ = std::max(told_up_to_, id);
    if (row.progress_json.empty()) return;
    ToldProgress& progress = told.progress.emplace_back(ToldProgress{.id = id, .progress_json = row.progress_json});
    if (!entry.measured) return;
    progress.per_s = entry.measured->meter.per_s();
    if (!progress.per_s) progress.per_s = earlier_speed(logic_.core(), id);
    progress.unit = entry.measured->unit;
    progress.steps_per_epoch = entry.measured->steps_per_epoch;
  });
  std::sort(told.ends.begin(), told.ends.end(),
            [](const ToldEnd& a, const ToldEnd& b) { return std::tie(a.at, a.id) < std::tie(b.at, b.id); });
  last_ = now;
}

// ---- the forecast's thread ----

void KnownLengths::learn(const Told& told) {
  for (const ToldJob& job : told.jobs) {
    const auto spec = wire::read_json<wire::JobSpec>(job.spec_json, wire::Unknown::ignore);
    if (!spec.ok()) continue;
    // A group is of the kind of its members, whose names and commands are made of its own.
    const bool is_group = wire::is_group(*spec);
    kinds_[job.id.value] = kind_of(is_group ? wire::member_spec(*spec, job.id.value, 0) : *spec);
  }
  for (const ToldEnd& end : told.ends) {
    ended_.push_back(end.id.value);
    if (ended_.size() > ended_known_most) kinds_.erase(std::exchange(ended_.front(), {})), ended_.pop_front();
    if (!says_how_long_it_takes(end) || end.run_us <= 0) continue;
    const auto spec = wire::read_json<wire::JobSpec>(end.spec_json, wire::Unknown::ignore);
    if (!spec.ok()) continue;
    lengths_.add({.kind = kind_of(*spec),
                  .run_s = ran_s(end, *spec),
                  .estimate_s = spec->estimate_s,
                  .limit_s = spec->time_limit_s});
  }
}

double ran_s(const ToldEnd& end) {
  const auto spec = wire::read_json<wire::JobSpec>(end.spec_json, wire::Unknown::ignore);
  return spec.ok() ? ran_s(end, *spec) : 0;
}

std::vector<forecast::JobFacts> KnownLengths::facts_of(const Told& told) const {
  std::vector<forecast::JobFacts> facts(told.present.jobs.size());
  for (std::size_t at = 0; at < facts.size(); ++at) {
    facts[at].kind = kind_for(told.present.jobs[at].request);
  }
  for (const ToldProgress& progress : told.progress) {
    const std::size_t at = told.present.find(progress.id);
    if (at < facts.size()) facts[at].progress = read_progress(progress, told.present.jobs[at], told.present.now);
  }
  return facts;
}

forecast::RunKind KnownLengths::kind_for(const JobRequest& request) const {
  auto known = kinds_.find(request.id.value);
  if (known == kinds_.end()) known = kinds_.find(request.member_of.value);  // as the other members of its group
  if (known != kinds_.end()) return known->second;
  return {.family = static_cast<std::uint64_t>(request.id.value), .gpus = request.gpus};
}

std::optional<forecast::ReportedProgress> read_progress(const ToldProgress& told, const Job& job, Instant now) {
  json::error_code error;
  const json::value parsed = json::parse(told.progress_json, error);
  if (error || !parsed.is_object()) return std::nullopt;
  const json::object& report = parsed.get_object();
  const double done = number_in(report, "done"), total = number_in(report, "total");
  const double run_s = job.run_at(now).to_seconds();
  // What has been stopped goes on where it was, unless it has nothing to go on from.
  const bool runs = job.state == JobState::running;
  if (!runs && !is_frozen(job) && job.request.capability != Capability::checkpoint) return std::nullopt;
  if (!(done > 0) || !(total >= done) || !(run_s > 0)) return std::nullopt;
  const json::value* unit = report.if_contains("unit");
  const bool same_unit = unit && unit->is_string() && unit->get_string() == told.unit;
  const bool by_steps = unit && *unit == "epoch" && told.unit == "step" && told.steps_per_epoch;
  const double reported_s = number_in(report, "updated_us") * 1e-6;
  const double since_s = runs ? std::max(0.0, static_cast<double>(now.us) * 1e-6 - reported_s) : 0;
  // Measured, else on average over all its run time up to the report.
  const double average = done / std::max(run_s - std::min(since_s, run_s * 0.9), 1e-3);
  const bool is_measured = told.per_s && *told.per_s > 0 && (same_unit || by_steps);
  const double rate = !is_measured ? average : same_unit ? *told.per_s : *told.per_s / *told.steps_per_epoch;
  const double left_s = std::max((total - done) / rate - since_s, 0.0);
  const int held = job.allocation.count();
  const double pace =
      held < 1 || held == job.request.gpus ? 1 : job.request.speed_curve().speed_on(held, job.request.gpus);
  return forecast::ReportedProgress{.left_s = left_s * pace, .share = done / total, .is_measured = is_measured};
}

}  // namespace sl::controller
