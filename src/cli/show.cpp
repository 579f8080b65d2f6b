#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/commands.h"
#include "cli/diff_text.h"
#include "cli/expectation.h"
#include "cli/render.h"
#include "cli/snapshot.h"
#include "cli/starting.h"
#include "net/url.h"
#include "wire/error.h"
#include "wire/ports.h"
#include "wire/training.h"

namespace sl::cli {
namespace {

void line(const char* name, const std::string& text) {
  if (!text.empty()) std::printf("  %-10s %s\n", name, visible(text).c_str());
}

// What is stated about the training, with the names of the job file.
std::string training_text(const json::value& training) {
  std::string text;
  for (const wire::TrainingKey& key : wire::training_keys()) {
    const json::value& value = value_at(training, key.name);
    if (value.is_null()) continue;
    text += (text.empty() ? "" : ", ") + std::string(key.name) + " ";
    text += value.is_string()     ? std::string(value.get_string())
            : key.unit == "bytes" ? bytes_text(value.to_number<double>())
                                  : fmt::format("{}", value.to_number<double>());
  }
  return text;
}

// The interpreter's environment with its folder, of the other variables only the names: values may be secrets.
void show_environment(const json::value& env) {
  if (!env.is_object()) return;
  std::string names;
  for (const auto& [name, value] : env.get_object()) {
    if (name == "VIRTUAL_ENV" || name == "CONDA_PREFIX")
      line("Python", std::string(value.as_string()));
    else
      names += (names.empty() ? "" : ", ") + std::string(name);
  }
  line("Variables", names);
}

void show_telemetry(const json::value& telemetry) {
  const json::value& speeds = value_at(telemetry, "speeds");
  if (value_at(telemetry, "per_s").is_number())
    line("Speed", fmt::format("{:.4g} {}s/s over {}", number_at(telemetry, "per_s"), text_at(telemetry, "unit"),
                              duration_text(number_at(telemetry, "measured_s"))));
  if (speeds.is_array() && speeds.get_array().size() > 1) {
    const json::value& last = speeds.get_array().back();
    line("", fmt::format("recently {:.4g} on {} of {}", number_at(last, "per_s"),
                         plural(static_cast<std::size_t>(number_at(last, "gpus")), "GPU"), text_at(last, "gpu_type")));
  }
  std::string load;
  if (value_at(telemetry, "gpu_utilization_pct").is_number())
    load = fmt::format("{:.0f} % busy", number_at(telemetry, "gpu_utilization_pct"));
  if (value_at(telemetry, "gpu_memory_used_bytes").is_number())
    load += (load.empty() ? "" : ", ") + bytes_text(number_at(telemetry, "gpu_memory_used_bytes")) + " of memory each";
  line("GPU load", load);
  if (value_at(telemetry, "checkpoint_bytes").is_number()) {
    std::string text = bytes_text(number_at(telemetry, "checkpoint_bytes"));
    if (value_at(telemetry, "checkpoint_s").is_number())
      text += fmt::format(", stopped within {:.1f} s", number_at(telemetry, "checkpoint_s"));
    line("Checkpoint", text);
  }
  if (value_at(telemetry, "start_up_s").is_number())
    line("Start-up", fmt::format("{:.1f} s to its first step", number_at(telemetry, "start_up_s")));
  std::string cost;
  if (value_at(telemetry, "stop_s").is_number()) cost = fmt::format("{:.1f} s to stop", number_at(telemetry, "stop_s"));
  if (number_at(telemetry, "repeated_count") > 0)
    cost += fmt::format("{}{:.0f} {}s done again ({:.1f} s)", cost.empty() ? "" : ", ",
                        number_at(telemetry, "repeated_count"), text_at(telemetry, "unit"),
                        number_at(telemetry, "repeated_s"));
  line("Last stop", cost);
}

// Where it ran, the last few times, if more than once.
void show_attempts(const json::value& job) {
  const json::value& attempts = value_at(job, "attempts");
  constexpr std::size_t shown = 5;
  if (!attempts.is_array() || attempts.get_array().size() < 2) return;
  const json::array& all = attempts.get_array();
  const std::size_t first = all.size() - std::min(all.size(), shown);
  if (first > 0)
    line("Attempts", fmt::format("{} earlier: schedulearn show {:.0f} --json=attempts", first, number_at(job, "id")));
  for (std::size_t i = first; i < all.size(); ++i) {
    const std::string end = text_at(all[i], "ended_at");
    const json::value& gpus = value_at(all[i], "gpus");
    line(i == 0 ? "Attempts" : "",
         fmt::format("{} on {}{}{}{}", number_at(all[i], "attempt"), text_at(all[i], "server"),
                     gpus.is_array() ? ", " + plural(gpus.get_array().size(), "GPU") : "",
                     value_at(all[i], "began_at").is_string() ? ", " + clock_text(text_at(all[i], "began_at")) : "",
                     end.empty() ? "" : " to " + clock_text(end)));
  }
}

// "preempted once, resized 3 times".
std::string interruptions_text(const json::value& job) {
  std::string text;
  for (const auto& [key, what] :
       {std::pair{"preemptions", "preempted"}, {"resizes", "resized"}, {"migrations", "moved"}}) {
    const auto times = static_cast<std::size_t>(number_at(job, key));
    if (times == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(what) + (times == 1 ? " once" : fmt::format(" {} times", times));
  }
  return text;
}

// Time in each state, what interruptions took of it, and energy.
void show_usage(const Context& context, const json::value& job) {
  if (!value_at(job, "started_at").is_string()) return;
  const auto usage = context.get(fmt::format("/api/v1/jobs/{:.0f}/usage", number_at(job, "id")));
  if (!usage.ok()) return;  // the rest of what is known stays
  std::string states;
  for (const char* state :
       {"held", "pending", "starting", "running", "suspended", "migrating", "resizing", "stopping"}) {
    const auto& seconds = value_at(value_at(*usage, "state_s"), state);
    if (seconds.is_number())
      states += (states.empty() ? "" : ", ") + std::string(state) + " " + duration_text(seconds.to_number<double>());
  }
  line("Time", states);
  if (const double lost = number_at(*usage, "interrupted_s"); lost > 0)
    line("Interrupted", duration_text(lost) + " with GPUs, without running");
  if (value_at(*usage, "energy_joules").is_number())
    line("Energy", fmt::format("{:.3g} kWh, measured for {:.0f} % of its GPU time",
                               number_at(*usage, "energy_joules") / 3.6e6, number_at(*usage, "energy_measured_pct")));
  if (value_at(*usage, "gpu_memory_peak_bytes").is_number()) {
    const bool asked = value_at(*usage, "gpu_memory_asked_bytes").is_number();
    line("GPU memory", bytes_text(number_at(*usage, "gpu_memory_peak_bytes")) + " at most" +
                           (asked ? ", asked for " + bytes_text(number_at(*usage, "gpu_memory_asked_bytes")) : ""));
  }
}

// "scheduler 1 (no GPU), worker 1..4".
std::string roles_text(const json::value& wanted) {
  std::string text;
  if (!wanted.is_array()) return text;
  for (const json::value& role : wanted.get_array()) {
    const double count = number_at(role, "count"), least = number_at(role, "count_min", count);
    text += (text.empty() ? "" : ", ") + text_at(role, "name");
    text += least < count ? fmt::format(" {}..{}", least, count) : fmt::format(" {}", count);
    if (number_at(role, "gpus", 1) == 0) text += " (no GPU)";
  }
  return text;
}

std::string labels_text(const json::value& labels) {
  std::string text;
  if (!labels.is_object()) return text;
  for (const auto& [name, value] : labels.get_object())
    text += (text.empty() ? "" : ", ") + std::string(name) + "=" +
            (value.is_string() ? std::string(value.get_string()) : "");
  return text;
}

// "18:30:00, missed".
std::string deadline_text(const json::value& job) {
  const std::string deadline = text_at(job, "deadline_at"), ended = text_at(job, "finished_at");
  if (deadline.empty() || ended.empty()) return deadline.empty() ? "" : clock_text(deadline);
  const bool met = text_at(job, "state") == "succeeded" && ended <= deadline;  // both in UTC, of one form
  return clock_text(deadline) + (met ? ", met" : ", missed");
}

// "python:3.11  docker.io/library/python@sha256:…" once it is known which one that was.
std::string image_text(const json::value& job) {
  const std::string image = text_at(value_at(job, "spec"), "image");
  const json::value& placement = value_at(job, "placement");
  if (image.empty() || !placement.is_array() || placement.get_array().empty()) return image;
  const std::string got = text_at(placement.get_array()[0], "image");
  return image + (got.empty() ? "" : "  " + got);
}

std::string words_text(const json::value& words) {
  std::string text;
  if (!words.is_array()) return text;
  for (const json::value& word : words.get_array()) text += (text.empty() ? "" : ", ") + std::string(word.as_string());
  return text;
}

// "team when finished".
std::string notify_text(const json::value& notify) {
  std::string text;
  if (!notify.is_array()) return text;
  for (const json::value& one : notify.get_array())
    text += (text.empty() ? "" : "; ") + text_at(one, "to") + " when " + words_text(value_at(one, "on"));
  return text;
}

// "5, 7".
std::string ids_text(const json::value& ids) {
  std::string text;
  if (!ids.is_array()) return text;
  for (const json::value& id : ids.get_array())
    text += (text.empty() ? "" : ", ") + std::to_string(id.to_number<std::int64_t>());
  return text;
}

void show_snapshot(const json::value& job) {
  const json::value& snapshot = value_at(job, "snapshot");
  constexpr std::size_t named_max = 5;
  const std::string code = snapshot_text(snapshot);
  if (code.empty()) return;
  const std::string files = plural(static_cast<std::size_t>(number_at(snapshot, "files")), "file");
  const std::string commit = text_at(snapshot, "commit").empty() ? "" : code.substr(5) + ", ";
  line("Code", fmt::format("{}{} in {}", commit, bytes_text(number_at(snapshot, "bytes")), files));
  const json::array& changed = value_at(snapshot, "changed").as_array();
  for (std::size_t i = 0; i < std::min(changed.size(), named_max); ++i) line("", visible(changed[i].as_string()));
  const auto all = static_cast<std::size_t>(number_at(snapshot, "dirty_files"));
  if (all > named_max) line("", fmt::format("and {} more", all - std::min(changed.size(), named_max)));
  if (!text_at(snapshot, "diff").empty())
    line("", fmt::format("schedulearn show {} --diff   what was changed", number_at(job, "id")));
}

// "2h 0m"; empty: it has none.
std::string span_text(const json::value& spec, const char* key) {
  return value_at(spec, key).is_number() ? duration_text(number_at(spec, key)) : "";
}

// Where its ports are reached. Over the socket only the controller knows.
void show_ports(const Context& context, const json::value& job) {
  const json::value& ports = value_at(value_at(job, "spec"), "ports");
  if (!ports.is_object() || ports.get_object().empty()) return;
  std::string url = context.url;
  if (!context.socket.empty()) {
    const auto cluster = context.get("/api/v1/cluster");
    if (cluster.ok()) url = text_at(*cluster, "url", url);
  }
  while (url.ends_with('/')) url.pop_back();
  const char* label = "Ports";
  for (const auto& [name, port] : ports.get_object()) {
    const auto id = static_cast<std::int64_t>(number_at(job, "id"));
    line(std::exchange(label, ""), std::string(name) + "  " + url + wire::proxy_path(id, std::string_view(name)));
  }
}

// What the job may have, and which of it nobody sees to where it runs. Containers have the limits of their engine.
std::string limits_text(const Context& context, const json::value& job) {
  const json::value& asked = value_at(value_at(job, "spec"), "resources");
  std::vector<std::pair<std::string, std::string>> limits;  // name in a server's `enforces`, text
  if (number_at(asked, "memory_bytes") > 0)
    limits.emplace_back("memory", bytes_text(number_at(asked, "memory_bytes")) + " of memory");
  if (number_at(asked, "cpus") > 0) limits.emplace_back("cpus", fmt::format("{} CPUs", number_at(asked, "cpus")));
  if (value_at(asked, "pin_cpus") == json::value(true)) limits.emplace_back("cpu_set", "CPUs of its own");
  if (number_at(asked, "processes") > 0)
    limits.emplace_back("processes", fmt::format("{} processes", number_at(asked, "processes")));
  std::string text;
  for (const auto& [name, limit] : limits) text += (text.empty() ? "" : ", ") + limit;
  if (text.empty() || value_at(value_at(job, "spec"), "image").is_string()) return text;
  const json::value& placement = value_at(job, "placement");
  for (const json::value& part : placement.is_array() ? placement.get_array() : json::array()) {
    const auto server = context.get("/api/v1/servers/" + net::percent_encode(text_at(part, "server")));
    if (!server.ok() || !value_at(*server, "enforces").is_array()) continue;
    const json::array& enforced = value_at(*server, "enforces").get_array();
    std::string missing;
    for (const auto& [name, limit] : limits) {
      if (std::ranges::find(enforced, json::value(name)) == enforced.end())
        missing += (missing.empty() ? "" : ", ") + name;
    }
    if (!missing.empty()) text += fmt::format("; {} does not enforce {}", text_at(part, "server"), missing);
  }
  return text;
}

// Of a job on several servers each part has its own.
void show_other_outputs(const Context& context, const json::value& placement, std::int64_t id) {
  constexpr std::size_t most = 3;
  const std::size_t parts = placement.is_array() ? placement.get_array().size() : 0;
  for (std::size_t rank = 1; rank < std::min(parts, most + 1); ++rank)
    std::printf("  %s --rank %zu   of its part on %s\n", context.next_command("logs", id).c_str(), rank,
                visible_name(text_at(placement.get_array()[rank], "server")).c_str());
  if (parts > most + 1) std::printf("  and so on, up to --rank %zu\n", parts - 1);
}

void show(const Context& context, const json::value& job) {
  const json::value& spec = value_at(job, "spec");
  std::printf("Job %lld %s  %s\n\n", static_cast<long long>(number_at(job, "id")), name_text(job).c_str(),
              state_text(context, shown_state(job)).c_str());
  line("Why", text_at(value_at(job, "reason"), "text"));
  line("Members", members_text(value_at(job, "members")));
  if (value_at(job, "group_id").is_number())
    line("Member", fmt::format("{} of group {}", number_at(job, "index"), number_at(job, "group_id")));
  line("After", ids_text(value_at(spec, "after")));
  line("After any", ids_text(value_at(spec, "after_any")));
  if (value_at(spec, "not_before").is_string()) line("Not before", clock_text(text_at(spec, "not_before")));
  line("Set-up", words_text(value_at(spec, "setup")));
  line("Command", command_text(value_at(spec, "command")));
  line("Image", image_text(job));
  line("Directory", text_at(spec, "workdir"));
  show_snapshot(job);
  show_environment(value_at(spec, "env"));
  line("Secrets", words_text(value_at(spec, "secrets")));
  line("Tells", notify_text(value_at(spec, "notify")));
  show_ports(context, job);
  line("GPUs", gpus_text(job) + (where_text(job) == "–" ? "" : "  on " + where_text(job)));
  line("Only on", words_text(value_at(value_at(spec, "resources"), "on")));
  line("Not on", words_text(value_at(value_at(spec, "resources"), "not_on")));
  if (text_at(spec, "launch") != "none") line("Launch", text_at(spec, "launch"));
  if (value_at(value_at(spec, "resources"), "share") == json::value(true)) line("Sharing", "allowed");
  line("Limits", limits_text(context, job));
  line("Priority", number_at(job, "priority") == 0 ? "" : fmt::format("{}", number_at(job, "priority")));
  line("Time limit", span_text(spec, "time_limit_s"));
  line("Estimate", span_text(spec, "estimate_s"));
  line("Training", training_text(value_at(spec, "training")));
  line("Roles", roles_text(value_at(spec, "roles")));
  line("User", text_at(job, "user") +
                   (number_at(spec, "weight", 1) == 1 ? "" : fmt::format(", weight {}", number_at(spec, "weight"))));
  // Of an array only its members wait for GPUs and run.
  const bool is_array = value_at(job, "members").is_object();
  line("Submitted", clock_text(text_at(job, "created_at")) +
                        (is_array ? "" : "  waited " + duration_text(number_at(job, "wait_s"))));
  if (value_at(job, "started_at").is_string())
    line("Started", clock_text(text_at(job, "started_at")) +
                        (is_array ? ""
                                  : fmt::format("  ran {}  {:.0f} GPU-seconds", duration_text(number_at(job, "run_s")),
                                                number_at(job, "gpu_seconds"))));
  line("Expected", expectation_text(context, job));
  if (value_at(job, "finished_at").is_string()) line("Ended", clock_text(text_at(job, "finished_at")));
  line("Deadline", deadline_text(job));
  line("Labels", labels_text(value_at(job, "labels")));
  const json::value& progress = value_at(job, "progress");
  if (progress.is_object()) {
    std::string text;
    for (const auto& [unit, total] : {std::pair{"epoch", "epochs"}, {"step", "steps"}}) {
      if (!value_at(progress, unit).is_number()) continue;
      text += fmt::format("{}{} {:.10g}", text.empty() ? "" : ", ", unit, number_at(progress, unit));
      if (value_at(progress, total).is_number()) text += fmt::format(" of {:.10g}", number_at(progress, total));
    }
    for (const char* figure : {"loss", "accuracy"}) {
      if (value_at(progress, figure).is_number())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", figure, figure_text(number_at(progress, figure), 4));
    }
    if (value_at(progress, "loss_is_not_finite") == true)
      text += text.empty() ? "loss not finite" : ", loss not finite";
    line("Progress", text);
  }
  show_telemetry(value_at(job, "telemetry"));
  const json::value& failure = value_at(job, "failure");
  if (failure.is_object()) line("Failure", text_at(failure, "kind") + ": " + text_at(failure, "message"));
  const json::value& exit = value_at(job, "exit");
  if (exit.is_object() && value_at(exit, "code").is_number())
    line("Exit code", fmt::format("{}", number_at(exit, "code")));
  line("Stopped", interruptions_text(job));
  show_usage(context, job);
  show_attempts(job);
  // A job that never started has no output.
  const bool is_group = value_at(job, "members").is_object();
  if (is_group)
    std::printf("\n  schedulearn ls --group %lld   its members", static_cast<long long>(number_at(job, "id")));
  const bool has_output = value_at(job, "started_at").is_string() && !is_group,
             is_over = value_at(job, "finished_at").is_string();
  if (is_group) std::printf("\n");
  if (is_group || (is_over && !has_output)) return;
  const auto id = static_cast<std::int64_t>(number_at(job, "id"));
  std::printf("\n  %s\n", context.next_command(has_output ? "logs" : "why", id).c_str());
  if (has_output) show_other_outputs(context, value_at(job, "placement"), id);
}

// "8 CPUs, 4.0 GiB", of a job without GPUs; memory only if it asks for some.
std::string room_text(const json::value& room, const char* cpus, const char* memory) {
  const auto amount = [&](const char* key, const auto& text) {
    const json::value& value = value_at(room, key);
    return value.is_number() ? text(value.to_number<double>()) : std::string("any");
  };
  const std::string text = amount(cpus, [](double n) { return fmt::format("{:g} CPU{}", n, n == 1 ? "" : "s"); });
  return number_at(room, "memory_needed_bytes") == 0 ? text : text + ", " + amount(memory, bytes_text);
}

std::string reserved_text(const json::value& reservation) {
  std::string text;
  for (const json::value& part : value_at(reservation, "on").as_array())
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", number_at(part, "gpus"), text_at(part, "server"));
  return text;
}

// The job's place in line and what the policy plans for it.
void show_prospects(const Context& context, const json::value& explain, std::int64_t id) {
  const std::string verdict = text_at(explain, "verdict"), standing = text_at(explain, "standing");
  const bool waits = value_at(explain, "queue_length").is_number();
  if (waits || !standing.empty()) std::printf("\n");
  if (value_at(explain, "position").is_number())
    line("In line",
         fmt::format("{} of {} {}", number_at(explain, "position"), number_at(explain, "queue_length"),
                     value_at(explain, "needs_gpus") == false ? "without GPUs, the same under every policy"
                                                              : "under policy " + text_at(explain, "policy")));
  else if (verdict == "policy_decides")
    line("In line",
         fmt::format("one of {} under policy {}", number_at(explain, "queue_length"), text_at(explain, "policy")));
  line("Standing", standing);
  const std::string expected = expectation_text(context, explain);
  if (!waits) return line("Expected", expected);
  line("Expected", expected.empty() ? "no estimate yet" : expected);
  std::size_t others = 0;
  for (const json::value& kept : value_at(explain, "reservations").as_array()) {
    const bool own = number_at(kept, "job_id") == static_cast<double>(id);
    if (own)
      line("Kept", fmt::format("{}, for this job about {}, if running jobs end as estimated", reserved_text(kept),
                               soon_text(text_at(kept, "at"))));
    else if (++others <= 3)
      line("Kept", fmt::format("{}, for job {} about {}", reserved_text(kept), number_at(kept, "job_id"),
                               soon_text(text_at(kept, "at"))));
  }
  if (others > 3) line("", fmt::format("and GPUs for {} more jobs", others - 3));
}

// " – job 48 frees 2 about 19:52, job 50 1 more about 20:10"
std::string frees_text(const Context& context, const json::value& server) {
  constexpr std::size_t named_most = 2;
  std::string text;
  std::size_t named = 0;
  if (!value_at(server, "frees").is_array()) return text;
  for (const json::value& frees : value_at(server, "frees").get_array()) {
    if (!value_at(frees, "at").is_string() || named == named_most) break;
    text += named++ == 0 ? (context.unicode ? " – " : " - ") : ", ";
    text += fmt::format("job {} frees {} about {}", number_at(frees, "job_id"), number_at(frees, "gpus"),
                        soon_text(text_at(frees, "at")));
  }
  return text;
}

void show_suggestions(const Context& context, const json::value& explain) {
  const json::value& suggestions = value_at(explain, "suggestions");
  const std::string note = text_at(explain, "suggestions_note");
  if (!note.empty()) std::printf("\n  No suggestions yet: %s.\n", note.c_str());
  if (!suggestions.is_array() || suggestions.get_array().empty()) return;
  const bool is_group = value_at(suggestions.get_array().front(), "predicted_start").is_null();
  std::printf("\n  To %s sooner\n", is_group ? "end" : "start");
  for (const json::value& suggestion : suggestions.get_array()) {
    const std::string what = text_at(suggestion, "what"), server = text_at(suggestion, "server");
    const std::string starts =
        is_group ? "its last member"
                 : fmt::format("it starts {}{},", range_text(context, value_at(suggestion, "predicted_start")),
                               server.empty() ? "" : " on " + server);
    std::printf("    %s\n      %s %s ends %s instead of %s\n",
                text_at(suggestion, "command", "submit it again, " + what).c_str(), what.c_str(), starts.c_str(),
                range_text(context, value_at(suggestion, "predicted_finish")).c_str(),
                range_text(context, value_at(suggestion, "finish_as_it_is")).c_str());
  }
}

}  // namespace

int show_job(const Context& context, const std::vector<std::string>& selectors) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  for (const std::int64_t id : *ids) {
    const Result<json::value> job = context.get("/api/v1/jobs/" + std::to_string(id));
    if (!job.ok()) return fail(job.error());
    if (context.quiet && !context.as_json)
      std::printf("%lld\n", static_cast<long long>(id));
    else if (context.is_for_programs())
      context.print_for_programs(*job);
    else
      show(context, *job);
  }
  return 0;
}

int show_diff(const Context& context, const std::vector<std::string>& selectors) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  for (const std::int64_t id : *ids) {
    std::string diff;
    const auto answer = context.stream(context.request("GET", fmt::format("/api/v1/jobs/{}/diff", id), ""),
                                       [&](std::string_view piece) { return diff += piece, true; });
    if (!answer.ok()) return fail(answer.error());
    if (answer->status >= 400) return fail(wire::error_from_problem(answer->status, answer->body));
    if (context.color || context.columns > 0) diff = diff_text(diff, context.color);
    std::fwrite(diff.data(), 1, diff.size(), stdout);
  }
  return 0;
}

