// A workload: its description and how it is made. workloads.cpp joins the lists below.
#pragma once

#include "base/random.h"
#include "trace/workloads.h"

namespace sl::trace {

struct WorkloadEntry {
  WorkloadInfo info;
  Result<Trace> (*make)(const std::string& name, const Parameters& parameters, Random random);
};

std::vector<WorkloadEntry> statistical_workloads();
std::vector<WorkloadEntry> thesis_workloads();
std::vector<WorkloadEntry> published_workloads();
std::vector<WorkloadEntry> measured_workloads();

inline ParameterInfo whole_parameter(std::string name, std::string unit, std::string value, double min, double max,
                                     std::string help) {
  return {std::move(name), ParameterType::integer, std::move(unit), std::move(value), min, max, {}, std::move(help)};
}
inline ParameterInfo real_parameter(std::string name, std::string unit, std::string value, double min, double max,
                                    std::string help) {
  return {std::move(name), ParameterType::number, std::move(unit), std::move(value), min, max, {}, std::move(help)};
}
inline ParameterInfo choice_parameter(std::string name, std::vector<std::string> choices, std::string help) {
  std::string first = choices.front();
  return {std::move(name), ParameterType::choice, "", std::move(first), 0, 0, std::move(choices), std::move(help)};
}

}  // namespace sl::trace
