#include <cstdio>

#include "cli/commands.h"

namespace sl::cli {

int release_jobs(const Context& context, const std::vector<std::string>& selectors) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> job = context.call("POST", "/api/v1/jobs/" + std::to_string(id) + "/release", "{}");
    if (!job.ok()) {
      status = fail(job.error());
    } else if (context.as_json) {
      context.print_json(*job);
    } else if (!context.quiet) {
      std::printf("%s job %lld %s is released and waits in the queue\n", context.unicode ? "○" : "o",
                  static_cast<long long>(id), text_at(*job, "name").c_str());
    }
  }
  return status;
}

}  // namespace sl::cli
