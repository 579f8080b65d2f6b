// What the importers have in common: jobs are taken in one by one, refused with a reason, and end as a trace whose time
// begins at zero.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "sim/import/importer.h"

namespace sl::sim {

struct ForeignJob {
  std::string_view id, user;
  double submitted_s = 0;  // of the format's own clock
  double duration_s = 0;
  double gpus = 0;                // a fraction shares its GPU
  std::optional<double> start_s;  // on its own cluster
  TraceDetails details;
};

class Intake {
 public:
  void count_row() { ++report_.rows; }
  void drop(const std::string& reason) { ++report_.dropped[reason]; }
  void note(const std::string& change) { ++report_.changed[change]; }
  // Keeps the job, or counts why not.
  void take(ForeignJob job);
  // `from_zero`: the first submission becomes time zero.
  Result<Imported> finish(const TraceOptions& options, bool from_zero);

 private:
  // Null: it is a job.
  const char* reason_against(const ForeignJob& job) const;
  std::uint32_t user_of(std::string_view name);
  std::uint32_t details_of(TraceDetails details);
  void set_ids();

  Trace trace_;
  ImportReport report_;
  std::string ids_;
  std::vector<std::size_t> id_ends_;
  boost::unordered_flat_set<std::string> seen_;
  boost::unordered_flat_map<std::string, std::uint32_t> users_;
};

// Text that our CSV can hold: quotes and control characters become underscores.
std::string clean(std::string_view text);

// "2017-10-07 01:12:09" as seconds since 1970, no time zone applied; nothing when it is no date.
std::optional<double> parse_date_time(std::string_view text);

}  // namespace sl::sim
