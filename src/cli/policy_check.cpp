// schedulearn policy check mine.py
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"
#include "cli/research.h"
#include "study/policy_check.h"

namespace sl::cli {
namespace {

json::array to_json(const std::vector<study::BrokenRule>& rules) {
  json::array list;
  for (const study::BrokenRule& rule : rules)
    list.push_back({{"rule", rule.rule},
                    {"what", rule.what},
                    {"seed", rule.seed},
                    {"workload", study::checked_workload(rule.seed)},
                    {"options", study::checked_options(rule.seed)}});
  return list;
}

json::value document_of(const std::string& name, const study::PolicyCheck& report) {
  return json::object{{"policy", name},
                      {"ok", report.broken.empty()},
                      {"workloads", report.workloads},
                      {"broken", to_json(report.broken)},
                      {"notes", to_json(report.notes)},
                      {"waiting_jobs", report.waiting},
                      {"servers", report.servers},
                      {"decision_ms_p50", report.decision_ms_p50},
                      {"decision_ms_p99", report.decision_ms_p99}};
}

void print_rule(const char* sign, const std::string& path, const study::PolicyChoice& choice,
                const study::BrokenRule& rule) {
  std::printf("%s %s: %s (seed %llu)\n", sign, rule.rule.c_str(), rule.what.c_str(),
              static_cast<unsigned long long>(rule.seed));
  std::printf("    %s\n", study::checked_command(rule.seed, path, choice.parameters).c_str());
}

}  // namespace

int check_policy(const Context& context, const std::string& path, const std::vector<std::string>& parameters) {
  const auto choices = study::choose_policies({path}, parameters, read_policy_file);
  if (!choices.ok()) return fail(choices.error());
  const study::PolicyChoice& choice = choices->front();
  constexpr int workloads = 20;
  catch_interrupts(true);
  const study::PolicyCheck report = study::check_policy(choice, workloads, [] { return interrupts() == 0; });
  if (interrupts() > 0 && report.broken.empty() && report.workloads < workloads) {
    std::fprintf(stderr, "interrupted after %zu of %d workloads: nothing is known of the others\n", report.workloads,
                 workloads);
    return 130;
  }
  if (context.is_for_programs()) {
    context.print_for_programs(document_of(choice.name, report));
    return report.broken.empty() ? 0 : 1;
  }
  for (const study::BrokenRule& rule : report.broken) print_rule(context.unicode ? "✗" : "BROKEN", path, choice, rule);
  for (const study::BrokenRule& rule : report.notes) print_rule(context.unicode ? "•" : "note", path, choice, rule);
  if (report.broken.empty())
    std::printf("%s %s keeps the rules on %zu workloads\n", context.unicode ? "✓" : "OK", choice.name.c_str(),
                report.workloads);
  if (report.decisions_measured > 0)
    std::printf("  a decision with %d waiting jobs and %d servers takes %.1f ms (99 %%: %.1f ms)\n", report.waiting,
                report.servers, report.decision_ms_p50, report.decision_ms_p99);
  return report.broken.empty() ? 0 : 1;
}

}  // namespace sl::cli
