#include "policies/elastic/elastic_fifo.h"

#include "policy/elastic_policy.h"

namespace sl {
namespace {

class ElasticFifo : public ElasticPolicy {
 public:
  ElasticFifo(const ElasticSettings& settings, bool strict) : ElasticPolicy(settings), strict_(strict) {}

 protected:
  Rank rank_of(const Snapshot&, const Job& job) override { return {.major = -std::int64_t{job.request.priority}}; }
  void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) override {
    serve_in_order(snapshot, shares, supply);
    elastic_fill(snapshot, shares, supply);
  }
  bool ranks_change(const Snapshot&) const override { return false; }
  bool may_pass() const override { return !strict_; }

 private:
  bool strict_;
};

}  // namespace

PolicyEntry elastic_fifo_entry() {
  PolicyInfo info;
  info.name = "elastic_fifo";
  info.title = "Elastic FIFO";
  info.summary =
      "First come, first served with at least its minimum of GPUs for each job; the remaining GPUs are shared in turn.";
  info.good_for = "keeping every GPU busy with jobs that can change size";
  info.weak_for = "jobs that are costly to restart";
  info.needs = {resizable_or_rigid()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  info.parameters.push_back(admit_parameter());
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<ElasticFifo>(ElasticPolicy::settings(given), admits_strictly(given));
          }};
}

}  // namespace sl
