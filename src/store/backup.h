// Copies of the database: made while a controller writes or not, checked, and put back while none runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sl::store {

struct DatabaseReport {
  std::string file;
  std::int64_t bytes = 0, schema = 0, jobs = 0, events = 0;
  std::string kept;  // after restore(): where the database is that was there before; empty: there was none
};

// Reads every page. Errors: "no-database", "database-damaged", "newer-schema", "store-failed".
Result<DatabaseReport> check_database(const std::string& file);
std::string database_of(const std::string& data_dir);

// A consistent copy in a new file with mode 0600, which is checked. Errors: also "file-exists", "cannot-write".
Result<DatabaseReport> back_up(const std::string& data_dir, const std::string& file);

// Checks the copy, keeps the database that is there under another name, and puts the copy in its place. Errors: those of
// check_database() for the copy, "data-directory-in-use" while a controller runs; then nothing has changed.
Result<DatabaseReport> restore(const std::string& data_dir, const std::string& file, std::int64_t now_us);

}  // namespace sl::store
