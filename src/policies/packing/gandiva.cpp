#include "policies/packing/gandiva.h"

#include "base/text.h"
#include "policies/packing/gandiva_turn.h"
#include "policy/queue_policy.h"
#include "policy/rank.h"

namespace sl {
namespace {

class Gandiva : public QueuePolicy<RankKey> {
 public:
  explicit Gandiva(const GandivaSettings& settings) : settings_(settings) {}

  void attach(const Snapshot& snapshot) override {
    QueuePolicy::attach(snapshot);
    slice_ends_.clear();
  }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    QueuePolicy::notice(snapshot, kind, job);
    if (slice_ends_.contains(job)) slice_ends_[job] = {};
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    GandivaTurn turn(settings_, slice_ends_, snapshot, plan);
    if (settings_.packing) turn.unpack();
    bool all_served = true;
    for (Walk walk(lines_); !walk.done();) {
      const JobIndex index = walk.job();
      const bool served = settings_.epoch_ring ? turn.serve_in_ring(index) : turn.serve(index);
      const Job& job = snapshot.job(index);
      all_served = all_served && served;
      // Other jobs of its shape may be served even though this one may not: it has not waited long enough, or is bound
      // to a server.
      if (served || is_frozen(job) || turn.ready_at(job) > snapshot.now || job.request.shareable) {
        walk.next();
      } else {
        walk.close_line();
      }
    }
    if (settings_.epoch_ring) turn.settle_displaced();
    if (all_served && settings_.packing) turn.spread();
    if (all_served && settings_.grow_shrink && !settings_.epoch_ring) turn.grow();
    if (!turn.next().is_never()) plan.wake_at(turn.next());
  }

  std::string standing(const View& view, JobIndex index) const override {
    const Job& job = view.job(index);
    if (job.is_waiting()) {
      const Instant ready = gandiva_ready_at(view, settings_, job);
      return ready > view.now ? "may claim a slice in " + duration_text((ready - view.now).to_seconds())
                              : "its turn has come";
    }
    if (job.state != JobState::running) return {};
    const int has = job.allocation.count(), asked = job.request.gpus;
    const std::string grown =
        has > asked ? "grown from " + std::to_string(asked) + " to " + std::to_string(has) + " GPUs; " : "";
    if (!is_movable(job)) return grown + "it takes no turns because it cannot be stopped";
    const std::string slice = duration_text(gandiva_quantum(view, settings_, job).to_seconds());
    return grown + "has run " + duration_text((view.now - job.last_start).to_seconds()) + " of a slice of " + slice;
  }

 protected:
  // Longest waiting first; in the ring, the job that ran last goes last.
  RankKey key_of(const Snapshot&, const Job& job) override {
    Rank rank;
    if (settings_.epoch_ring) {
      rank.minor = job.last_start.us;  // never started: goes first
    } else {
      rank.minor = job.waiting_since.us;
    }
    return RankKey::of(rank, job);
  }

 private:
  GandivaSettings settings_;
  SliceEnds slice_ends_;
};

ParameterInfo switch_parameter(const char* name, const char* help) {
  return {name, ParameterType::boolean, "", "true", 0, 0, {}, help};
}

}  // namespace

PolicyEntry gandiva_entry() {
  PolicyInfo info;
  info.name = "gandiva";
  info.title = "Gandiva";
  info.summary =
      "Jobs take turns of ten minutes; they are moved together, packed onto shared GPUs and grown into idle ones.";
  info.good_for = "early results of many jobs at once; exploring hyperparameters";
  info.weak_for = "mean completion time of jobs of similar length; jobs that are slow to suspend";
  info.placement = "a server of jobs of its size, or one where moving, packing or slicing other jobs made room";
  info.needs = {{Fact::suspendable, "they take no turns: once started they run to their end"},
                {Fact::sharing, "they are never packed onto other jobs' GPUs"},
                {Fact::none, "jobs are not packed", "for packing: GPU memory, and speeds alone and together"}};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = {
      {"mode",
       ParameterType::choice,
       "",
       "slicing",
       0,
       0,
       {"slicing", "epoch_ring"},
       "slicing: the paper's mechanisms; epoch_ring: the report's version, one epoch at a time"},
      {"slice_s", ParameterType::number, "s", "600", 1, 86400, {}, "how long a job runs before it makes room"},
      switch_parameter("packing", "whether jobs that allow it share GPUs"),
      switch_parameter("migration", "whether running jobs are moved to make room"),
      switch_parameter("grow_shrink", "whether jobs that can be resized use idle GPUs of their server"),
      {"grow_idle_s", ParameterType::number, "s", "60", 0, 86400, {}, "a job runs this long before it grows"},
      {"restart_cost_s",
       ParameterType::number,
       "s",
       "30",
       0,
       86400,
       {},
       "cost of a move for jobs that do not state it"},
  };
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            GandivaSettings settings;
            settings.epoch_ring = given.text("mode") == "epoch_ring";
            settings.packing = given.boolean("packing");
            settings.migration = given.boolean("migration");
            settings.grow_shrink = given.boolean("grow_shrink");
            settings.slice = Duration::seconds(given.number("slice_s"));
            settings.grow_idle = Duration::seconds(given.number("grow_idle_s"));
            settings.restart_cost = Duration::seconds(given.number("restart_cost_s"));
            return std::make_unique<Gandiva>(settings);
          }};
}

}  // namespace sl
