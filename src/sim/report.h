// How a comparison is shown: a table for people, lines for programs, the document of docs/formats/results.md.
#pragma once

#include <boost/json.hpp>
#include <ostream>

#include "sim/experiment.h"

namespace sl::sim {

// Columns by name of metric. Error "unknown-metric" with the nearest name.
Result<std::vector<const MetricInfo*>> find_metrics(const std::string& names);

void print_table(const ExperimentSettings& settings, const ExperimentResult& result,
                 const std::vector<const MetricInfo*>& metrics, std::ostream& out);
void print_plain(const ExperimentResult& result, std::ostream& out);
boost::json::object to_document(const ExperimentSettings& settings, const ExperimentResult& result,
                                const std::string& servers, const std::string& command);
std::string parameters_text(const PolicyChoice& choice);  // "knob=8 queues=2"

}  // namespace sl::sim
