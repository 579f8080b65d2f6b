#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {

int status_of_job(const json::value& job) {
  if (text_at(job, "state") == "succeeded") return 0;
  const json::value& exit = value_at(job, "exit");
  if (value_at(exit, "signal").is_number()) return 128 + static_cast<int>(number_at(exit, "signal"));
  if (value_at(exit, "code").is_number() && number_at(exit, "code") != 0)
    return static_cast<int>(number_at(exit, "code"));
  const std::string kind = text_at(value_at(job, "failure"), "kind");
  const bool never_ran = kind == "setup" || kind == "image" || !value_at(job, "started_at").is_string();
  return never_ran ? 125 : 1;
}

std::string ending_text(const Context& context, const json::value& job) {
  std::string text = fmt::format("{}  job {} {}", state_text(context, text_at(job, "state")),
                                 static_cast<std::int64_t>(number_at(job, "id")), name_text(job));
  if (value_at(job, "started_at").is_string() && !value_at(job, "members").is_object())
    text += "  ran " + duration_text(number_at(job, "run_s"));
  for (const std::string& why :
       {text_at(value_at(job, "failure"), "message"), text_at(value_at(job, "reason"), "text")})
    if (!why.empty()) text += "  " + why;
  if (value_at(value_at(job, "progress"), "loss_is_not_finite") == true) text += "  loss not finite";
  const json::value& accuracy = value_at(value_at(job, "progress"), "accuracy");
  if (accuracy.is_number()) text += "  accuracy " + figure_text(accuracy.to_number<double>(), 3);
  return text;
}

int wait_jobs(const Context& context, const WaitOptions& options) {
  const auto ids = select_jobs(context, options.selectors);
  if (!ids.ok()) return fail(ids.error());
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  for (const std::int64_t id : *ids) {
    int pause_ms = 20;
    for (int failures = 0;;) {
      const Result<json::value> job = context.get("/api/v1/jobs/" + std::to_string(id));
      if (!job.ok() && (job.error().kind != ErrorKind::unavailable || ++failures > 60)) return fail(job.error());
      if (job.ok() && value_at(*job, "finished_at").is_string()) {
        if (context.is_for_programs()) {
          context.print_for_programs(*job);
        } else if (!context.quiet) {
          std::fprintf(stderr, "%s\n", ending_text(context, *job).c_str());
        }
        if (const int code = status_of_job(*job); code != 0) status = ids->size() == 1 ? code : 1;
        break;
      }
      const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (options.timeout_s > 0 && waited > options.timeout_s)
        return fail(unavailable("timeout",
                                fmt::format("job {} has not ended in {}", id, duration_text(options.timeout_s)))
                        .hint("wait longer: --for 2h; without --for there is no limit")),
               124;
      if (interrupts() > 0) {
        std::fprintf(stderr, "\njob %lld goes on; return with: %s\n", static_cast<long long>(id),
                     context.next_command("logs -f", id).c_str());
        return 130;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      pause_ms = std::min(500, pause_ms * 2);
    }
  }
  return status;
}

}  // namespace sl::cli
