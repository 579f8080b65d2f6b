#include <fmt/format.h>

#include <cstdio>

#include "base/whole_number.h"
#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {

int set_jobs(const Context& context, const std::vector<std::string>& selectors,
             const std::map<std::string, std::string>& change) {
  if (change.empty())
    return fail(invalid("nothing-to-change", "say what to change")
                    .hint("schedulearn set 5 --priority 10")
                    .hint("schedulearn set --help"));
  json::object body;
  std::string text;
  for (const auto& [key, value] : change) {
    body[key] = value;
    text += (text.empty() ? "" : ", ") + (key == "time_limit_s" ? "time limit" : key) + " " + value;
  }
  // What is no number is named by the controller.
  if (const auto at = change.find("priority"); at != change.end()) {
    if (const auto number = parse_whole_number(at->second)) body["priority"] = *number;
  }
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    const Result<json::value> job = context.call("PATCH", "/api/v1/jobs/" + std::to_string(id), json::serialize(body));
    if (!job.ok()) {
      status = fail(job.error());
    } else if (context.as_json) {
      context.print_json(*job);
    } else if (!context.quiet) {
      std::printf("%s job %lld %s has %s from now on\n", state_text(context, text_at(*job, "state")).c_str(),
                  static_cast<long long>(id), text_at(*job, "name").c_str(), text.c_str());
    }
  }
  return status;
}

}  // namespace sl::cli
