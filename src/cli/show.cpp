#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

std::string command_text(const json::value& command) {
  if (command.is_string()) return std::string(command.get_string());
  std::string text;
  if (command.is_array()) {
    for (const json::value& word : command.get_array())
      text += (text.empty() ? "" : " ") + std::string(word.as_string());
  }
  return text;
}

void line(const char* name, const std::string& text) {
  if (!text.empty()) std::printf("  %-10s %s\n", name, text.c_str());
}

void show(const Context& context, const json::value& job) {
  const json::value& spec = value_at(job, "spec");
  std::printf("Job %lld %s  %s\n\n", static_cast<long long>(number_at(job, "id")), text_at(job, "name").c_str(),
              state_text(context, text_at(job, "state")).c_str());
  line("Why", text_at(value_at(job, "reason"), "text"));
  line("Command", command_text(value_at(spec, "command")));
  line("Directory", text_at(spec, "workdir"));
  line("GPUs", gpus_text(job) + (where_text(job) == "–" ? "" : "  on " + where_text(job)));
  if (text_at(spec, "launch") != "none") line("Launch", text_at(spec, "launch"));
  line("User", text_at(job, "user"));
  line("Submitted", clock_text(text_at(job, "created_at")) + "  waited " + duration_text(number_at(job, "wait_s")));
  if (value_at(job, "started_at").is_string())
    line("Started", clock_text(text_at(job, "started_at")) + "  ran " + duration_text(number_at(job, "run_s")) +
                        fmt::format("  {:.0f} GPU-seconds", number_at(job, "gpu_seconds")));
  if (value_at(job, "finished_at").is_string()) line("Ended", clock_text(text_at(job, "finished_at")));
  const json::value& progress = value_at(job, "progress");
  if (progress.is_object()) {
    std::string text = fmt::format("{} {:g}", text_at(progress, "unit"), number_at(progress, "done"));
    if (value_at(progress, "total").is_number()) text += fmt::format(" of {:g}", number_at(progress, "total"));
    if (value_at(progress, "loss").is_number()) text += fmt::format(", loss {:.4f}", number_at(progress, "loss"));
    if (value_at(progress, "accuracy").is_number())
      text += fmt::format(", accuracy {:.4f}", number_at(progress, "accuracy"));
    line("Progress", text);
  }
  const json::value& failure = value_at(job, "failure");
  if (failure.is_object()) line("Failure", text_at(failure, "kind") + ": " + text_at(failure, "message"));
  const json::value& exit = value_at(job, "exit");
  if (exit.is_object() && value_at(exit, "code").is_number())
    line("Exit code", fmt::format("{:g}", number_at(exit, "code")));
  if (number_at(job, "attempt") > 1) line("Attempts", fmt::format("{:g}", number_at(job, "attempt")));
  std::printf("\n  schedulearn logs %lld\n", static_cast<long long>(number_at(job, "id")));
}

}  // namespace

int show_job(const Context& context, const std::vector<std::string>& selectors) {
  const auto ids = select_jobs(context, selectors);
  if (!ids.ok()) return fail(ids.error());
  for (const std::int64_t id : *ids) {
    const Result<json::value> job = context.get("/api/v1/jobs/" + std::to_string(id));
    if (!job.ok()) return fail(job.error());
    context.as_json ? context.print_json(*job) : show(context, *job);
  }
  return 0;
}

int why(const Context& context, const std::string& selector) {
  const auto ids = select_jobs(context, {selector});
  if (!ids.ok()) return fail(ids.error());
  const Result<json::value> explain = context.get("/api/v1/jobs/" + std::to_string(ids->front()) + "/explain");
  if (!explain.ok()) return fail(explain.error());
  if (context.as_json) {
    context.print_json(*explain);
    return 0;
  }
  const std::string verdict = text_at(*explain, "verdict");
  const char* words = verdict == "cannot_run"       ? "It cannot run as asked."
                      : verdict == "will_run"       ? "It will run; nothing is wrong with the request."
                      : verdict == "will_run_after" ? "It will run after those ahead of it."
                      : verdict == "policy_decides"
                          ? "Nothing is wrong with the request; whose turn it is, the policy alone knows."
                          : "";
  std::printf("%s.%s%s\n", text_at(*explain, "summary").c_str(), *words ? " " : "", words);
  if (value_at(*explain, "position").is_number())
    std::printf("\n  In line      %g of %g under policy %s\n  Starts       no estimate yet\n",
                number_at(*explain, "position"), number_at(*explain, "queue_length"),
                text_at(*explain, "policy").c_str());
  else if (verdict == "policy_decides")
    std::printf("\n  In line      one of %g under policy %s\n", number_at(*explain, "queue_length"),
                text_at(*explain, "policy").c_str());
  Table table({"SERVER", "FREE", "NEEDED", "VERDICT"}, {1, 2});
  for (const json::value& server : value_at(*explain, "servers").as_array()) {
    table.add({text_at(server, "server"), fmt::format("{:g}", number_at(server, "free")),
               fmt::format("{:g}", number_at(server, "needed")), text_at(server, "text")});
  }
  if (!table.empty()) std::printf("\n%s", table.text(context.plain).c_str());
  return 0;
}

}  // namespace sl::cli
