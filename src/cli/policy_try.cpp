#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

std::string figure_text(const json::value& policy, const char* key) {
  return value_at(policy, key).is_number() ? duration_text(number_at(policy, key)) : "–";
}

void print_policies(const Context& context, const json::array& policies) {
  Table table({"", "POLICY", "MEAN WAIT", "MEAN JCT", "P95 JCT", "MAKESPAN", "GPUS HELD", "PREEMPTED", "MOVED"},
              {2, 3, 4, 5, 6, 7, 8});
  table.may_shrink(1, {8, 7, 6});
  for (const json::value& policy : policies) {
    const bool known = value_at(policy, "gpu_allocation_pct").is_number();
    table.add({value_at(policy, "in_force") == true ? (context.unicode ? "●" : "*") : " ", text_at(policy, "name"),
               figure_text(policy, "avg_wait_s"), figure_text(policy, "avg_jct_s"), figure_text(policy, "p95_jct_s"),
               figure_text(policy, "makespan_s"),
               known ? fmt::format("{:.0f} %", number_at(policy, "gpu_allocation_pct")) : "–",
               known ? fmt::format("{}", number_at(policy, "preemptions")) : "–",
               known ? fmt::format("{}", number_at(policy, "migrations")) : "–"});
  }
  std::fputs(table.text(context).c_str(), stdout);
  for (const json::value& policy : policies) {
    const std::string name = text_at(policy, "name");
    if (value_at(policy, "failure").is_string())
      std::printf("  %s failed: %s\n", name.c_str(), text_at(policy, "failure").c_str());
    else if (const auto unfinished = static_cast<std::size_t>(number_at(policy, "unfinished"));
             unfinished > 0 && !context.plain)
      std::printf("  %s never ends %s%s\n", name.c_str(), plural(unfinished, "job").c_str(),
                  value_at(policy, "avg_jct_s").is_null() ? ", so it has no figures to compare" : "");
  }
}

void print_jobs(const Context& context, const json::value& tried) {
  const json::array& jobs = value_at(tried, "jobs").as_array();
  if (jobs.empty()) return;
  std::vector<std::string> columns = {"YOUR JOB", "NAME"};
  for (const json::value& policy : value_at(tried, "policies").as_array())
    columns.push_back("ends, " + text_at(policy, "name"));
  Table table(columns);
  table.may_shrink(1, {1});
  constexpr std::size_t shown_most = 15;
  for (std::size_t i = 0; i < std::min(jobs.size(), shown_most); ++i) {
    const json::value& job = jobs[i];
    std::vector<std::string> row = {fmt::format("{}", number_at(job, "job_id")), text_at(job, "name")};
    for (const json::value& expected : value_at(job, "expected").as_array())
      row.push_back(clock_text(context, text_at(expected, "finish")));
    table.add(row);
  }
  std::printf("\n%s", table.text(context).c_str());
  if (jobs.size() > shown_most) std::printf("and more of yours: --json lists up to 100\n");
}

}  // namespace

int try_policies(const Context& context, const std::vector<std::string>& names, bool with_arrivals,
                 const std::string& horizon) {
  json::array policies;
  for (const std::string& name : names) {
    auto policy = policy_body(name, {});
    if (!policy.ok()) return fail(policy.error());
    policies.push_back(std::move(*policy));
  }
  json::object body = {{"policies", std::move(policies)}};
  if (with_arrivals) body["with_arrivals"] = true;
  if (!horizon.empty()) {
    const auto seconds = wire::parse_duration_s(horizon);
    if (!seconds.ok()) return fail(seconds.error());
    body["horizon_s"] = *seconds;
  }
  return show_trial(context, body);
}

int show_trial(const Context& context, const json::object& body) {
  const Result<json::value> tried = context.call("POST", "/api/v1/policy/try", json::serialize(body));
  if (!tried.ok()) return fail(tried.error());
  if (context.as_json) {
    context.print_json(*tried);
    return 0;
  }
  const json::array& rows = value_at(*tried, "policies").as_array();
  print_policies(context, rows);
  if (context.plain) return 0;
  print_jobs(context, *tried);
  const std::size_t left_out = value_at(*tried, "left_out").as_array().size();
  const std::string coming =
      body.contains("with_arrivals")
          ? fmt::format("{:.0f} of them yet to come, as in the last day", number_at(*tried, "arrivals"))
          : "without jobs that are yet to come";
  const auto ran =
      std::ranges::find_if(rows, [](const json::value& row) { return value_at(row, "failure").is_null(); });
  if (ran == rows.end()) return 0;  // why was said
  const auto draws = static_cast<std::size_t>(number_at(*ran, "draws"));
  if (draws == 0) {
    std::printf(
        "\nToo many jobs for one future in %.0f s. Look less far ahead:  schedulearn policy try --horizon 12h\n",
        number_at(*tried, "took_s"));
    return 0;
  }
  std::printf("\nEach figure is the median over %s of %s, %s (%.1f s).\n", plural(draws, "possible future").c_str(),
              plural(static_cast<std::size_t>(number_at(*ran, "jobs")), "job").c_str(), coming.c_str(),
              number_at(*tried, "took_s"));
  if (draws == 1) std::printf("One future alone says little.\n");
  std::printf("MEAN WAIT is that of the jobs that wait, MEAN JCT that of all, which may be less.\n");
  if (body.contains("horizon_s"))
    std::printf("They look %s ahead: what has not started or ended by then counts up to then.\n",
                duration_text(number_at(body, "horizon_s")).c_str());
  if (left_out > 0)
    std::printf("Left out as running for ever: %s of which nothing is known.\n", plural(left_out, "job").c_str());
  return 0;
}

}  // namespace sl::cli
