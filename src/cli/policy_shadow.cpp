#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"
#include "wire/json.h"

namespace sl::cli {
namespace {

// "2m 10s less", "40s more"
std::string difference(double seconds) {
  if (std::abs(seconds) < 0.05) return "no difference";
  return duration_text(std::abs(seconds)) + (seconds > 0 ? " less" : " more");
}

void print_found(const json::value& shadow, const std::string& name) {
  const json::value& latest = value_at(shadow, "latest");
  if (!latest.is_object()) {
    std::printf("  Nothing can be said yet: jobs must come or end first.\n");
    return;
  }
  std::printf("  Window     %s since %s, %.0f possible futures\n",
              plural(static_cast<std::size_t>(number_at(latest, "jobs")), "job").c_str(),
              clock_text(text_at(latest, "since")).c_str(), number_at(latest, "draws"));
  std::printf("  A job      takes %s under %s and would take %s under %s: %s (8 in 10 futures: %s to %s)\n",
              duration_text(number_at(latest, "in_force_s")).c_str(), text_at(latest, "in_force").c_str(),
              duration_text(number_at(latest, "shadow_s")).c_str(), name.c_str(),
              difference(number_at(latest, "mean_s")).c_str(), difference(number_at(latest, "p10_s")).c_str(),
              difference(number_at(latest, "p90_s")).c_str());
  std::printf("  All jobs   %s, in %s\n", difference(number_at(shadow, "total_s")).c_str(),
              plural(static_cast<std::size_t>(number_at(shadow, "windows")), "window").c_str());
}

int print_shadow(const Context& context, const Result<json::value>& shadow) {
  if (!shadow.ok()) return fail(shadow.error());
  if (context.as_json) {
    context.print_json(*shadow);
    return 0;
  }
  if (!value_at(*shadow, "name").is_string()) {
    say_none(context, "No policy follows. One that does, without deciding:  schedulearn policy shadow NAME");
    return 0;
  }
  const std::string name = text_at(*shadow, "name");
  std::printf("%s follows since %s by %s, without deciding.\n", name.c_str(),
              clock_text(text_at(*shadow, "since")).c_str(), text_at(*shadow, "by").c_str());
  print_found(*shadow, name);
  if (!context.plain)
    std::printf(
        "\n  schedulearn plot regret           draw this over time\n"
        "  schedulearn policy set %-10s have it decide\n",
        name.c_str());
  return 0;
}

}  // namespace

int show_shadow(const Context& context) { return print_shadow(context, context.get("/api/v1/policy/shadow")); }

int end_shadow(const Context& context) {
  return print_shadow(context, context.call("DELETE", "/api/v1/policy/shadow", ""));
}

int follow_policy(const Context& context, const std::string& name, const std::vector<std::string>& parameters) {
  const auto body = policy_body(name, parameters);
  if (!body.ok()) return fail(body.error());
  return print_shadow(context, context.call("PUT", "/api/v1/policy/shadow", json::serialize(*body)));
}

}  // namespace sl::cli
