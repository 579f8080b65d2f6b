#include "cli/profile.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "cli/render.h"
#include "net/http.h"
#include "wire/costs.h"
#include "wire/error.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/profile.h"
#include "wire/read_file.h"

namespace sl::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Result<wire::TrainingProfile> read_profile(const std::string& path) {
  const auto text = wire::read_file(path, wire::document_bytes_max);
  if (!text.ok()) return text.error();
  auto profile = wire::parse_profile(*text);
  if (!profile.ok()) return wire::in_file(profile.error(), path);
  return profile;
}

std::string percent_text(const std::optional<double>& value) { return value ? fmt::format("{:.0f} %", *value) : "–"; }
std::string gib_text(const std::optional<std::int64_t>& bytes) {
  return bytes ? fmt::format("{:.2f} GiB", static_cast<double>(*bytes) / (1 << 30)) : "–";
}

void print_profile(const Context& context, const wire::TrainingProfile& profile) {
  std::printf("Profile of %s", profile.family.c_str());
  if (profile.epochs && profile.steps_per_epoch)
    std::printf(": %d epochs of %d steps", *profile.epochs, *profile.steps_per_epoch);
  std::printf("\n\n");
  Table table({"GPUS", "SERVERS", "GPU TYPE", "STEPS/S", "SPEEDUP", "UTILIZATION", "MEMORY"}, {0, 1, 3, 4, 5, 6});
  for (const wire::ProfileSpeed& speed : profile.speeds) {
    table.add({std::to_string(speed.gpus), std::to_string(speed.servers), speed.gpu_type,
               fmt::format("{:.4g}", speed.steps_per_s),
               fmt::format("{:.2f}", speed.steps_per_s / profile.speeds.front().steps_per_s),
               percent_text(speed.gpu_utilization_pct), gib_text(speed.gpu_memory_bytes)});
  }
  std::printf("%s", table.text(context).c_str());
  if (profile.restart_s) std::printf("\n  Start-up    %.1f s to the first step\n", *profile.restart_s);
  if (profile.checkpoint_bytes)
    std::printf("  Checkpoint  %lld bytes%s\n", static_cast<long long>(*profile.checkpoint_bytes),
                profile.checkpoint_s ? fmt::format(", stopped within {:.1f} s", *profile.checkpoint_s).c_str() : "");
}

Status keep(const Context& context, const wire::TrainingProfile& profile) {
  const auto kept = context.call("POST", "/api/v1/profiles", wire::profile_text(profile));
  return kept.ok() ? Status() : Status(kept.error());
}

// ---- measuring ----

// A job that is cancelled when this object goes.
class ShortRun {
 public:
  static Result<ShortRun> start(const Context& context, wire::JobSpec spec, int gpus) {
    spec.gpus = {gpus, gpus};
    const auto job = context.create_job("/api/v1/jobs", wire::write_json(spec));
    if (!job.ok()) return job.error();
    return ShortRun(context, static_cast<std::int64_t>(number_at(*job, "id")));
  }
  ShortRun(ShortRun&& other) noexcept : context_(other.context_), id_(std::exchange(other.id_, 0)) {}
  ShortRun& operator=(ShortRun&&) = delete;
  ~ShortRun() {
    if (id_ != 0) cancel();
  }

  // Waits until it has been measured for `seconds`, or has ended.
  Result<json::value> measured(double seconds, double patience_s) {
    std::optional<Clock::time_point> running;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(200))) {
      const auto job = get();
      if (!job.ok()) return job;
      const json::value& telemetry = value_at(*job, "telemetry");
      const bool has_speed = value_at(telemetry, "per_s").is_number();
      const bool ended = value_at(*job, "finished_at").is_string();
      if (ended && text_at(*job, "state") != "succeeded")
        return invalid("job-failed", fmt::format("job {} did not train: {}", id_, ending_text(context_, *job)))
            .hint(fmt::format("schedulearn logs {}", id_));
      if (has_speed && (ended || number_at(telemetry, "measured_s") >= seconds)) return job;
      if (text_at(*job, "state") == "running" && !running) running = Clock::now();
      if (ended || (running && seconds_since(*running) > patience_s && !has_speed)) return no_reports();
      if (interrupts() > 0) return unavailable("interrupted", "interrupted; nothing was kept");
    }
  }
  // Stops it and waits for its end, so that its checkpoint is measured and its GPUs are free.
  Result<json::value> stop() {
    cancel();
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
      auto job = get();
      if (!job.ok() || value_at(*job, "finished_at").is_string()) return id_ = 0, job;
    }
  }

 private:
  ShortRun(const Context& context, std::int64_t id) : context_(context), id_(id) {}
  Result<json::value> get() const { return context_.get("/api/v1/jobs/" + std::to_string(id_)); }
  void cancel() const { (void)context_.call("POST", fmt::format("/api/v1/jobs/{}/cancel", id_), "{}"); }
  Error no_reports() const {
    return invalid("no-reports", fmt::format("job {} has not reported two steps or epochs", id_))
        .note("a speed is measured between two reports of its metrics file")
        .hint("call schedulearn.report(step=…, steps=…) in the training")
        .hint("wait longer: --patience 10m");
  }

  const Context& context_;
  std::int64_t id_;
};

