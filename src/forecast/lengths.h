// How long the jobs of a present may still run, each as a distribution. In this order, whatever is there first:
//
//   1. progress: what the job reports of itself
//   2. finished runs alike: same user, name, command and GPUs, or at least same name (estimate/length_distribution.h)
//   3. the user's estimate, with how true such estimates were
//   4. the time limit, with how much of theirs other jobs used
//   5. finished runs of the user, or of anybody, once there are a few
//
// A job with none of these has no length. Every length ends at the time limit, since the job does.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/length_distribution.h"
#include "forecast/present.h"

namespace sl::forecast {

// What makes runs alike, as hashes: only equality counts.
struct RunKind {
  std::uint64_t user = 0, family = 0, command = 0;
  int gpus = 1;
};
std::uint64_t hash_of(std::string_view text);
// The name without its numbers: "lr-0.1" and "lr-0.03" are one family, "train" and "train-7" too.
std::string family_of(std::string_view name);

struct FinishedRun {
  RunKind kind;
  double run_s = 0;  // on the GPUs that it asked for
  std::optional<double> estimate_s, limit_s;
};

// What a job has reported, as of the present; of one that has been stopped, what it goes on from.
struct ReportedProgress {
  double left_s = 0;        // on the GPUs it has, at its pace so far
  double share = 0;         // of its work that is done, 0 to 1
  bool is_measured = true;  // its pace, between two reports; else its start counts as part of it
};

struct JobFacts {
  RunKind kind;
  std::optional<ReportedProgress> progress = {};
};

enum class BasisKind : std::uint8_t { none, progress, alike, estimate, time_limit, others };
struct Basis {
  BasisKind kind = BasisKind::none;
  std::size_t runs = 0;  // that it rests on
  friend bool operator==(const Basis&, const Basis&) = default;
};
// "progress", "history:31", "estimate", "time_limit", "others:9"; empty: none
std::string to_string(const Basis& basis);

class Lengths {
 public:
  void add(const FinishedRun& run);

  // Of one job: what is drawn from, worked out once for many draws. Valid until the next add().
  struct Prospect {
    Basis basis;
    std::uint64_t job = 0, user = 0;    // whose draws these are, the same from one forecast to the next
    double passed_s = 0;                // it has run that long, on the GPUs it asked for
    double scale = 1;                   // of `prediction`, which is in units of this
    double limit_s = endless;           // it is stopped then
    double reported_s = 0, spread = 0;  // progress
    double common_spread = 0;           // see Lengths::common_spread()
    double ran_since_s = 0;  // since the moment that the futures begin with: comes on top of what is left now
    LengthDistribution::Prediction prediction = {};
    static constexpr double endless = 1e300;
  };
  Prospect prospect_of(const Job& job, const JobFacts& facts, Instant now) const;

  std::size_t runs() const { return runs_; }
  // By how much all lengths that are guesses turn out longer or shorter together: the standard deviation of the logarithm of
  // their common error, learnt from how the latest runs compare with what was expected of them.
  double common_spread() const { return common_.spread(); }

 private:
  // Errors of runs that ended one after another are taken in blocks: the variance between blocks, less what errors that
  // are independent of each other would give, is that of the common error. The guess before counts by how certain both are.
  class CommonError {
   public:
    void add(double error);  // of the logarithm
    double spread() const { return spread_; }

   private:
    static constexpr std::size_t block_runs = 16, blocks_most = 64;
    static constexpr double first = 0.35;  // and the most: where errors come in long waves, more only makes ranges wide
    struct Block {
      double mean = 0, variance = 0;
    };
    std::vector<double> block_;
    std::deque<Block> blocks_;
    double spread_ = first;
  };

  static LengthDistribution::Groups groups_of(const RunKind& kind);
  LengthDistribution lengths_;
  LengthDistribution of_estimates_{1}, of_limits_{0.5};  // run times as parts of what was stated
  CommonError common_;
  std::size_t runs_ = 0;
};

// How long it has run by then, as if on the GPUs that it asks for.
double passed_s(const Job& job, Instant now);

// Seconds it still runs from now on, on the GPUs it asks for, in one possible future; endless_s if it has no length.
// `base_survival`: as for LengthDistribution.
double draw_left_s(const Lengths::Prospect& prospect, double base_survival, Random& random);

}  // namespace sl::forecast
