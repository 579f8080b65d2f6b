// SQLite through SOCI, for this folder only: prepared statements with their buffers, and the columns of rows that are
// both written and read. Their exceptions become errors in translate().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "store/store.h"

namespace sl::store {

using Number = std::optional<std::int64_t>;

// The error shown to the user for an exception thrown by SOCI: "disk-full" or "store-failed".
Error translate(const std::exception& thrown);

std::string database_path(const std::string& data_dir);

// What SOCI opens this file with, whatever its name contains: a URI, which Debian's SQLite reads. Where nothing can be
// written, as on a snapshot of a disk, SQLite must be told that nobody else writes either; not where somebody may, or has
// left a log, which it would leave out.
std::string connection_to(const std::string& path);

// A buffer that a prepared statement is bound to.
struct Slot {
  long long number = 0;
  std::string text;
  soci::indicator state = soci::i_ok;
};

// A prepared statement that writes: fill in the values, then run() it, any number of times.
class Write {
 public:
  // `query` names `numbers` numeric values, then `texts` text values, as :v0, :v1, …
  Write(soci::session& sql, const std::string& query, std::size_t numbers, std::size_t texts);
  void number(std::size_t i, const Number& value);
  void text(std::size_t i, const std::string& value) { slots_[numbers_ + i].text = value; }
  void run() { statement_.execute(true); }

 private:
  std::vector<Slot> slots_;
  std::size_t numbers_;
  soci::statement statement_;
};

// "INSERT INTO jobs(id, …) VALUES(:v0, …)": `verb` is INSERT or REPLACE, `count` the number of columns.
std::string insert_query(const std::string& verb, const std::string& table, const std::string& columns,
                         std::size_t count);

// A query's rows, one after the other. A missing number reads as none, a missing text as "".
class Select {
 public:
  // `query` selects `numbers` numeric columns, then `texts` text columns.
  Select(soci::session& sql, const std::string& query, std::size_t numbers, std::size_t texts);
  bool next() { return statement_.fetch(); }
  Number number(std::size_t i) const;
  std::int64_t whole(std::size_t i) const { return number(i).value_or(0); }
  std::string text(std::size_t i) const;

 private:
  std::vector<Slot> slots_;
  std::size_t numbers_;
  soci::statement statement_;
};
// The first number of the first row; `other` when there is none.
std::int64_t select_number(soci::session& sql, const std::string& query, std::int64_t other = 0);

// a text as an SQL literal
std::string sql_literal(std::string_view text);

// ---- jobs ----
extern const std::string job_columns;  // "id, …": numbers, then texts
inline constexpr std::size_t job_number_count = 22, job_text_count = 11;
void fill(Write& write, const JobRow& row);
JobRow job_of(const Select& select);
// `rest` begins after "FROM jobs ".
std::vector<JobRow> select_jobs(soci::session& sql, const std::string& rest);

// ---- placements ----
extern const std::string placement_columns;
inline constexpr std::size_t placement_number_count = 6, placement_text_count = 4;
void fill(Write& write, const PlacementRow& row);
// `rest` begins after "FROM placements ".
std::vector<PlacementRow> select_placements(soci::session& sql, const std::string& rest);

// ---- events ----
extern const std::string event_columns;
inline constexpr std::size_t event_number_count = 3, event_text_count = 8;
void fill(Write& write, const EventRow& row);
EventRow event_of(const Select& select);

// ---- estimates ----
extern const std::string estimate_columns;  // nine numbers, then three texts
void fill(Write& write, const EstimateRow& row);
std::vector<EstimateRow> select_estimates(soci::session& sql);

// ---- regrets ----
extern const std::string regret_columns;  // nine numbers, then two texts
void fill(Write& write, const RegretRow& row);
std::vector<RegretRow> select_regrets(soci::session& sql);

}  // namespace sl::store