template <typename T>
std::optional<T> figure(const json::value& object, const char* key) {
  const json::value& value = value_at(object, key);
  return value.is_number() ? std::optional(static_cast<T>(value.to_number<double>())) : std::nullopt;
}

template <typename T>
void keep_latest(std::optional<T>& known, const std::optional<T>& newer) {
  if (newer) known = newer;
}

// Adds the measurements of one run to the profile.
void add(wire::TrainingProfile& profile, int gpus, const json::value& job) {
  const json::value& telemetry = value_at(job, "telemetry");
  wire::ProfileSpeed& speed = profile.speeds.emplace_back();
  speed.gpus = gpus;
  if (const auto& speeds = value_at(telemetry, "speeds"); speeds.is_array() && !speeds.get_array().empty())
    speed.gpu_type = text_at(speeds.get_array().back(), "gpu_type");
  speed.steps_per_s = number_at(telemetry, "per_s");
  speed.gpu_utilization_pct = figure<double>(telemetry, "gpu_utilization_pct");
  speed.gpu_memory_bytes = figure<std::int64_t>(telemetry, "gpu_memory_used_bytes");
  keep_latest(profile.restart_s, figure<double>(telemetry, "start_up_s"));
  keep_latest(profile.checkpoint_bytes, figure<std::int64_t>(telemetry, "checkpoint_bytes"));
  keep_latest(profile.checkpoint_s, figure<double>(telemetry, "checkpoint_s"));
  keep_latest(profile.steps_per_epoch,
              text_at(telemetry, "unit") == "epoch" ? std::optional(1) : figure<int>(telemetry, "steps_per_epoch"));
  keep_latest(profile.epochs, figure<int>(value_at(job, "progress"), "epochs"));
}

wire::TrainingProfile begin_profile(const wire::JobSpec& spec, const ProfileOptions& options) {
  wire::TrainingProfile profile;
  const std::string file = options.job.file.substr(options.job.file.rfind('/') + 1);
  profile.family = spec.training.family.value_or(spec.name.empty() ? file.substr(0, file.rfind('.')) : spec.name);
  profile.origin = "schedulearn profile run " + options.job.file + " --gpus " + options.gpus;
  profile.epochs = spec.training.epochs;
  profile.batch_size = spec.training.batch_size;
  profile.model_bytes = spec.training.model_bytes;
  profile.largest_tensor_bytes = spec.training.largest_tensor_bytes;
  return profile;
}

Result<std::vector<int>> parse_counts(const std::string& text) {
  std::vector<int> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto range = wire::parse_gpus(text.substr(at, comma - at));
    if (!range.ok() || range->min != range->max || range->min < 1)
      return invalid("bad-flag", "--gpus takes numbers of GPUs, not " + text).hint("--gpus 1,2,4");
    if (std::find(counts.begin(), counts.end(), range->min) == counts.end()) counts.push_back(range->min);
    at = comma + 1;
  }
  return counts;
}

