#include "plot/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "plot/csv.h"
#include "plot/text.h"
#include "wire/json.h"
#include "wire/read_file.h"

namespace sl::plot {
namespace {

namespace json = boost::json;
constexpr std::int64_t version_known = 1;

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_string() ? std::string(std::string_view(value->get_string())) : "";
}

bool is_true(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_bool() && value->get_bool();
}

std::map<std::string, double> numbers_of(const json::object& object) {
  std::map<std::string, double> numbers;
  for (const auto& [key, value] : object) {
    if (value.is_number()) numbers[std::string(key)] = value.to_number<double>();
  }
  return numbers;
}

std::string file_of(const json::object& object, std::string_view key, const std::string& folder) {
  const std::string name = text_of(object, key);
  return name.empty() ? "" : (std::filesystem::path(folder) / name).string();
}

SimulatedResult read_result(const json::object& object, const std::string& folder, std::size_t index) {
  SimulatedResult result;
  result.policy = text_of(object, "policy");
  result.figures = numbers_of(object);
  if (const auto seed = result.figures.find("seed"); seed != result.figures.end())
    result.seed = static_cast<std::int64_t>(seed->second);
  if (const json::value* parameters = object.if_contains("parameters"); parameters && parameters->is_object()) {
    for (const auto& [key, value] : parameters->get_object())
      result.parameters[std::string(key)] =
          value.is_string() ? std::string(std::string_view(value.get_string())) : json::serialize(value);
  }
  result.jobs_file = file_of(object, "jobs_file", folder);
  result.events_file = file_of(object, "events_file", folder);
  result.folder = index;
  return result;
}

std::string switches_of(const json::object& object) {
  const json::value* switches = object.if_contains("switches");
  std::string text;
  if (!switches || !switches->is_array()) return text;
  for (const json::value& each : switches->get_array()) {
    if (!each.is_object()) continue;
    const std::map<std::string, double> numbers = numbers_of(each.get_object());
    if (const auto after = numbers.find("after_s"); after != numbers.end())
      text += ", " + text_of(each.get_object(), "policy") + " after " + duration_text(after->second);
  }
  return text;
}

Error not_results(const std::string& path, const std::string& why) {
  return invalid("not-results", path + " " + why).hint("schedulearn sim compare … --out FOLDER writes such a folder");
}

Status read_results(const json::object& document, const std::string& path, RunSet& runs) {
  const json::value* results = document.if_contains("results");
  if (!results || !results->is_array()) return not_results(path + "/run.json", "has no list of results");
  for (const json::value& value : results->get_array()) {
    if (!value.is_object() || text_of(value.get_object(), "policy").empty())
      return not_results(path + "/run.json", "holds a result without a policy");
    runs.results.push_back(read_result(value.get_object(), path, runs.folders.size()));
  }
  return {};
}

Status read_folder(const std::string& path, RunSet& runs) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return not_found("no-such-folder", "there is no folder " + path).hint("schedulearn sim compare … --out " + path);
  if (!std::filesystem::exists(std::filesystem::path(path) / "run.json", ignored))
    return not_results(path, "is not a result folder: it has no run.json");
  const Result<std::string> text = wire::read_file(path + "/run.json", wire::table_bytes_max);
  if (!text.ok()) return text.error();
  const Result<json::value> document = wire::parse_json(*text);
  if (!document.ok())
    return not_results(path + "/run.json", "is damaged: " + document.error().message).at(document.error().pointer);
  if (!document->is_object()) return not_results(path + "/run.json", "is not an object");
  const json::object& object = document->get_object();
  const json::value* version = object.if_contains("version");
  if (!version || !version->is_int64() || version->get_int64() != version_known)
    return invalid("unknown-version", path + "/run.json is not of version 1")
        .hint("read it with the program that wrote it");
  if (Status read = read_results(object, path, runs); !read.ok()) return read;
  runs.folders.push_back({path, text_of(object, "command"), text_of(object, "program"), text_of(object, "trace"),
                          text_of(object, "servers"), switches_of(object), is_true(object, "interrupted")});
  return {};
}

// Whether results of this policy have different values of `of`.
template <typename Of>
bool differ(const RunSet& runs, const SimulatedResult& among, Of of) {
  return std::any_of(runs.results.begin(), runs.results.end(),
                     [&](const SimulatedResult& r) { return r.policy == among.policy && of(r) != of(among); });
}

bool is_wanted(const SimulatedResult& result, const Selection& selection) {
  const auto& policies = selection.policies;
  if (!policies.empty() && std::find(policies.begin(), policies.end(), result.policy) == policies.end()) return false;
  if (selection.seed && *selection.seed != result.seed) return false;
  return std::all_of(selection.where.begin(), selection.where.end(),
                     [&](const auto& wish) { return value_text_of(result, wish.first) == wish.second; });
}

}  // namespace

