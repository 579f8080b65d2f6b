#include "trace/import/importer.h"

#include <fmt/format.h>

namespace sl::trace {

std::optional<ImportFormat> parse_import_format(std::string_view name) {
  if (name == "philly") return ImportFormat::philly;
  if (name == "helios") return ImportFormat::helios;
  if (name == "pai") return ImportFormat::pai;
  if (name == "swf") return ImportFormat::swf;
  if (name == "pollux") return ImportFormat::pollux;
  return std::nullopt;
}

Result<Imported> import_trace(ImportFormat format, const std::vector<std::string>& texts, const TraceOptions& options,
                              ExtraFields extra_fields) {
  const std::size_t wanted = format == ImportFormat::pai ? 2 : 1;
  if (texts.size() != wanted) {
    Error error = invalid(
        "import-files", fmt::format("this format is {} file{}, not {}", wanted, wanted == 1 ? "" : "s", texts.size()));
    if (wanted == 2) error.hints.push_back("schedulearn trace import pai pai_job_table.csv pai_task_table.csv");
    return error;
  }
  switch (format) {
    case ImportFormat::philly:
      return import_philly(texts[0], options);
    case ImportFormat::helios:
      return import_helios(texts[0], options);
    case ImportFormat::pai:
      return import_pai(texts[0], texts[1], options);
    case ImportFormat::swf:
      return import_swf(texts[0], options, extra_fields);
    case ImportFormat::pollux:
      return import_pollux(texts[0], options);
  }
  return internal_error("import-format", "an unknown format");
}

}  // namespace sl::trace