Result<wire::TrainingProfile> measure(const Context& context, const ProfileOptions& options) {
  const auto counts = parse_counts(options.gpus);
  if (!counts.ok()) return counts.error();
  auto spec = job_to_submit(context, options.job);
  if (!spec.ok()) return spec.error();
  wire::TrainingProfile profile = begin_profile(*spec, options);
  spec->training.family = profile.family;
  spec->preemptible = false;
  spec->retry.max = 0;
  spec->resources.share = false;
  for (const int gpus : *counts) {
    if (!context.quiet)
      std::fprintf(stderr, "running on %s ...\n", plural(static_cast<std::size_t>(gpus), "GPU").c_str());
    auto run = ShortRun::start(context, *spec, gpus);
    if (!run.ok()) return run.error();
    const auto measured = run->measured(options.seconds, options.patience_s);
    if (!measured.ok()) return measured.error();
    const auto ended = run->stop();
    if (!ended.ok()) return ended.error();
    add(profile, gpus, *ended);
  }
  if (Status valid = wire::validate(profile); !valid.ok()) return valid.error();
  return profile;
}

int tell_kept(const Context& context, const wire::TrainingProfile& profile) {
  if (context.is_for_programs()) return context.print_for_programs(json::parse(wire::profile_text(profile))), 0;
  print_profile(context, profile);
  std::printf("\n  stored: from now on it is used to schedule jobs of family %s\n", profile.family.c_str());
  return 0;
}

}  // namespace

int profile_run(const Context& context, const ProfileOptions& options) {
  catch_interrupts();
  const auto profile = measure(context, options);
  if (!profile.ok()) return fail(profile.error());
  if (!options.out.empty()) {
    std::ofstream file(options.out);
    if (!(file << wire::profile_text(*profile)).flush())
      return fail(denied("not-writable", "cannot write " + options.out));
  }
  if (const Status kept = keep(context, *profile); !kept.ok()) {
    if (options.out.empty()) std::printf("%s\n", wire::profile_text(*profile).c_str());  // it has taken minutes
    return fail(kept.error());
  }
  return tell_kept(context, *profile);
}

int profile_import(const Context& context, const std::string& path) {
  const auto profile = read_profile(path);
  if (!profile.ok()) return fail(profile.error());
  if (const Status kept = keep(context, *profile); !kept.ok()) return fail(kept.error());
  return tell_kept(context, *profile);
}

int profile_ls(const Context& context) {
  const auto list = context.get("/api/v1/profiles");
  if (!list.ok()) return fail(list.error());
  if (context.as_json) return context.print_json(*list), 0;
  Table table({"FAMILY", "GPUS", "GPU TYPE", "STEPS/S", "SINCE", "USER", "FROM"}, {3});
  for (const json::value& profile : value_at(*list, "items").as_array()) {
    const auto& speeds = value_at(profile, "speeds").as_array();
    std::string gpus;
    for (const json::value& speed : speeds) {
      const std::string count = fmt::format("{}", number_at(speed, "gpus", 1));
      if (("," + gpus + ",").find("," + count + ",") == std::string::npos) gpus += (gpus.empty() ? "" : ",") + count;
    }
    table.add({text_at(profile, "family"), gpus, text_at(speeds.front(), "gpu_type"),
               fmt::format("{:.4g}", number_at(speeds.front(), "steps_per_s")),
               clock_text(context, text_at(profile, "since")), text_at(profile, "user", "–"),
               text_at(profile, "origin")});
  }
  if (table.empty()) {
    say_none(context, "No profiles yet.\n\n  schedulearn profile run job.toml --gpus 1,2");
    return 0;
  }
  std::printf("%s", table.text(context).c_str());
  return 0;
}

int profile_show(const Context& context, const std::string& family) {
  const auto answer = context.get("/api/v1/profiles/" + net::percent_encode(family));
  if (!answer.ok()) return fail(answer.error());
  const auto profile = wire::parse_profile(json::serialize(*answer));
  if (!profile.ok()) return fail(profile.error());
  if (context.is_for_programs()) return context.print_for_programs(json::parse(wire::profile_text(*profile))), 0;
  print_profile(context, *profile);
  if (!profile->origin.empty()) std::printf("  From        %s\n", profile->origin.c_str());
  return 0;
}

namespace {

std::string mean_text(int count, double seconds) { return count == 0 ? "-" : fmt::format("{:.1f} s", seconds); }

}  // namespace

