#include "policies/elastic_srjf.h"

#include "policy/elastic_policy.h"

namespace sl {
namespace {

class ElasticSrjf : public ElasticPolicy {
 public:
  ElasticSrjf(const ElasticSettings& settings, bool strict) : ElasticPolicy(settings), strict_(strict) {}

 protected:
  Rank rank_of(const Snapshot& snapshot, const Job& job) override {
    return {.minor = run_times_.remaining_serial(snapshot, job).us};
  }
  void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) override {
    elastic_fill(snapshot, shares, gpus, strict_);
  }
  bool may_pass() const override { return !strict_; }

 private:
  bool strict_;
};

}  // namespace

PolicyEntry elastic_srjf_entry() {
  PolicyInfo info;
  info.name = "elastic_srjf";
  info.title = "Elastic Shortest Remaining Job First";
  info.summary =
      "Jobs with the least work left get their minimum of GPUs first; GPUs that are left are shared in the same order.";
  info.good_for = "a low mean completion time with jobs that can change size";
  info.weak_for = "long jobs; bad estimates";
  info.needs = {resizable_or_rigid(), run_time_or_history()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  info.parameters.push_back({"admit",
                             ParameterType::choice,
                             "",
                             "skip",
                             0,
                             0,
                             {"skip", "strict"},
                             "whether a job whose minimum does not fit lets others pass"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<ElasticSrjf>(ElasticPolicy::settings(given), given.text("admit") == "strict");
          }};
}

}  // namespace sl
