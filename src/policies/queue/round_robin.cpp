#include "policies/queue/round_robin.h"

#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/satisfiable.h"

namespace sl {
namespace {

struct RoundRobinSettings {
  bool strict_rotation = false;
  bool skip_blocked = false;
};

class RoundRobin : public ArrivalPolicy {
 public:
  explicit RoundRobin(const RoundRobinSettings& settings) : settings_(settings) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (snapshot.servers.empty()) return;
    Trial trial(snapshot.free);
    ServerIndex last = snapshot.memory.last_server;
    for (Walk walk(lines_); !walk.done() && trial.free().total() > 0;) {
      const Job& job = snapshot.job(walk.job());
      const JobRequest& request = job.request;
      auto gpus = is_frozen(job) ? place(trial.free(), snapshot.servers, job, request.gpus)
                                 : place_after(last, trial.free(), snapshot.servers, request);
      if (gpus) {
        last = gpus->parts().back().server;
        trial.take(*gpus, request);
        plan.start(walk.job(), std::move(*gpus));
        walk.next();
      } else if (settings_.skip_blocked && !settings_.strict_rotation) {
        walk.close_line();
      } else if (settings_.skip_blocked) {
        walk.next();  // do not close the line: the next server may have room for a job of the same shape
      } else {
        break;
      }
    }
    if (last.valid()) plan.remember_last_server(last);
  }

 private:
  // The first server with room after `last`, in a circle.
  std::optional<Allocation> place_after(ServerIndex last, const FreeGpus& free, const ServerTable& servers,
                                        const JobRequest& request) const {
    const auto n = static_cast<std::uint32_t>(servers.size());
    const std::uint32_t first = last.valid() ? (last.value + 1) % n : 0;
    for (std::uint32_t d = 0; d < n; ++d) {
      const ServerIndex next((first + d) % n);
      if (auto gpus = place_on(free, servers, request, request.gpus, next)) return gpus;
      if (settings_.strict_rotation && could_hold(servers, next, request, request.gpus)) break;
    }
    if (request.single_server()) return std::nullopt;
    return place_consolidated(free, servers, request, request.gpus);
  }

  RoundRobinSettings settings_;
};

}  // namespace

PolicyEntry round_robin_entry() {
  PolicyInfo info;
  info.name = "round_robin";
  info.title = "Round Robin";
  info.summary = "Jobs in order of submission, each to the server after the one the last job went to.";
  info.good_for = "spreading jobs evenly over equal servers";
  info.weak_for = "wide jobs: spreading leaves a few free GPUs everywhere";
  info.placement = "the next server in turn with enough free GPUs";
  info.needs = {nothing_needed()};
  info.aliases = {"rr"};
  info.parameters = {
      {"mode",
       ParameterType::choice,
       "",
       "skip_full",
       0,
       0,
       {"skip_full", "strict_rotation"},
       "skip_full: full servers are passed over; strict_rotation: wait for exactly the next server (the thesis's "
       "words) that could hold the job"},
      {"skip_blocked", ParameterType::boolean, "", "false", 0, 0, {}, "let later jobs pass one that fits nowhere"},
  };
  auto make = [](const Parameters& given) -> std::unique_ptr<Policy> {
    return std::make_unique<RoundRobin>(
        RoundRobinSettings{given.text("mode") == "strict_rotation", given.boolean("skip_blocked")});
  };
  return {std::move(info), make};
}

}  // namespace sl