int profile_costs(const Context& context, const std::string& out) {
  const auto answer = context.get("/api/v1/costs");
  if (!answer.ok()) return fail(answer.error());
  if (!out.empty()) {
    std::ofstream file(out);
    file << wire::json_text(*answer) << "\n";
    file.close();
    if (!file) return fail(denied("cannot-write", "cannot write " + out));
  }
  if (context.as_json) return context.print_json(*answer), 0;
  const auto costs = wire::parse_costs(json::serialize(*answer));
  if (!costs.ok()) return fail(costs.error());
  Table table(
      {"FAMILY", "STOPPED", "TO STOP", "CONTINUED", "TO FIRST STEP", "DONE AGAIN", "FROZEN", "TO FREEZE", "TO GO ON"},
      {1, 2, 3, 4, 5, 6, 7, 8});
  for (const wire::FamilyCosts& of : costs->families)
    table.add({of.family, std::to_string(of.stops), mean_text(of.stops, of.stop_s), std::to_string(of.starts),
               mean_text(of.starts, of.start_s), mean_text(of.starts, of.repeated_s), std::to_string(of.freezes),
               mean_text(of.freezes, of.freeze_s), mean_text(of.thaws, of.thaw_s)});
  if (table.empty()) {
    say_none(context, "No training has been interrupted yet.");
    return 0;
  }
  std::printf("%s", table.text(context).c_str());
  if (!out.empty() && !context.quiet)
    std::printf("\nWritten to %s: schedulearn sim ... --costs %s\n", out.c_str(), out.c_str());
  return 0;
}

int profile_rm(const Context& context, const std::string& family) {
  const auto gone = context.call("DELETE", "/api/v1/profiles/" + net::percent_encode(family), "");
  if (!gone.ok()) return fail(gone.error());
  if (!context.quiet)
    std::printf("The profile of %s is deleted; jobs submitted from now on are scheduled without it.\n", family.c_str());
  return 0;
}

void ProfileCommands::add_to(CLI::App& app) {
  CLI::App* profile =
      app.add_subcommand("profile", "What is known about kinds of trainings: run, ls, show, costs, import, rm.");
  profile->require_subcommand(1);
  profile->fallthrough();
  const auto set_seconds = [](const std::string& flag, double& seconds) {
    return [flag, &seconds](const std::string& text) {
      const auto parsed = wire::parse_duration_s(text);
      if (!parsed.ok() || *parsed <= 0) throw CLI::ValidationError(flag, "not a duration above zero: " + text);
      seconds = *parsed;
    };
  };
  CLI::App* run = command_(*profile, "run", "Measure a training by short runs on this cluster and keep the result.",
                           "  schedulearn profile run examples/fashion-mlp.toml --gpus 1,2\n",
                           [this] { return profile_run(context_(), options_); });
  run->add_option("file", options_.job.file, "job file; the training reports steps or epochs")->required();
  run->add_option("--gpus", options_.gpus, "numbers of GPUs to run on: 1,2,4");
  run->add_option_function<std::string>("--seconds", set_seconds("--seconds", options_.seconds),
                                        "how long to measure each, after its start-up (5s)");
  run->add_option_function<std::string>("--patience", set_seconds("--patience", options_.patience_s),
                                        "how long to wait for its first two reports (2m)");
  run->add_option("--set", options_.job.set, "any key of the job file: --set training.family=cnn");
  run->add_option("-o,--out", options_.out, "write the profile to this file too");
  command_(*profile, "ls", "List the stored profiles, one per family.", "  schedulearn profile ls\n",
           [this] { return profile_ls(context_()); });
  command_(*profile, "show", "Show a profile; --json prints its file.", "  schedulearn profile show fashion-mlp\n",
           [this] { return profile_show(context_(), name_); })
      ->add_option("family", name_, "see: schedulearn profile ls")
      ->required();
  command_(*profile, "costs", "What interruptions of trainings have cost: stopping, starting again, work done twice.",
           "  schedulearn profile costs --out measured.json\n", [this] { return profile_costs(context_(), name_); })
      ->add_option("-o,--out", name_, "write them to this file, for sim --costs");
  command_(*profile, "import", "Store a profile from a file.", "  schedulearn profile import resnet50.json\n",
           [this] { return profile_import(context_(), name_); })
      ->add_option("file", name_, "docs/formats/profile.md")
      ->required();
  command_(*profile, "rm", "Delete a profile.", "  schedulearn profile rm fashion-mlp\n",
           [this] { return profile_rm(context_(), name_); })
      ->add_option("family", name_, "see: schedulearn profile ls")
      ->required();
}

}  // namespace sl::cli
