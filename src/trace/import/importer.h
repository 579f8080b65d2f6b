// Imports public traces in the formats of their publishers. Rows that make no job are left out and counted by reason; a
// file in another format is an error that names the line. docs/formats/trace.md says which column becomes which.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace sl::trace {

enum class ImportFormat : std::uint8_t { philly, helios, pai, swf, pollux };
std::optional<ImportFormat> parse_import_format(std::string_view name);

// What to do with fields beyond those of a format that identifies fields by position (swf).
enum class ExtraFields : std::uint8_t { refuse, ignore };

struct ImportReport {
  std::int64_t rows = 0;                        // rows that describe a job
  std::map<std::string, std::int64_t> dropped;  // by reason
  std::map<std::string, std::int64_t> changed;  // kept jobs, by what was changed
};

struct Imported {
  Trace trace;
  ImportReport report;
};

// `texts`: the contents of the files; pai takes the job table and the task table, in any order, the others one file.
// Errors: "import-files" (how many), "import-format" with the line, "trace-empty", "trace-oversize".
Result<Imported> import_trace(ImportFormat format, const std::vector<std::string>& texts, const TraceOptions& options,
                              ExtraFields extra_fields = ExtraFields::refuse);

Result<Imported> import_philly(const std::string& text, const TraceOptions& options);
Result<Imported> import_helios(const std::string& text, const TraceOptions& options);
Result<Imported> import_pai(const std::string& first, const std::string& second, const TraceOptions& options);
Result<Imported> import_pollux(const std::string& text, const TraceOptions& options);
Result<Imported> import_swf(const std::string& text, const TraceOptions& options,
                            ExtraFields extra_fields = ExtraFields::refuse);

}  // namespace sl::trace
