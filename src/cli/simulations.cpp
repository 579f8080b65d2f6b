// sim ls, show, rm: simulations that a controller was asked for.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

std::string path_of_simulation(std::int64_t id) { return fmt::format("/api/v1/simulations/{}", id); }

// "fifo, srtf".
std::string policies_of(const json::value& simulation) {
  std::string text;
  for (const json::value& policy : value_at(simulation, "policies").as_array())
    text += (text.empty() ? "" : ", ") + text_at(policy, "name");
  return text;
}

std::string progress_of(const json::value& simulation) {
  const std::string state = text_at(simulation, "state");
  return state == "running" ? fmt::format("{:.0f} %", 100 * number_at(value_at(simulation, "progress"), "part"))
                            : state;
}

std::string seconds_of_run(const json::value& result, const char* key) {
  const json::value& value = value_at(result, key);
  return value.is_number() ? fmt::format("{:.0f}", value.to_number<double>()) : "–";
}

// "2 jobs too wide, 1 job without a GPU, 3 jobs that no server can ever run (CPUs)"; empty: none.
std::string left_out_of(const json::value& simulation) {
  std::string text;
  const auto add = [&](double jobs, const std::string& which) {
    if (jobs > 0) text += (text.empty() ? "" : ", ") + plural(static_cast<std::size_t>(jobs), "job") + " " + which;
  };
  const json::value& reasons = value_at(simulation, "left_out_reasons");
  if (!reasons.is_object()) return text;
  add(number_at(reasons, "oversize"), "too wide");
  add(number_at(reasons, "without_gpus"), "without a GPU");
  for (const auto& [lack, jobs] : value_at(reasons, "impossible").as_object())
    add(jobs.to_number<double>(), "that no server can ever run (" + std::string(lack) + ")");
  return text;
}

}  // namespace

int list_simulations(const Context& context) {
  const auto list = context.get("/api/v1/simulations");
  if (!list.ok()) return fail(list.error());
  if (context.as_json) return context.print_json(*list), 0;
  Table table({"ID", "STATE", "POLICIES", "TRACE", "SERVERS", "MADE", "USER"}, {0});
  for (const json::value& each : value_at(*list, "items").as_array())
    table.add({fmt::format("{:.0f}", number_at(each, "id")), progress_of(each), policies_of(each),
               text_at(each, "trace"), text_at(each, "servers"), clock_text(text_at(each, "created_at")),
               text_at(each, "user")});
  if (table.empty())
    return say_none(context, "No simulations; ask for one on the page's Lab, or run one here: schedulearn sim run"), 0;
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

int show_simulation(const Context& context, std::int64_t id) {
  const auto one = context.get(path_of_simulation(id));
  if (!one.ok()) return fail(one.error());
  if (context.is_for_programs()) return context.print_for_programs(*one), 0;
  std::printf("Simulation %lld of %s on %s, %s: %s\n", static_cast<long long>(id), text_at(*one, "trace").c_str(),
              text_at(*one, "servers").c_str(), policies_of(*one).c_str(), progress_of(*one).c_str());
  const json::value& failure = value_at(*one, "failure");
  if (failure.is_object())
    std::printf("  %s [%s]\n", text_at(failure, "detail").c_str(), text_at(failure, "code").c_str());
  std::printf("  The same here: %s\n", text_at(*one, "command").c_str());
  if (const std::string left_out = left_out_of(*one); !left_out.empty())
    std::printf("  Left out: %s\n", left_out.c_str());
  Table table({"POLICY", "SEED", "JOBS", "WAIT S", "JCT S", "P95 JCT S", "MAKESPAN S"}, {1, 2, 3, 4, 5, 6});
  for (const json::value& run : value_at(*one, "results").as_array())
    table.add({text_at(run, "policy"), fmt::format("{:.0f}", number_at(run, "seed")),
               fmt::format("{:.0f}", number_at(run, "jobs")), seconds_of_run(run, "avg_wait_s"),
               seconds_of_run(run, "avg_jct_s"), seconds_of_run(run, "p95_jct_s"), seconds_of_run(run, "makespan_s")});
  if (!table.empty()) std::printf("\n%s", table.text(context).c_str());
  return 0;
}

int remove_simulation(const Context& context, std::int64_t id) {
  const auto removed = context.call("DELETE", path_of_simulation(id), "");
  if (!removed.ok()) return fail(removed.error());
  if (context.as_json) return context.print_json(*removed), 0;
  if (!context.quiet) std::printf("Simulation %lld is removed.\n", static_cast<long long>(id));
  return 0;
}

}  // namespace sl::cli
