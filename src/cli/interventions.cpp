// suspend, resume, migrate, scale, retry: what users do to jobs that they have submitted.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

std::string cost_text(const json::value& effect) {
  const json::value& cost = value_at(effect, "cost_s");
  return cost.is_number() ? fmt::format(" (this takes about {})", duration_text(cost.to_number<double>())) : "";
}

}  // namespace

int intervene(const Context& context, const std::string& verb, const std::vector<std::string>& selectors,
              const std::map<std::string, std::string>& body, bool dry_run) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  if (const auto sure = confirm(context, verb, dry_run || verb == "resume" ? 1 : ids->size()); !sure.ok() || !*sure)
    return sure.ok() ? 1 : fail(sure.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    const std::string path = fmt::format("/api/v1/jobs/{}/{}{}", id, verb, dry_run ? "?dry_run=true" : "");
    const Result<json::value> job = context.call("POST", path, json::serialize(json::value_from(body)));
    if (!job.ok()) {
      status = fail(job.error());
    } else if (context.as_json) {
      context.print_json(*job);
    } else if (!context.quiet) {
      const json::value& effect = value_at(*job, "effect");
      std::printf("%s job %lld %s %s%s\n", dry_run ? "dry run:" : state_text(context, text_at(*job, "state")).c_str(),
                  static_cast<long long>(id), text_at(*job, "name").c_str(), text_at(effect, "text").c_str(),
                  cost_text(effect).c_str());
    }
  }
  return status;
}

int retry_jobs(const Context& context, const std::vector<std::string>& selectors, bool dry_run) {
  if (dry_run) return intervene(context, "retry", selectors, {}, true);
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  if (const auto sure = confirm(context, "retry", ids->size()); !sure.ok() || !*sure)
    return sure.ok() ? 1 : fail(sure.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> job = context.call("POST", fmt::format("/api/v1/jobs/{}/retry", id), "{}");
    if (!job.ok()) {
      status = fail(job.error());
    } else if (context.as_json) {
      context.print_json(*job);
    } else if (context.quiet) {
      std::printf("%.0f\n", number_at(*job, "id"));
    } else {
      const double next = number_at(*job, "id");
      std::printf("%s job %.0f %s: job %lld again\n  %s   follow the output\n",
                  state_text(context, text_at(*job, "state")).c_str(), next, text_at(*job, "name").c_str(),
                  static_cast<long long>(id), context.next_command("logs -f", static_cast<std::int64_t>(next)).c_str());
    }
  }
  return status;
}

}  // namespace sl::cli
