#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/render.h"
#include "cli/starting.h"
#include "net/http.h"
#include "policies/catalogue.h"
#include "policies/registry.h"
#include "python_policy/loader.h"
#include "wire/json.h"

namespace sl::cli {
namespace {

std::string range_of(const json::value& parameter) {
  std::string range;
  if (value_at(parameter, "min").is_number())
    range = fmt::format("{} to {}", number_at(parameter, "min"), number_at(parameter, "max"));
  for (const json::value& choice : value_at(parameter, "choices").as_array())
    range += (range.empty() ? "" : "|") + std::string(choice.as_string());
  return range;
}

void show_parameters(const Context& context, const json::value& info, const json::value& values) {
  const auto& parameters = value_at(info, "parameters");
  if (!parameters.is_array() || parameters.get_array().empty()) {
    std::printf("\n  It has no parameters.\n");
    return;
  }
  Table table({"PARAMETER", "VALUE", "DEFAULT", "UNIT", "TYPE", "RANGE", "MEANING"});
  table.may_shrink(5, {4, 3, 2});
  for (const json::value& p : parameters.get_array()) {
    table.add({text_at(p, "name"), text_at(values, text_at(p, "name"), text_at(p, "default")), text_at(p, "default"),
               text_at(p, "unit"), text_at(p, "type"), range_of(p), text_at(p, "help")});
  }
  std::printf("\n%s", table.text(context).c_str());
}

// What the policy assumes about the jobs that wait now, one line each.
void show_notes(const json::value& policy) {
  const auto& notes = value_at(policy, "notes");
  if (!notes.is_array()) return;
  for (const json::value& note : notes.get_array()) std::printf("  note: %s\n", note.as_string().c_str());
}

void show_needs(const json::value& info) {
  const char* label = "Needs";
  for (const json::value& need : value_at(info, "needs").as_array()) {
    std::printf("  %-10s %s\n", label, need.as_string().c_str());
    label = "";
  }
}

std::string by_whom(const json::value& policy) {
  return clock_text(text_at(policy, "since")) + " by " + text_at(policy, "by");
}

void print_change(const Context& context, const json::value& policy, const char* back) {
  if (context.as_json) return context.print_json(policy);
  if (context.quiet) return void(std::printf("%s\n", text_at(policy, "name").c_str()));
  if (value_at(policy, "changed") == false) {
    std::printf("Policy %s already runs with these parameters; nothing has changed.\n",
                text_at(policy, "name").c_str());
    return show_notes(policy);
  }
  std::printf("%s Policy is now %s (was %s); the queue keeps its jobs.\n", context.unicode ? "✓" : "+",
              text_at(policy, "name").c_str(), text_at(policy, "previous", "none").c_str());
  show_notes(policy);
  std::printf("\n  schedulearn ls           see the effect\n  schedulearn policy undo  %s\n", back);
}

int plan_policy(const Context& context, json::object body, const std::string& at) {
  const auto when = time_meant(at, clock_us());
  if (!when.ok()) return fail(when.error());
  body["at"] = wire::time_text(*when);
  const Result<json::value> policy = context.call("PUT", "/api/v1/policy/planned", json::serialize(body));
  if (!policy.ok()) return fail(policy.error());
  if (context.as_json) return context.print_json(*policy), 0;
  std::printf("%s Policy %s takes over from %s at %s.\n\n  schedulearn policy set --call-off  it does not\n",
              context.unicode ? "✓" : "+", text_at(value_at(*policy, "planned"), "name").c_str(),
              text_at(*policy, "name").c_str(), clock_text(text_at(value_at(*policy, "planned"), "at")).c_str());
  return 0;
}

// Null if no controller answers; this program has the catalogue too.
Result<json::value> policy_in_force(const Context& context) {
  Result<json::value> current = context.get("/api/v1/policy");
  if (current.ok() || current.error().code != "controller-unreachable") return current;
  std::fprintf(stderr, "note: %s; these are the policies of this program, and none is marked as current\n",
               current.error().message.c_str());
  return json::value();
}

Result<json::value> catalogue() {
  json::array items;
  for (const PolicyEntry& entry : policies()) items.push_back(wire::to_value(describe(entry.info)));
  return json::value(list_of(std::move(items)));
}

Result<json::value> catalogue_entry(const std::string& name) {
  const PolicyEntry* entry = find_policy(name);
  if (!entry) return unknown_policy(name);
  return wire::to_value(describe(entry->info));
}

}  // namespace

int list_policies(const Context& context) {
  const Result<json::value> current = policy_in_force(context);
  if (!current.ok()) return fail(current.error());
  const Result<json::value> list = current->is_null() ? catalogue() : context.get("/api/v1/policies");
  if (!list.ok()) return fail(list.error());
  if (context.as_json) {
    context.print_json(*list);
    return 0;
  }
  if (context.quiet) {
    for (const json::value& policy : value_at(*list, "items").as_array())
      std::printf("%s\n", text_at(policy, "name").c_str());
    return 0;
  }
  Table table({"", "POLICY", "TITLE", "SUMMARY"});
  table.may_shrink(std::nullopt, {2});
  const char* mark = context.plain ? "in_force" : context.unicode ? "●" : "*";
  const char* acting_mark = context.plain ? "acting" : context.unicode ? "▸" : ">";
  const char* shadow_mark = context.plain ? "shadow" : context.unicode ? "○" : "o";
  if (value_at(*current, "source").is_string())
    table.add({mark, text_at(*current, "name"), "", "Your own policy, the current one: schedulearn policy show"});
  for (const json::value& policy : value_at(*list, "items").as_array()) {
    const bool is_current = text_at(policy, "name") == text_at(*current, "name");
    const bool follows = text_at(policy, "name") == text_at(*current, "shadow");
    const bool acts = text_at(policy, "name") == text_at(*current, "acting");
    table.add({is_current ? mark
               : follows  ? shadow_mark
               : acts     ? acting_mark
                          : "",
               text_at(policy, "name"), text_at(policy, "title"), text_at(policy, "summary")});
  }
  std::fputs(table.text(context).c_str(), stdout);
  if (!context.plain && value_at(*current, "acting").is_string())
    std::printf("%s decides for %s:  schedulearn policy history\n", text_at(*current, "acting").c_str(),
                text_at(*current, "name").c_str());
  if (!context.plain && value_at(*current, "shadow").is_string())
    std::printf("%s follows without deciding:  schedulearn policy shadow\n", text_at(*current, "shadow").c_str());
  if (!context.plain)
    std::printf(
        "Needs, strengths, parameters:  schedulearn policy show NAME\n"
        "What it would do now:          schedulearn policy try NAME\n"
        "Switch while jobs run:         schedulearn policy set NAME\n");
  return 0;
}

int show_policy(const Context& context, const std::string& name) {
  const Result<json::value> current = name.empty() ? context.get("/api/v1/policy") : policy_in_force(context);
  if (!current.ok()) return fail(current.error());
  const std::string wanted = name.empty() ? text_at(*current, "name") : name;
  const Result<json::value> policy =
      current->is_null() ? catalogue_entry(wanted) : context.get("/api/v1/policies/" + net::percent_encode(wanted));
  if (!policy.ok()) return fail(policy.error());
  const bool in_force = text_at(*current, "name") == text_at(*policy, "name");
  if (context.is_for_programs()) return context.print_for_programs(in_force && name.empty() ? *current : *policy), 0;
  if (context.quiet) return std::printf("%s\n", text_at(*policy, "name").c_str()), 0;
  std::printf("%s  %s%s\n\n  %s\n  Good for   %s\n  Weak for   %s\n", text_at(*policy, "name").c_str(),
              text_at(*policy, "title").c_str(), in_force ? "  (in force)" : "", text_at(*policy, "summary").c_str(),
              text_at(*policy, "good_for").c_str(), text_at(*policy, "weak_for").c_str());
  std::printf("  Places on  %s\n", text_at(*policy, "placement").c_str());
  show_needs(*policy);
  const json::value& failure = value_at(*current, "failure");
  if (failure.is_object())
    std::printf("  Failed     %s at %s and was replaced\n             %s [%s]\n", text_at(failure, "name").c_str(),
                clock_text(text_at(failure, "at")).c_str(), text_at(failure, "text").c_str(),
                text_at(failure, "code").c_str());
  if (in_force && value_at(*current, "acting").is_string())
    std::printf("  Acting     %s\n", text_at(*current, "acting").c_str());
  if (in_force) std::printf("  Since      %s\n", by_whom(*current).c_str());
  const json::value& planned = value_at(*current, "planned");
  if (in_force && planned.is_object())
    std::printf("  Until      %s, when %s takes over (planned by %s)\n", clock_text(text_at(planned, "at")).c_str(),
                text_at(planned, "name").c_str(), text_at(planned, "by").c_str());
  show_notes(*policy);
  show_parameters(context, *policy, in_force ? value_at(*current, "parameters") : json::value());
  return 0;
}

Result<json::object> policy_body(const std::string& name, const std::vector<std::string>& parameters) {
  json::object given;
  for (const std::string& parameter : parameters) {
    const std::size_t equals = parameter.find('=');
    if (equals == std::string::npos)
      return invalid("bad-flag", "--param takes name=value, not " + parameter).hint("schedulearn policy show " + name);
    given[parameter.substr(0, equals)] = parameter.substr(equals + 1);
  }
  json::object body = {{"name", name}, {"parameters", std::move(given)}};
  if (python_policy::is_file_name(name)) {
    const auto script = python_policy::read_script(name);
    if (!script.ok()) return script.error();
    body["name"] = script->file;
    body["source"] = script->source;
  }
  return body;
}

int set_policy(const Context& context, const std::string& name, const std::vector<std::string>& parameters,
               const std::string& at, bool try_first) {
  if (name.empty()) return fail(invalid("bad-flag", "which policy? see: schedulearn policy ls"));
  auto body = policy_body(name, parameters);
  if (!body.ok()) return fail(body.error());
  if (try_first) {
    if (context.as_json)
      return fail(
          invalid("bad-flag", "--try shows a table and asks").hint("schedulearn policy try " + name + " --json"));
    if (const int status = show_trial(context, {{"policies", json::array{*body}}}); status != 0) return status;
    const auto sure = confirm(context, "switch to " + name, true);
    if (!sure.ok() || !*sure) return sure.ok() ? 1 : fail(sure.error());
  }
  if (!at.empty()) return plan_policy(context, std::move(*body), at);
  const Result<json::value> policy = context.call("PUT", "/api/v1/policy", json::serialize(*body));
  if (!policy.ok()) return fail(policy.error());
  print_change(context, *policy, "go back");
  return 0;
}

int call_off_policy(const Context& context) {
  const Result<json::value> policy = context.call("DELETE", "/api/v1/policy/planned", "");
  if (!policy.ok()) return fail(policy.error());
  if (context.as_json) return context.print_json(*policy), 0;
  std::printf("%s Policy %s stays: nothing is planned.\n", context.unicode ? "✓" : "+",
              text_at(*policy, "name").c_str());
  return 0;
}

int undo_policy(const Context& context) {
  const Result<json::value> policy = context.call("POST", "/api/v1/policy/undo", "{}");
  if (!policy.ok()) return fail(policy.error());
  print_change(context, *policy, "go back again");
  return 0;
}

int policy_history(const Context& context) {
  const Result<json::value> history = context.get("/api/v1/policy/history");
  if (!history.ok()) return fail(history.error());
  if (context.as_json) {
    context.print_json(*history);
    return 0;
  }
  Table table({"SINCE", "POLICY", "BY", "PARAMETERS", "WHY"});
  for (const json::value& change : value_at(*history, "items").as_array()) {
    std::string parameters;
    for (const auto& [name, value] : value_at(change, "parameters").as_object())
      parameters += (parameters.empty() ? "" : " ") + std::string(name) + "=" + std::string(value.as_string());
    table.add({clock_text(context, text_at(change, "since")), text_at(change, "name"), text_at(change, "by"),
               parameters, text_at(change, "reason", text_at(change, "by") == "default" ? "first start" : "chosen")});
  }
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

}  // namespace sl::cli
