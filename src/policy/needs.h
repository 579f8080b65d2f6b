// What a policy wants to know about jobs, and what it does about jobs that do not state it. `policy set`, `policy show`
// and the API print "12 of 12 waiting jobs have no deadline: they go last"; `policy ls` and the guide print the general
// form, "deadlines (else they go last)".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/job.h"

namespace sl {

// A fact that a job may state or lack. `none`: something that jobs do not state one by one.
enum class Fact : std::uint8_t {
  none,
  deadline,
  run_time,    // an estimate or a limit
  speedup,     // its speed on several numbers of GPUs
  checkpoint,  // it can stop and continue later
  resizable,   // it can change its number of GPUs while it runs
  suspendable,
  choice_of_gpus,  // it can start on several numbers of GPUs
  priority,
  demand,  // CPU, memory
  sharing,
  target_loss,
  budget,
};
constexpr std::size_t fact_count = 13;

struct Need {
  Fact fact = Fact::none;
  std::string otherwise;  // what happens to jobs without it: "they go last"; empty: nothing to say
  std::string what;       // replaces the fact's name; required for Fact::none
};

// "deadlines (else they go last)".
std::string to_string(const Need& need);

bool has_fact(const JobRequest& job, Fact fact);

// How many jobs lack each fact. Counted once, then reported for any number of policies.
class MissingFacts {
 public:
  void count(const JobRequest& job, std::size_t jobs = 1);  // `jobs` jobs with this request
  // One sentence for each need that some of the counted jobs do not meet, in the order of the needs. `kind` says which
  // jobs were counted: "waiting".
  std::vector<std::string> sentences(std::span<const Need> needs, const std::string& kind) const;

 private:
  std::size_t jobs_ = 0;
  std::array<std::size_t, fact_count> missing_{};
};

// ---- Needs that several policies share ----

inline Need run_time_or_history() {
  return {Fact::run_time, "the mean of finished jobs like them counts, or default_est_s where there is none", ""};
}
inline Need run_time_or_default() { return {Fact::run_time, "default_est_s counts", ""}; }
inline Need speedup_or_linear() { return {Fact::speedup, "linear speedup is assumed", ""}; }
inline Need checkpoint_or_left_alone() { return {Fact::checkpoint, "once started they keep their GPUs", ""}; }
inline Need resizable_or_rigid() { return {Fact::resizable, "they keep the number of GPUs they start with", ""}; }
inline Need nothing_needed() { return {Fact::none, "", "nothing besides the number of GPUs"}; }

}  // namespace sl
