#include "policies/fifo_first_fit.h"

#include "policy/placer.h"
#include "policy/queue_policy.h"

namespace sl {
namespace {

class FifoFirstFit : public ArrivalPolicy {
 public:
  explicit FifoFirstFit(int skip_limit) : skip_limit_(skip_limit) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Trial trial(snapshot.free);
    skipped_.clear();
    std::size_t overtaken = 0;  // of skipped_: those that stand before the last job started
    for (Walk walk(lines_); !walk.done() && trial.free().total() > 0;) {
      const Job& job = snapshot.job(walk.job());
      if (auto gpus = place(trial.free(), snapshot.servers, job.request, job.request.gpus)) {
        trial.take(*gpus, job.request.demand);
        plan.start(walk.job(), std::move(*gpus));
        overtaken = skipped_.size();
        walk.next();
      } else {
        if (times_overtaken(job) >= skip_limit_) break;
        skipped_.push_back(walk.job());
        walk.close_line();
      }
    }
    for (std::size_t i = 0; i < overtaken; ++i)
      plan.annotate(skipped_[i], times_overtaken(snapshot.job(skipped_[i])) + 1);
  }

 private:
  // Kept by the core as the job's annotation, so that it survives a restart and a change of policy.
  static double times_overtaken(const Job& job) { return job.annotation; }

  int skip_limit_;
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
  info.needs = {nothing_needed()};
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
