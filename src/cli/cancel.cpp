#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {

int cancel_jobs(const Context& context, const std::vector<std::string>& selectors, const std::string& reason) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  if (const auto sure = confirm(context, "cancel " + plural(ids->size(), "job"), ids->size() > 1); !sure.ok() || !*sure)
    return sure.ok() ? 1 : fail(sure.error());
  const std::string body = reason.empty() ? "{}" : json::serialize(json::object{{"reason", reason}});
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> job = context.call("POST", "/api/v1/jobs/" + std::to_string(id) + "/cancel", body);
    if (!job.ok()) {
      status = fail(job.error());
      continue;
    }
    if (context.as_json) {
      context.print_json(*job);
    } else if (!context.quiet) {
      const bool over = value_at(*job, "finished_at").is_string();
      std::printf("%s job %lld %s %s\n", context.unicode ? "⊘" : "-", static_cast<long long>(id),
                  text_at(*job, "name").c_str(), over ? "is cancelled" : "is being stopped");
    }
  }
  return status;
}

int remove_jobs(const Context& context, const std::vector<std::string>& selectors) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  if (const auto sure = confirm(context, "remove " + plural(ids->size(), "job") + " for good", ids->size() > 1);
      !sure.ok() || !*sure)
    return sure.ok() ? 1 : fail(sure.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> removed = context.call("DELETE", "/api/v1/jobs/" + std::to_string(id), "");
    if (!removed.ok()) {
      status = fail(removed.error());
      continue;
    }
    if (context.as_json) {
      context.print_json(*removed);
    } else if (!context.quiet) {
      const auto members = static_cast<std::size_t>(number_at(*removed, "removed", 1)) - 1;
      std::printf("job %lld is removed%s\n", static_cast<long long>(id),
                  members == 0 ? "" : (" with its " + plural(members, "member")).c_str());
    }
  }
  return status;
}

}  // namespace sl::cli
