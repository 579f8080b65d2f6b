// `schedulearn db`: the database as files of this machine.
#include <boost/json.hpp>
#include <chrono>

#include "app/data_folder.h"
#include "app/roles.h"
#include "store/backup.h"

namespace sl::app {
namespace {

Result<store::DatabaseReport> carry_out(const cli::DatabaseOptions& options) {
  if (options.verb == "backup") return store::back_up(options.data, options.file);
  if (options.verb == "restore") {
    if (const Status may = check_use(options.data, Daemon::controller); !may.ok()) return may.error();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return store::restore(options.data, options.file,
                          std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }
  return store::check_database(options.file.empty() ? store::database_of(options.data) : options.file);
}

}  // namespace

Result<boost::json::value> database_role(const cli::DatabaseOptions& options) {
  const auto report = carry_out(options);
  if (!report.ok()) return report.error();
  return boost::json::value{{"file", report->file},
                            {"bytes", report->bytes},
                            {"schema", report->schema},
                            {"jobs", report->jobs},
                            {"events", report->events},
                            {"kept", report->kept.empty() ? boost::json::value() : boost::json::value(report->kept)}};
}

}  // namespace sl::app
