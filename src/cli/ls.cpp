#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

bool is_over(const std::string& state) { return state == "succeeded" || state == "failed" || state == "cancelled"; }

std::string remark(const json::value& job) {
  const std::string state = text_at(job, "state");
  if (state == "pending" || state == "held" || state == "suspended") return text_at(value_at(job, "reason"), "text");
  const std::string failure = text_at(value_at(job, "failure"), "message");
  if (!failure.empty()) return failure;
  const json::value& progress = value_at(job, "progress");
  if (!progress.is_object() || !value_at(progress, "done").is_number()) return "";
  std::string text = fmt::format("{} {:g}", text_at(progress, "unit"), number_at(progress, "done"));
  if (value_at(progress, "total").is_number()) text += fmt::format("/{:g}", number_at(progress, "total"));
  if (value_at(progress, "loss").is_number()) text += fmt::format("  loss {:.3f}", number_at(progress, "loss"));
  if (value_at(progress, "accuracy").is_number())
    text += fmt::format("  accuracy {:.3f}", number_at(progress, "accuracy"));
  return text;
}

std::vector<std::string> row(const Context& context, const json::value& job) {
  const bool started = value_at(job, "started_at").is_string();
  const std::string state = text_at(job, "state");
  return {fmt::format("{}", static_cast<std::int64_t>(number_at(job, "id"))),
          text_at(job, "name"),
          context.plain ? state : state_text(context, state),
          gpus_text(job),
          where_text(job),
          duration_text(number_at(job, "wait_s")),
          started ? duration_text(number_at(job, "run_s")) : "–",
          is_over(state) ? clock_text(text_at(job, "finished_at")) : clock_text(text_at(job, "created_at")),
          text_at(job, "user"),
          remark(job)};
}

}  // namespace

int list_jobs(const Context& context, const ListOptions& options) {
  std::string query = "?limit=" + std::to_string(options.all ? 100'000 : options.limit);
  if (!options.state.empty()) query += "&state=" + net::percent_encode(options.state);
  if (!options.user.empty()) query += "&user=" + net::percent_encode(options.user);
  if (!options.word.empty()) query += "&q=" + net::percent_encode(options.word);
  Result<json::value> list = context.get("/api/v1/jobs" + query);
  if (!list.ok()) return fail(list.error());
  if (context.as_json && context.json_fields.empty()) {
    context.print_json(*list);
    return 0;
  }
  Table table({"ID", "NAME", "STATE", "GPUS", "WHERE", "WAITED", "RAN", "WHEN", "USER", ""}, {0, 3, 5, 6});
  std::size_t running = 0, pending = 0;
  std::int64_t first_waiting = 0;
  for (const json::value& job : value_at(*list, "items").as_array()) {
    if (context.as_json) {
      context.print_json(job);
      continue;
    }
    const std::string state = text_at(job, "state");
    running += state == "running";
    if (state == "pending") ++pending, first_waiting = static_cast<std::int64_t>(number_at(job, "id"));
    if (context.quiet) std::printf("%lld\n", static_cast<long long>(number_at(job, "id")));
    table.add(row(context, job));
  }
  if (context.as_json || context.quiet) return 0;
  if (table.empty()) {
    std::printf("No jobs%s. Submit one:  schedulearn submit --gpus 1 -- python train.py\n",
                query.find('&') == std::string::npos ? " yet" : " like that");
    return 0;
  }
  std::fputs(table.text(context.plain).c_str(), stdout);
  if (context.plain) return 0;
  std::printf("%zu running, %zu pending.%s\n", running, pending,
              pending > 0 ? fmt::format(" Why is one waiting:  schedulearn why {}", first_waiting).c_str() : "");
  return 0;
}

}  // namespace sl::cli
