// How long a job will run, from finished jobs like it (policies.md 4.1).
//
//   1. Jobs like it are, the first of these that has any: those of its user, family and number of GPUs; of its user and
//      family; of its family and number of GPUs; all. Jobs without a family are a family of their own.
//   2. The guess is the median of the latest nine of them (of the latest 64 of all).
//   3. Backtest: for each finished job, what had been guessed when it started. The range runs from the tenth to the
//      ninetieth percentile of true / guessed over the finished jobs that were guessed from the same kind of likeness and
//      from as many jobs (one, two, more). With fewer than ten such jobs it is from a tenth to ten times the guess.
//
// Run times differ by orders of magnitude even among like jobs, so a mean says little: one long job outweighs a hundred
// others. docs/guide/estimates.md says how good the guesses are on recorded traces.
#pragma once

#include <array>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace sl {

class RunTimeHistory {
 public:
  struct Kind {
    std::uint32_t user = UINT32_MAX, family = UINT32_MAX;  // UINT32_MAX: none
    int gpus = 1;
    friend bool operator==(const Kind&, const Kind&) = default;
    friend std::size_t hash_value(const Kind& kind) {
      std::size_t hash = 0;
      for (const std::uint32_t part : {kind.user, kind.family, static_cast<std::uint32_t>(kind.gpus)})
        boost::hash_combine(hash, part);
      return hash;
    }
  };
  enum class Likeness : std::uint8_t { user_family_gpus, user_family, family_gpus, all };
  struct Guess {
    double run_s = 0;
    Likeness from = Likeness::all;
    std::size_t count = 0;  // of how many jobs; three: of more than two
  };
  struct Range {
    double low_s = 0, high_s = 0;  // a job lasts that long in 80 % of all cases
  };

  // A job that ran for `run_s` up to `ended_s`. Jobs come in the order of their ends. Ignores run times of zero.
  void add(const Kind& kind, double run_s, double ended_s);
  // Nothing before the first finished job.
  std::optional<Guess> guess(const Kind& kind) const;
  Range range(const Guess& guess) const;
  void clear();

 private:
  static constexpr std::size_t likenesses = 4, counts = 3;
  struct Finished {
    double run_s, ended_s;
  };
  struct Middle {
    double run_s = 0;
    std::size_t count = 0;  // of how many jobs, at most three; 0: none
  };
  struct Group {
    std::vector<Finished> latest;
    Middle middle;  // of all in it
  };
  class Ratios {  // of true to guessed run times, in steps of a tenth of their logarithm
   public:
    void add(double ratio);
    double percentile(double share) const;  // of at least one ratio
    std::uint32_t count() const { return count_; }

   private:
    static constexpr int steps = 100;  // each way
    std::array<std::uint32_t, 2 * steps + 1> by_step_{};
    std::uint32_t count_ = 0;
  };
  static Middle middle(const Group& group, Likeness likeness, double by_s);
  void backtest(const Kind& kind, const Finished& job);
  static std::uint64_t key(const Kind& kind, Likeness likeness);

  boost::unordered_flat_map<std::uint64_t, Group> groups_;
  std::array<std::array<Ratios, counts>, likenesses> ratios_;
};

}  // namespace sl
