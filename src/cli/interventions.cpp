#include "cli/interventions.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/number_ranges.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

std::string cost_text(const json::value& effect) {
  const json::value& cost = value_at(effect, "cost_s");
  return cost.is_number() ? fmt::format(" (this takes about {})", duration_text(cost.to_number<double>())) : "";
}

void say_effect(const std::string& sign, std::int64_t id, const json::value& job) {
  const json::value& effect = value_at(job, "effect");
  std::printf("%s job %lld %s %s%s\n", sign.c_str(), static_cast<long long>(id), name_text(job).c_str(),
              text_at(effect, "text").c_str(), cost_text(effect).c_str());
}

// The job that repeats another one.
void say_retry(const Context& context, std::int64_t id, const json::value& job) {
  const auto next = static_cast<std::int64_t>(number_at(job, "id"));
  if (context.quiet) return void(std::printf("%lld\n", static_cast<long long>(next)));
  const bool is_group = value_at(job, "members").is_object();
  std::printf("%s job %lld %s: job %lld again\n  %s   %s\n", state_text(context, text_at(job, "state")).c_str(),
              static_cast<long long>(next), name_text(job).c_str(), static_cast<long long>(id),
              context.next_command(is_group ? "ls --group" : "logs -f", next).c_str(),
              is_group ? "its members" : "follow the output");
}

}  // namespace

int Interventions::ask(const std::string& verb,
                       const std::function<void(const Context&, std::int64_t, const json::value&)>& say) {
  const Context context = context_();
  const auto ids = select_jobs(context, selectors_);
  if (!ids.ok()) return fail(ids.error());
  const auto after = after_parameter(context);
  if (!after.ok()) return fail(after.error());
  const bool does_no_harm = dry_run_ || verb == "resume";
  const auto sure = confirm(context, verb + " " + plural(ids->size(), "job"), !does_no_harm && ids->size() > 1);
  if (!sure.ok()) return fail(sure.error());
  if (!*sure) return 1;
  int status = 0;
  for (const std::int64_t id : *ids) {
    const std::string path =
        fmt::format("/api/v1/jobs/{}/{}?dry_run={}{}{}", id, verb, dry_run_, failed_ ? "&members=failed" : "", *after);
    const std::string body = json::serialize(json::value_from(body_));
    const Result<json::value> job =
        verb == "retry" && !dry_run_ ? context.create_job(path, body) : context.call("POST", path, body);
    if (!job.ok()) {
      status = fail(job.error());
    } else if (context.as_json) {
      context.print_json(*job);
    } else if (dry_run_) {
      say_effect("dry run:", id, *job);
    } else {
      say(context, id, *job);
    }
  }
  return status;
}

Result<std::string> Interventions::after_parameter(const Context& context) const {
  if (after_.empty()) return std::string();
  const auto jobs = select_jobs(context, after_);
  if (!jobs.ok()) return jobs.error();
  return "&after=" + NumberRanges::of({jobs->begin(), jobs->end()}).text();
}

CLI::App* Interventions::add(CLI::App& app, const std::string& verb, const std::string& summary,
                             const std::string& examples) {
  CLI::App* added = command_(app, verb, summary, examples, [this, verb] {
    return ask(verb, [](const Context& context, std::int64_t id, const json::value& job) {
      if (!context.quiet) say_effect(state_text(context, text_at(job, "state")), id, job);
    });
  });
  added->add_flag("-n,--dry-run", dry_run_, "only say what would happen");
  return added;
}

void Interventions::add_to(CLI::App& app) {
  const auto jobs = [this](CLI::App* of, const char* which) { of->add_option("job", selectors_, which)->required(); };
  jobs(add(app, "suspend", "Take the GPUs of jobs away until they are resumed; they lose nothing.",
           "  schedulearn suspend 5\n  schedulearn suspend 5 --dry-run\n"),
       "5, 1-5, last, all or a name");
  CLI::App* resume =
      add(app, "resume", "Let suspended jobs, and those submitted with --hold, go on.", "  schedulearn resume 5\n");
  resume->alias("release");
  jobs(resume, "5, 1-5, last, all or a name");
  CLI::App* migrate = add(app, "migrate", "Move a running job to another server; it continues from its checkpoint.",
                          "  schedulearn migrate 5\n  schedulearn migrate 5 --to gpu4 --dry-run\n");
  jobs(migrate, "5, 1-5, last or a name");
  migrate->add_option_function<std::string>(
      "--to", [this](const std::string& server) { body_["to"] = server; }, "the server; default: any other");
  CLI::App* scale = add(app, "scale", "Give a job another number of GPUs; a running one continues from its checkpoint.",
                        "  schedulearn scale 5 2\n  schedulearn scale 5 1..4\n");
  scale
      ->add_option_function<std::string>(
          "job", [this](const std::string& job) { selectors_ = {job}; }, "5, last or a name")
      ->required();
  scale
      ->add_option_function<std::string>(
          "gpus", [this](const std::string& gpus) { body_["gpus"] = gpus; }, "2, or 1..4")
      ->required();
  CLI::App* retry =
      command_(app, "retry", "Submit jobs that have ended again.",
               "  schedulearn retry 5\n  schedulearn retry 12 --failed\n  schedulearn retry 6 --after 9\n",
               [this] { return ask("retry", say_retry); });
  retry->add_flag("-n,--dry-run", dry_run_, "only say what would happen");
  retry->add_flag("--failed", failed_, "only what failed: of an array, those members, as a new array");
  retry->add_option("--after", after_, "start when these jobs have succeeded, instead of those before: 5,7 or names")
      ->allow_extra_args(false);
  jobs(retry, "5, 1-5, last or a name");
}

}  // namespace sl::cli
