#include "policies/queue/fifo_first_fit.h"

#include <algorithm>
#include <cmath>

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
    for (Walk walk(lines_); !walk.done() && trial.free().total() > 0 && !somebody_blocks();) {
      const Job& job = snapshot.job(walk.job());
      if (auto gpus = place(trial.free(), snapshot.servers, job, job.request.gpus)) {
        trial.take(*gpus, job.request);
        plan.start(walk.job(), std::move(*gpus));
        for (Skipped& skipped : skipped_) ++skipped.times;
        walk.next();
      } else {
        skipped_.push_back({walk.job(), times_overtaken(job)});
        walk.close_line();
      }
    }
    for (const Skipped& skipped : skipped_) {
      if (skipped.times != times_overtaken(snapshot.job(skipped.job))) plan.annotate(skipped.job, skipped.times);
    }
  }

  std::string standing(const View& view, JobIndex job) const override {
    return "overtaken " + std::to_string(std::lround(times_overtaken(view.job(job)))) + " of at most " +
           std::to_string(skip_limit_) + " times";
  }

 private:
  struct Skipped {
    JobIndex job;
    double times;  // number of times overtaken so far
  };

  // The core keeps it as the job's annotation, so that it survives a restart and a change of policy.
  static double times_overtaken(const Job& job) { return job.annotation; }

  bool somebody_blocks() const {
    return std::ranges::any_of(skipped_, [this](const Skipped& skipped) { return skipped.times >= skip_limit_; });
  }

  int skip_limit_;
  std::vector<Skipped> skipped_;  // in the plan being made
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
