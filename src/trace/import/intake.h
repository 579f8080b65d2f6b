// What the importers share: jobs are taken in one by one, left out with a reason if necessary, and become a trace whose
// time begins at zero.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "trace/import/importer.h"

namespace sl::trace {

struct ForeignJob {
  std::string_view id, user;
  double submitted_s = 0;  // by the format's own clock
  double duration_s = 0;
  double gpus = 0;                // below 1: it shares its GPU
  std::optional<double> start_s;  // in the original cluster
  TraceDetails details;
};

class Intake {
 public:
  explicit Intake(const TraceOptions& options) : options_(options) {}  // which must outlive it
  void count_row() { ++report_.rows; }
  void drop(const std::string& reason) { ++report_.dropped[reason]; }
  void note(const std::string& change) { ++report_.changed[change]; }
  // Keeps the job, or counts why it was left out.
  void take(ForeignJob job);
  // `from_zero`: the first submission becomes time zero.
  Result<Imported> finish(bool from_zero);

 private:
  // Why the job is left out; null: it is kept.
  const char* reason_against(const ForeignJob& job) const;
  std::uint32_t user_of(std::string_view name);
  std::uint32_t details_of(TraceDetails details);
  void set_ids();

  const TraceOptions& options_;
  Trace trace_;
  ImportReport report_;
  std::string ids_;
  std::vector<std::size_t> id_ends_;
  boost::unordered_flat_set<std::string> seen_;
  boost::unordered_flat_map<std::string, std::uint32_t> users_;
};

// The text as our CSV can hold it: quotes, control characters and what is no UTF-8 become underscores.
std::string clean(std::string_view text);

// "2017-10-07 01:12:09" as seconds since 1970, without a time zone; nothing if it is not a date.
std::optional<double> parse_date_time(std::string_view text);

}  // namespace sl::trace
