// One life of a job's processes, from the order to start until all of them have ended. Agents and launchers run
// incarnations and report about them. A job has several over time, and each has one placement on every server it runs
// on.
//
// No two are ever equal, even if a database has been restored from a backup and repeats times and numbers of jobs:
// `number` is the instant at which the incarnation began.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sl {

struct Incarnation {
  std::string cluster;  // random, created with the database
  std::int64_t job = 0;
  int attempt = 0;          // which attempt of the job it belongs to, as users count
  std::int64_t number = 0;  // microseconds since 1970; 0, without a cluster: from a version without such numbers
  friend auto operator<=>(const Incarnation&, const Incarnation&) = default;
};

// "JOB.ATTEMPT.NUMBER.CLUSTER", also the name of a folder; "JOB.ATTEMPT" from a version without numbers.
std::string key_of(const Incarnation& incarnation);
// Nothing if the text is not such a key.
std::optional<Incarnation> parse_key(std::string_view key);

}  // namespace sl
