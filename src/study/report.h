// How a comparison is shown to programs: lines, and the document of docs/formats/results.md. For people: table.h.
#pragma once

#include <boost/json.hpp>
#include <ostream>

#include "study/experiment.h"

namespace sl::study {

// Columns by name of metric, with or without its unit. Error "unknown-metric" with the nearest name.
Result<std::vector<const MetricInfo*>> find_metrics(const std::string& names);

// Tab-separated, a column per field of a result in the document.
void print_plain(const ExperimentResult& result, std::ostream& out);
boost::json::object to_document(const ExperimentSettings& settings, const ExperimentResult& result,
                                const std::string& servers, const std::string& command);
std::string parameters_text(const PolicyChoice& choice);  // "knob=8 order=dot"
std::string_view without_unit(const MetricInfo& metric);  // "avg_jct"
bool is_count(const MetricInfo& metric);                  // no time, share or ratio

}  // namespace sl::study
