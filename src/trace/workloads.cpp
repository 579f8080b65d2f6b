#include "trace/workloads.h"

#include <algorithm>

#include "base/suggest.h"
#include "trace/numbers.h"
#include "trace/workloads/entry.h"
#include "trace/workloads/trace_builder.h"

namespace sl::trace {
namespace {

const std::vector<WorkloadEntry>& entries() {
  static const std::vector<WorkloadEntry> all = [] {
    std::vector<WorkloadEntry> list = statistical_workloads();
    for (WorkloadEntry& entry : thesis_workloads()) list.push_back(std::move(entry));
    for (WorkloadEntry& entry : published_workloads()) list.push_back(std::move(entry));
    for (WorkloadEntry& entry : measured_workloads()) list.push_back(std::move(entry));
    return list;
  }();
  return all;
}

std::string name_of(const std::string& spec) { return spec.substr(0, spec.find(':')); }

const WorkloadEntry* find_workload(const std::string& name) {
  const auto at = std::find_if(entries().begin(), entries().end(),
                               [&](const WorkloadEntry& entry) { return entry.info.name == name; });
  return at == entries().end() ? nullptr : &*at;
}

Error with_suggestion(Error error, const std::string& word, const std::vector<std::string_view>& known) {
  if (const auto near = did_you_mean(word, known)) return std::move(error).hint("did you mean " + *near + "?");
  return std::move(error).hint("schedulearn trace ls shows workloads and their parameters");
}

Error unknown_workload(const std::string& name) {
  std::vector<std::string_view> names;
  for (const WorkloadEntry& entry : entries()) names.push_back(entry.info.name);
  return with_suggestion(not_found("unknown-workload", "there is no workload " + name), name, names);
}

using Given = std::vector<std::pair<std::string, std::string>>;

Result<Given> split_parameters(const std::string& spec, const WorkloadInfo& info) {
  Given given;
  for (std::size_t at = info.name.size() + 1; at < spec.size();) {
    const std::size_t comma = std::min(spec.find(',', at), spec.size());
    const std::string part = spec.substr(at, comma - at);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      return invalid("bad-parameter", "a workload's parameters are written key=value, not " + part)
          .hint("for example " + info.name + ":" + info.parameters.front().name + "=" +
                info.parameters.front().default_value);
    const std::string name = part.substr(0, equals);
    if (std::ranges::find(given, name, [](const auto& one) { return one.first; }) != given.end())
      return invalid("bad-parameter", "the parameter " + name + " is given twice: " + spec);
    given.emplace_back(name, part.substr(equals + 1));
    at = comma + 1;
  }
  return given;
}

Status check_names(const Given& given, const WorkloadInfo& info) {
  std::vector<std::string_view> names;
  for (const ParameterInfo& parameter : info.parameters) names.push_back(parameter.name);
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return with_suggestion(invalid("unknown-parameter", "the workload " + info.name + " has no parameter " + name),
                             name, names);
  }
  return {};
}

// A workload whose load depends on its cluster's size is made for this cluster, unless its size is given.
void scale_to(int gpus, const WorkloadInfo& info, Given& given) {
  constexpr std::string_view size = "cluster_gpus";
  const auto has_size = [&](const auto& list, auto name_of) {
    return std::any_of(list.begin(), list.end(), [&](const auto& each) { return name_of(each) == size; });
  };
  const bool depends = has_size(info.parameters, [](const ParameterInfo& parameter) { return parameter.name; });
  const bool is_given = has_size(given, [](const auto& pair) { return pair.first; });
  if (depends && !is_given) given.emplace_back(size, std::to_string(gpus));
}

}  // namespace

std::vector<WorkloadInfo> workloads() {
  std::vector<WorkloadInfo> list;
  for (const WorkloadEntry& entry : entries()) list.push_back(entry.info);
  return list;
}

bool is_workload(const std::string& spec) { return find_workload(name_of(spec)) != nullptr; }

Result<Trace> make_workload(const std::string& spec, std::uint64_t seed, const TraceOptions& options) {
  const WorkloadEntry* entry = find_workload(name_of(spec));
  if (!entry) return unknown_workload(name_of(spec));
  Result<Given> given = split_parameters(spec, entry->info);
  if (!given.ok()) return given.error();
  if (Status known = check_names(*given, entry->info); !known.ok()) return known.error();
  if (options.cluster_gpus > 0) scale_to(options.cluster_gpus, entry->info, *given);
  const Result<Parameters> parameters =
      Parameters::parse(entry->info.parameters, *given, "workload " + entry->info.name);
  if (!parameters.ok()) return parameters.error();
  Result<Trace> trace = entry->make(entry->info.name, *parameters, Random(seed));
  if (!trace.ok()) return trace.error();
  const bool is_late = std::ranges::any_of(
      trace->jobs, [](const TraceJob& job) { return job.submitted >= Instant::at_seconds(seconds_max); });
  if (is_late) return too_late();
  return finish_trace(std::move(*trace), options);
}

Result<Trace> open_trace(const std::string& source, std::uint64_t seed, const TraceOptions& options) {
  if (is_workload(source)) return make_workload(source, seed, options);
  Result<Trace> trace = read_trace(source, options);
  if (trace.ok() || trace.error().code != "no-such-file") return trace;
  std::vector<std::string_view> names;
  for (const WorkloadEntry& entry : entries()) names.push_back(entry.info.name);
  return with_suggestion(not_found("no-such-file", "there is no file and no workload " + source), name_of(source),
                         names);
}

}  // namespace sl::trace
