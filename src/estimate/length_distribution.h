// How long a run will last, as a distribution, from finished runs like it. The runs are in nested groups, from the
// narrowest (the same user, name, command and number of GPUs) to the widest (all).
//
//   1. Of a group of n runs, each has the weight 1, and the next wider group together also has the weight 1: the
//      predictive distribution of a Dirichlet process of concentration 1 (Blackwell and MacQueen 1973, "Ferguson
//      distributions via Pólya urn schemes"), whose base is the distribution of the next wider group.
//   2. Beyond the widest group: a log-logistic distribution about its median (or `base_median`). Its tail falls so slowly
//      that a run that outlives everything is expected to last as long again.
//   3. Of a run that has lasted for a while, only what lasted longer counts, at every level.
//   4. Around each run, the logarithm is normally distributed, the narrower the closer the runs of the group are to each
//      other (Silverman's rule), and the wider the fewer of its runs lasted as long as this one has: of jobs that have
//      outlived nearly all others, little is known.
//
// Each group remembers its latest runs.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace sl {

class LengthDistribution {
 public:
  static constexpr std::size_t levels = 6;
  using Groups = std::array<std::uint64_t, levels>;  // keys of the groups of a run, the narrowest first

  // `base_median` 0: the median of the widest group.
  explicit LengthDistribution(double base_median = 0) : base_median_(base_median) {}

  void add(const Groups& groups, double length);  // ignores lengths that are not positive
  // How many of its runs a group remembers.
  std::size_t count(const Groups& groups, std::size_t level) const;

 private:
  struct Group {
    std::vector<double> latest;  // a ring
    std::vector<double> sorted;
    std::size_t next = 0;
    double log_sum = 0;
    double spread = 0;  // standard deviation around each run, of the logarithm

    std::size_t longer_than(double length) const;
    void add(double length, std::size_t kept);
  };

 public:
  // What is expected of one run. Valid until the next add().
  class Prediction {
   public:
    // A length, given that the run has lasted for `passed` so far; always more than that. `base_survival`, uniform
    // above 0 and up to 1: if the draw comes from the distribution beyond the widest group (2), the share of that which
    // lasts longer. Runs of which nothing else is known, but that they are alike, share it.
    double draw(double passed, double base_survival, Random& random) const;
    // The mean of the logarithm of the length of a run that is about to start.
    double mean_log() const;
    bool is_any() const { return groups_.back() != nullptr; }

   private:
    friend class LengthDistribution;
    std::array<const Group*, levels> groups_{};  // null: no run like that has finished
    double base_median_ = 1;
  };
  Prediction predict(const Groups& groups) const;

 private:
  static std::uint64_t key(std::uint64_t group, std::size_t level);

  double base_median_;
  boost::unordered_flat_map<std::uint64_t, Group> groups_;
};

// A draw from the standard normal distribution (Box and Muller 1958).
double normal(Random& random);

}  // namespace sl
