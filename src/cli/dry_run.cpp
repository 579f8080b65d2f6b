#include "cli/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "cli/expectation.h"
#include "cli/render.h"
#include "cli/snapshot.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/members.h"

namespace sl::cli {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;  // key, value

std::string gpus_said(const wire::GpuRange& gpus) {
  if (!gpus.allowed.empty()) return fmt::format("{} GPUs", fmt::join(gpus.allowed, ", "));
  return gpus.min == gpus.max ? plural(static_cast<std::size_t>(gpus.max), "GPU")
                              : fmt::format("{}..{} GPUs", gpus.min, gpus.max);
}

std::string value_said(std::string_view key, const json::value& value) {
  if (value.is_number() && key.ends_with("_bytes")) return bytes_text(value.to_number<double>());
  if (value.is_number() && key.ends_with("_s")) return duration_text(value.to_number<double>());
  return value.is_string() ? std::string(value.get_string()) : wire::json_text(value);
}

bool is_same(const json::value& a, const json::value& b) {
  return a.is_number() && b.is_number() ? a.to_number<double>() == b.to_number<double>() : a == b;
}

// The keys, those inside of others as "time.limit", whose values are not those of a job that says nothing.
void add_said(const json::object& spec, const json::object& plain, const std::string& before, Lines& lines) {
  for (const auto& [key, value] : spec) {
    const auto usual = plain.find(key);
    if (usual != plain.end() && is_same(usual->value(), value)) continue;
    const std::string name = before + std::string(key);
    if (value.is_object() && usual != plain.end() && usual->value().is_object())
      add_said(value.get_object(), usual->value().get_object(), name + ".", lines);
    else
      lines.emplace_back(name, value_said(name, value));
  }
}

}  // namespace

void report_dry_run(const Context& context, const json::value& checked) {
  const json::value& document = value_at(checked, "spec");
  const auto spec = wire::read_json<wire::JobSpec>(json::serialize(document), wire::Unknown::ignore);
  if (!spec.ok()) return context.print_json(checked);  // of a newer controller
  const char* dot = context.unicode ? "·" : "-";
  const bool is_group = wire::is_group(*spec);
  const std::string code = snapshot_text(value_at(document, "snapshot"));
  const std::string members =
      is_group ? plural(static_cast<std::size_t>(wire::member_count(*spec)), "member") + "  " + dot + "  " : "";
  std::printf("dry run: nothing is submitted\n  %s  %s  %s%s%s  %s  %s%s\n", spec->name.c_str(), dot, members.c_str(),
              gpus_said(spec->gpus).c_str(), is_group ? " each" : "", dot,
              spec->image ? ("container " + *spec->image).c_str() : "process",
              code.empty() ? "" : fmt::format("  {}  {}", dot, code).c_str());
  const std::string expected = expectation_text(context, checked);
  if (!expected.empty()) std::printf("  %s\n", expected.c_str());

  json::object keys = document.as_object();
  for (const char* shown : {"name", "gpus", "image", "command", "env", "snapshot"}) keys.erase(shown);
  Lines lines = {{"command", command_text(value_at(document, "command"))}};
  add_said(keys, wire::to_value(wire::JobSpec()).as_object(), "", lines);
  std::string variables;  // names only: values may be nobody else's business
  for (const auto& [name, value] : spec->env) variables += (variables.empty() ? "" : " ") + name;
  if (!variables.empty()) lines.emplace_back("env", variables);
  std::size_t width = 0;
  for (const auto& [key, value] : lines) width = std::max(width, key.size());
  std::printf("\n");
  for (const auto& [key, value] : lines)
    std::printf("  %-*s  %s\n", static_cast<int>(width), key.c_str(), value.c_str());
  std::printf("\nThe other keys have their defaults; all of them:  --json\n");
}

}  // namespace sl::cli