Result<RunSet> read_runs(const std::vector<std::string>& folders) {
  RunSet runs;
  for (std::string path : folders) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (Status read = read_folder(path, runs); !read.ok()) return read.error();
  }
  if (runs.results.empty())
    return invalid("empty-results",
                   folders.empty() ? "no result folder is given" : folders.front() + " holds no results")
        .hint("--run FOLDER, as sim compare --out FOLDER wrote it");
  return runs;
}

Result<RunSet> selected(const RunSet& runs, const Selection& selection) {
  std::set<std::string> known;
  for (const SimulatedResult& result : runs.results) known.insert(result.policy);
  for (const std::string& policy : selection.policies) {
    if (known.contains(policy)) continue;
    Error error = not_found("unknown-policy", "there are no results of policy " + policy)
                      .note("there are results of " + joined({known.begin(), known.end()}, ", "));
    if (const auto near = did_you_mean(policy, {known.begin(), known.end()}))
      error.hints.push_back("did you mean " + *near + "?");
    return error;
  }
  RunSet chosen{runs.folders, {}};
  std::copy_if(runs.results.begin(), runs.results.end(), std::back_inserter(chosen.results),
               [&](const SimulatedResult& result) { return is_wanted(result, selection); });
  if (!chosen.results.empty()) return chosen;
  std::vector<std::string> wishes;
  if (selection.seed) wishes.push_back(fmt::format("seed {}", *selection.seed));
  for (const auto& [key, value] : selection.where) wishes.push_back(key + "=" + value);
  return not_found("no-results", "there are no results with " + joined(wishes, ", "))
      .note("there are " + shortened(joined(names_of(runs), "; "), 1, 120));
}

std::optional<std::string> value_text_of(const SimulatedResult& result, const std::string& key) {
  if (const auto found = result.parameters.find(key); found != result.parameters.end()) return found->second;
  if (const auto found = result.figures.find(key); found != result.figures.end())
    return fmt::format("{}", found->second);
  return {};
}

std::string name_with_parameters(const std::string& policy, const std::map<std::string, std::string>& parameters) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : parameters) parts.push_back(name + "=" + value);
  return parts.empty() ? policy : policy + " (" + joined(parts, ", ") + ")";
}

std::vector<std::string> names_of(const RunSet& runs, Naming naming) {
  std::vector<std::string> names;
  for (const SimulatedResult& result : runs.results) {
    std::map<std::string, std::string> parts;
    for (const auto& [key, value] : result.parameters) {
      const auto same = [&](const SimulatedResult& r) {
        return r.parameters.contains(key) ? r.parameters.at(key) : "";
      };
      if (differ(runs, result, same)) parts[key] = value;
    }
    std::string name = name_with_parameters(result.policy, parts) + runs.folders[result.folder].switches;
    const auto jobs = [](const SimulatedResult& r) {  // also those that did not run to their end
      double sum = 0;
      for (const char* key : {"jobs", "unfinished", "failed"}) sum += r.figures.contains(key) ? r.figures.at(key) : 0;
      return sum;
    };
    const auto other = [&](auto of) {  // also where this policy has one: an interrupted run holds some of them
      return std::ranges::any_of(runs.results, [&](const SimulatedResult& r) { return of(r) != of(result); });
    };
    if (other(jobs)) name += ", " + counted(static_cast<std::size_t>(jobs(result)), "job");
    if (other([](const auto& r) { return value_text_of(r, "load"); }))
      name += ", load " + value_text_of(result, "load").value_or("as it is");
    if (differ(runs, result, [](const auto& r) { return r.seed; })) name += fmt::format(", seed {}", result.seed);
    if (differ(runs, result, [](const auto& r) { return r.folder; })) name += ", " + runs.folders[result.folder].path;
    const bool is_taken = std::find(names.begin(), names.end(), name) != names.end();
    if (is_taken && naming == Naming::unlike) name += fmt::format(" #{}", names.size() + 1);
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<Source> sources_of(const RunSet& runs) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < runs.folders.size(); ++i) {
    std::set<std::int64_t> seeds;
    for (const SimulatedResult& result : runs.results) {
      if (result.folder == i) seeds.insert(result.seed);
    }
    Source source{runs.folders[i].path, runs.folders[i].program, runs.folders[i].command, {}};
    for (const std::int64_t seed : seeds) source.seeds.push_back(std::to_string(seed));
    if (!seeds.empty()) sources.push_back(std::move(source));
  }
  return sources;
}

std::string origin_text(const RunSet& runs) {
  const auto same = [&](auto of) {
    return std::all_of(runs.folders.begin(), runs.folders.end(),
                       [&](const RunFolder& f) { return of(f) == of(runs.folders.front()); });
  };
  const auto trace = [](const RunFolder& f) { return std::filesystem::path(f.trace).filename().string(); };
  const auto servers = [](const RunFolder& f) { return f.servers; };
  std::vector<std::string> parts;
  if (same(trace) && !trace(runs.folders.front()).empty()) parts.push_back("trace " + trace(runs.folders.front()));
  if (same(servers) && !servers(runs.folders.front()).empty())
    parts.push_back("servers " + servers(runs.folders.front()));
  return joined(parts, ", ");
}

}  // namespace sl::plot