int why(const Context& context, const std::string& selector, const std::string& at) {
  std::string moment;
  if (!at.empty()) {
    const auto us = time_meant(at, clock_us(), Toward::past);
    if (!us.ok()) return fail(us.error());
    moment = "?at=" + wire::time_text(*us);
  }
  const auto ids = select_jobs(context, {selector});
  if (!ids.ok()) return fail(ids.error());
  Result<json::value> explain = context.get(fmt::format("/api/v1/jobs/{}/explain{}", ids->front(), moment));
  if (!explain.ok()) return fail(explain.error());
  if (context.is_for_programs()) return context.print_for_programs(*explain), 0;
  *explain = visible_document(std::move(*explain));
  const std::string verdict = text_at(*explain, "verdict");
  const json::value& reasons = value_at(*explain, "reasons");
  const std::string code =
      reasons.is_array() && !reasons.get_array().empty() ? text_at(reasons.get_array().front(), "code") : "";
  const bool is_planned = code == "dependency" || code == "not_before";
  const char* words = is_planned                    ? "Nothing is wrong with the request."
                      : verdict == "cannot_run"     ? "It cannot run as asked."
                      : verdict == "will_run"       ? "It will run; nothing is wrong with the request."
                      : verdict == "will_run_after" ? "It will run after those ahead of it."
                      : verdict == "policy_decides"
                          ? "Nothing is wrong with the request; only the policy knows when its turn comes."
                      : verdict == "held" ? "It waits until it is resumed."
                                          : "";
  std::printf("%s.%s%s\n", text_at(*explain, "summary").c_str(), *words ? " " : "", words);
  if (at.empty()) show_prospects(context, *explain, ids->front());
  const std::string followed = text_at(*explain, "followed");
  if (!followed.empty()) std::printf("Then %s.\n", followed.c_str());
  if (verdict == "held") line("Resume", context.next_command("resume", ids->front()));
  Table table({"SERVER", "FREE", "NEEDED", "VERDICT"}, {1, 2});
  for (const json::value& server : value_at(*explain, "servers").as_array()) {
    const json::value& room = value_at(server, "room");
    table.add({text_at(server, "server"),
               room.is_object() ? room_text(room, "cpus_free", "memory_free_bytes")
                                : fmt::format("{}", number_at(server, "free")),
               room.is_object() ? room_text(room, "cpus_needed", "memory_needed_bytes")
                                : fmt::format("{}", number_at(server, "needed")),
               text_at(server, "text") + (value_at(server, "fits") == true ? "" : frees_text(context, server))});
  }
  if (!table.empty()) std::printf("\n%s", table.text(context).c_str());
  show_suggestions(context, *explain);
  return 0;
}

}  // namespace sl::cli
