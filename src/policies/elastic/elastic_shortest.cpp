#include "policies/elastic/elastic_shortest.h"

#include "policy/elastic_policy.h"

namespace sl {
namespace {

enum class Length : std::uint8_t { on_one_gpu, as_asked };

class ElasticShortest : public ElasticPolicy {
 public:
  ElasticShortest(const ElasticSettings& settings, bool strict, Length length)
      : ElasticPolicy(settings), strict_(strict), length_(length) {}

 protected:
  Rank rank_of(const Snapshot& snapshot, const Job& job) override {
    const int gpus = length_ == Length::on_one_gpu ? 1 : job.request.gpus;
    return {.minor = run_times_.remaining(snapshot, job, gpus).us};
  }
  void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) override {
    serve_in_order(snapshot, shares, supply);
    elastic_fill(snapshot, shares, supply);
  }
  bool may_pass() const override { return !strict_; }

 private:
  bool strict_;
  Length length_;
};

PolicyEntry entry(std::string name, std::string title, const std::string& what_is_left, Length length) {
  PolicyInfo info;
  info.name = std::move(name);
  info.title = std::move(title);
  info.summary = "Jobs with the least " + what_is_left +
                 " left get their minimum of GPUs first; the remaining GPUs are shared in the same order.";
  info.good_for = "a low mean completion time with jobs that can change size";
  info.weak_for = "long jobs; bad estimates";
  info.needs = {resizable_or_rigid(), run_time_or_history()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  info.parameters.push_back(admit_parameter());
  return {std::move(info), [length](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<ElasticShortest>(ElasticPolicy::settings(given), admits_strictly(given), length);
          }};
}

}  // namespace

PolicyEntry elastic_srjf_entry() {
  return entry("elastic_srjf", "Elastic Shortest Remaining Job First", "work", Length::on_one_gpu);
}

PolicyEntry elastic_srtf_entry() {
  return entry("elastic_srtf", "Elastic Shortest Remaining Time First", "time", Length::as_asked);
}

}  // namespace sl
