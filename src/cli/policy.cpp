#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

void show_parameters(const Context& context, const json::value& info, const json::value& values) {
  const auto& parameters = value_at(info, "parameters");
  if (!parameters.is_array() || parameters.get_array().empty()) return;
  Table table({"PARAMETER", "VALUE", "DEFAULT", "RANGE", "MEANING"});
  for (const json::value& p : parameters.get_array()) {
    std::string range;
    if (value_at(p, "min").is_number()) range = fmt::format("{:g} to {:g}", number_at(p, "min"), number_at(p, "max"));
    for (const json::value& choice : value_at(p, "choices").as_array())
      range += (range.empty() ? "" : "|") + std::string(choice.as_string());
    const std::string unit = text_at(p, "unit").empty() ? "" : " " + text_at(p, "unit");
    table.add({text_at(p, "name"), text_at(values, text_at(p, "name"), text_at(p, "default")), text_at(p, "default"),
               range + unit, text_at(p, "help")});
  }
  std::printf("\n%s", table.text(context.plain).c_str());
}

}  // namespace

int list_policies(const Context& context) {
  const Result<json::value> list = context.get("/api/v1/policies");
  if (!list.ok()) return fail(list.error());
  const Result<json::value> current = context.get("/api/v1/policy");
  if (!current.ok()) return fail(current.error());
  if (context.as_json) {
    context.print_json(*list);
    return 0;
  }
  Table table({"", "POLICY", "SUMMARY"});
  for (const json::value& policy : value_at(*list, "items").as_array()) {
    const bool is_current = text_at(policy, "name") == text_at(*current, "name");
    table.add({is_current ? (context.unicode ? "●" : "*") : " ", text_at(policy, "name"), text_at(policy, "summary")});
  }
  std::fputs(table.text(context.plain).c_str(), stdout);
  if (!context.plain) std::printf("Switch while jobs run:  schedulearn policy set NAME\n");
  return 0;
}

int show_policy(const Context& context, const std::string& name) {
  const Result<json::value> current = context.get("/api/v1/policy");
  if (!current.ok()) return fail(current.error());
  const std::string wanted = name.empty() ? text_at(*current, "name") : name;
  const Result<json::value> list = context.get("/api/v1/policies");
  if (!list.ok()) return fail(list.error());
  for (const json::value& policy : value_at(*list, "items").as_array()) {
    if (text_at(policy, "name") != wanted) continue;
    const bool in_force = text_at(*current, "name") == wanted;
    if (context.as_json) {
      context.print_json(in_force && name.empty() ? *current : policy);
      return 0;
    }
    std::printf("%s  %s%s\n\n  %s\n  Good for   %s\n  Weak for   %s\n", text_at(policy, "name").c_str(),
                text_at(policy, "title").c_str(), in_force ? "  (in force)" : "", text_at(policy, "summary").c_str(),
                text_at(policy, "good_for").c_str(), text_at(policy, "weak_for").c_str());
    if (in_force)
      std::printf("  Since      %s by %s\n", clock_text(text_at(*current, "since")).c_str(),
                  text_at(*current, "by").c_str());
    show_parameters(context, policy, in_force ? value_at(*current, "parameters") : json::value());
    return 0;
  }
  return fail(not_found("unknown-policy", "there is no policy " + wanted).hint("schedulearn policy ls"));
}

int set_policy(const Context& context, const std::string& name, const std::vector<std::string>& parameters) {
  json::object given;
  for (const std::string& parameter : parameters) {
    const std::size_t equals = parameter.find('=');
    if (equals == std::string::npos)
      return fail(
          invalid("bad-flag", "--param takes name=value, not " + parameter).hint("schedulearn policy show " + name));
    given[parameter.substr(0, equals)] = parameter.substr(equals + 1);
  }
  const json::object body = {{"name", name}, {"parameters", std::move(given)}};
  const Result<json::value> policy = context.call("PUT", "/api/v1/policy", json::serialize(body));
  if (!policy.ok()) return fail(policy.error());
  if (context.as_json) {
    context.print_json(*policy);
  } else {
    std::printf(
        "%s Policy is now %s (was %s); the queue keeps its jobs.\n\n  schedulearn ls                    see the "
        "effect\n  schedulearn policy set %-10s go back\n",
        context.unicode ? "✓" : "+", text_at(*policy, "name").c_str(), text_at(*policy, "previous", "none").c_str(),
        text_at(*policy, "previous", "fifo").c_str());
  }
  return 0;
}

}  // namespace sl::cli
