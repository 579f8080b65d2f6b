// How long finished jobs are kept: their rows in the controller's database, their files on an agent. Whatever exceeds
// one of the limits is removed, oldest first.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

namespace sl::wire {

struct RetentionRule {
  double age_s = 90.0 * 24 * 3600;  // since the job's end; 0: no limit
  std::int64_t jobs = 0;            // at most this many finished jobs; 0: no limit
  std::int64_t bytes = 0;           // at most this much disk space; 0: no limit
  std::int64_t free_bytes = 0;      // at least this much free on the disk of an agent; 0: no limit
  friend bool operator==(const RetentionRule&, const RetentionRule&) = default;
};
BOOST_DESCRIBE_STRUCT(RetentionRule, (), (age_s, jobs, bytes, free_bytes))

}  // namespace sl::wire
