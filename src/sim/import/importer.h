// Public traces in the formats of those who published them, as traces of ours. What makes no job is left out and
// counted by its reason; a file that is not of the format is an error with its line. docs/formats/trace.md says which
// column becomes which.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace.h"

namespace sl::sim {

enum class ImportFormat : std::uint8_t { philly, helios, pai, swf };
std::optional<ImportFormat> parse_import_format(std::string_view name);

struct ImportReport {
  std::int64_t rows = 0;                        // that say something of a job
  std::map<std::string, std::int64_t> dropped;  // by reason
  std::map<std::string, std::int64_t> changed;  // by what was done to a job that stays
};

struct Imported {
  Trace trace;
  ImportReport report;
};

// `texts`: what the files hold; pai takes the job table and the task table, in any order, the others one file. Errors:
// "import-files" (how many), "import-format" with the line, "trace-empty", "trace-oversize".
Result<Imported> import_trace(ImportFormat format, const std::vector<std::string>& texts, const TraceOptions& options);

Result<Imported> import_philly(const std::string& text, const TraceOptions& options);
Result<Imported> import_helios(const std::string& text, const TraceOptions& options);
Result<Imported> import_pai(const std::string& first, const std::string& second, const TraceOptions& options);
Result<Imported> import_swf(const std::string& text, const TraceOptions& options);

}  // namespace sl::sim
