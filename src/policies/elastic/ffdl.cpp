#include "policies/elastic/ffdl.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace sl {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

// s(least), s(least + 1) ... s(most) of one job.
std::vector<double> speedups(const Snapshot& snapshot, const Share& share) {
  std::vector<double> table;
  for (int gpus = share.least; gpus <= share.most; ++gpus) table.push_back(speedup_of(snapshot, share.job, gpus));
  return table;
}

}  // namespace

void divide_by_throughput(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) {
  const auto columns = static_cast<std::size_t>(gpus) + 1;
  std::vector<double> best(columns, 0.0), next(columns);
  std::vector<std::vector<int>> choice(shares.size());  // by job and column: the GPUs it gets
  for (std::size_t j = 0; j < shares.size(); ++j) {
    const Share& share = shares[j];
    const std::vector<double> speed = speedups(snapshot, share);
    choice[j].assign(columns, 0);
    std::fill(next.begin(), next.end(), impossible);
    for (int k = share.least; k <= gpus; ++k) {
      const auto column = static_cast<std::size_t>(k);
      for (int g = share.least; g <= std::min(share.most, k); ++g) {
        const double sum = speed[static_cast<std::size_t>(g - share.least)] + best[static_cast<std::size_t>(k - g)];
        if (sum <= next[column]) continue;
        next[column] = sum;
        choice[j][column] = g;
      }
    }
    std::swap(best, next);
  }
  auto left = static_cast<std::size_t>(gpus);
  for (std::size_t j = shares.size(); j-- > 0;) {
    shares[j].gpus = choice[j][left];
    left -= static_cast<std::size_t>(shares[j].gpus);
  }
}

namespace {

// The jobs have their minimums. One GPU at a time goes where it gains most; ties: the job that comes first.
void divide_by_marginal_gain(const Snapshot& snapshot, std::vector<Share>& shares, Supply& supply) {
  struct Step {
    double gain;
    std::size_t share;
    bool operator<(const Step& other) const { return gain != other.gain ? gain < other.gain : share > other.share; }
  };
  std::priority_queue<Step> steps;
  const auto offer = [&](std::size_t i) {
    const Share& share = shares[i];
    if (share.gpus >= share.most || supply.left_for(share) == 0) return;
    const double gain = speedup_of(snapshot, share.job, share.gpus + 1) - speedup_of(snapshot, share.job, share.gpus);
    if (gain > 0) steps.push({gain, i});
  };
  for (std::size_t i = 0; i < shares.size(); ++i) {
    offer(i);
  }
  while (supply.total() > 0 && !steps.empty()) {
    const std::size_t i = steps.top().share;
    steps.pop();
    if (supply.give_one(shares[i])) offer(i);
  }
}

class Ffdl : public ElasticPolicy {
 public:
  Ffdl(const ElasticSettings& settings, int exact_gpus) : ElasticPolicy(settings), exact_gpus_(exact_gpus) {}

 protected:
  Rank rank_of(const Snapshot&, const Job& job) override { return {.major = -std::int64_t{job.request.priority}}; }
  void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) override {
    const int gpus = shares.empty() ? 0 : supply.left(shares.front().may_use);
    serve_in_order(snapshot, shares, supply);
    std::vector<Share> served(shares.begin(), std::ranges::find(shares, 0, &Share::gpus));
    if (std::ranges::all_of(served, [](const Share& share) { return share.least >= share.most; })) return;
    const bool compete_for_all =
        std::ranges::all_of(served, [&](const Share& share) { return share.may_use == served.front().may_use; });
    if (compete_for_all && gpus <= exact_gpus_) {
      divide_by_throughput(snapshot, served, gpus);
    } else {
      divide_by_marginal_gain(snapshot, served, supply);
    }
    std::copy(served.begin(), served.end(), shares.begin());
  }
  bool ranks_change(const Snapshot&) const override { return false; }
  bool may_pass() const override { return false; }

 private:
  int exact_gpus_;
};

}  // namespace

PolicyEntry ffdl_entry() {
  PolicyInfo info;
  info.name = "ffdl";
  info.title = "FfDL Optimizer";
  info.summary = "Divides the GPUs among the first jobs in line so that the sum of their speedups is largest.";
  info.good_for = "the most work done per second with jobs that can change size";
  info.weak_for = "jobs that gain little from more GPUs stay at their minimum";
  info.needs = {speedup_or_linear(), resizable_or_rigid()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  info.parameters.push_back({"exact_gpus",
                             ParameterType::integer,
                             "GPUs",
                             "512",
                             1,
                             4096,
                             {},
                             "clusters up to this size are divided exactly, larger ones by marginal gain"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Ffdl>(ElasticPolicy::settings(given), given.integer("exact_gpus"));
          }};
}

}  // namespace sl
