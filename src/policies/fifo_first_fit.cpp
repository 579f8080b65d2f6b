#include "policies/fifo_first_fit.h"

#include "policy/ordered_jobs.h"
#include "policy/placer.h"

namespace sl {
namespace {

class FifoFirstFit : public Policy {
 public:
  explicit FifoFirstFit(int skip_limit) : skip_limit_(skip_limit) {}

  void attach(const Snapshot& snapshot) override {
    queue_.clear();
    for (const JobIndex job : snapshot.waiting) queue_.insert(job, ArrivalKey::of(snapshot.job(job)));
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    const ArrivalKey key = ArrivalKey::of(snapshot.job(job));
    if (kind == NoticeKind::waiting) queue_.insert(job, key);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) queue_.erase(job, key);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Trial trial(snapshot.free);
    skipped_.clear();
    std::size_t counted = 0;  // of skipped_: those before the last start were overtaken by it
    for (const auto& [key, index] : queue_) {
      if (trial.free().total() == 0) break;
      const JobRequest& request = snapshot.job(index).request;
      if (auto gpus = place(trial.free(), snapshot.servers, request, request.gpus)) {
        trial.take(*gpus, request.demand);
        plan.start(index, std::move(*gpus));
        counted = skipped_.size();
      } else {
        if (times_overtaken(snapshot.job(index)) >= skip_limit_) break;
        skipped_.push_back(index);
      }
    }
    for (std::size_t i = 0; i < counted; ++i)
      plan.annotate(skipped_[i], times_overtaken(snapshot.job(skipped_[i])) + 1);
  }

  std::vector<JobIndex> queue_order(const Snapshot&) const override {
    std::vector<JobIndex> order;
    for (const auto& [key, index] : queue_) order.push_back(index);
    return order;
  }

 private:
  // Kept by the core as the job's annotation, so that it survives a restart and a change of policy.
  static double times_overtaken(const Job& job) { return job.annotation; }

  int skip_limit_;
  OrderedJobs<ArrivalKey> queue_;
  std::vector<JobIndex> skipped_;
};

}  // namespace

PolicyEntry fifo_first_fit_entry() {
  PolicyInfo info;
  info.name = "fifo_first_fit";
  info.title = "FIFO First Fit";
  info.summary =
      "First come, first served, but a job that does not fit now lets smaller ones pass, a limited number of times.";
  info.good_for = "keeping GPUs busy without knowing how long jobs run";
  info.weak_for = "wide jobs wait longer than under strict FIFO";
  info.work_conserving = true;
  info.parameters = {{"skip_limit",
                      ParameterType::integer,
                      "times",
                      "100",
                      0,
                      1e9,
                      {},
                      "a job overtaken this often blocks the line until it fits"}};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<FifoFirstFit>(given.integer("skip_limit"));
          }};
}

}  // namespace sl
