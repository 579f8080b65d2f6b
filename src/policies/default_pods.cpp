#include "policies/default_pods.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "policy/placer.h"
#include "policy/queue_policy.h"

namespace sl {
namespace {

constexpr const char* version = "default-1";

// What the policy remembers: first line version, seed, time of the deadlock; then a line a part of a job's pods.
struct Bindings {
  std::uint64_t seed = 0;
  Instant deadlocked;
  std::map<JobId, Allocation> of;

  std::string text() const {
    std::string text = std::string(version) + ' ' + std::to_string(seed) + ' ' + std::to_string(deadlocked.us);
    for (const auto& [id, gpus] : of) {
      for (const ServerGpus& part : gpus.parts())
        text += '\n' + std::to_string(id.value) + ' ' + std::to_string(part.server.value) + ' ' +
                std::to_string(part.gpus.bits);
    }
    return text;
  }
  static std::optional<Bindings> parse(const std::string& text) {
    std::istringstream words(text);
    std::string name;
    Bindings bindings;
    if (!(words >> name >> bindings.seed >> bindings.deadlocked.us) || name != version) return std::nullopt;
    JobId id;
    ServerGpus part;
    while (words >> id.value >> part.server.value >> part.gpus.bits) bindings.of[id].add(part.server, part.gpus);
    return bindings;
  }
};

// A number that depends on nothing but these three.
std::uint64_t draw(std::uint64_t seed, JobId job, int pod) {
  return Random(seed ^ (static_cast<std::uint64_t>(job.value) * 0x9E3779B97F4A7C15ULL) ^
                (static_cast<std::uint64_t>(pod) << 48))();
}

class DefaultPods : public ArrivalPolicy {
 public:
  explicit DefaultPods(Duration timeout) : timeout_(timeout) {}

  void attach(const Snapshot& snapshot) override {
    ArrivalPolicy::attach(snapshot);
    waiting_.clear();
    for (const JobIndex job : snapshot.waiting) waiting_.emplace(snapshot.job(job).request.id, job);
  }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    ArrivalPolicy::notice(snapshot, kind, job);
    if (kind == NoticeKind::waiting) waiting_.insert_or_assign(snapshot.job(job).request.id, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) waiting_.erase(snapshot.job(job).request.id);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Bindings bindings = recall(snapshot);
    Trial trial(snapshot.free);
    hold(snapshot, bindings, trial);
    bind(snapshot, bindings, {}, trial);
    if (is_deadlocked(snapshot, bindings)) {
      resolve(snapshot, bindings, trial, plan);
    } else {
      bindings.deadlocked = {};
    }
    start(snapshot, bindings, trial, plan);
    if (std::string text = bindings.text(); text != snapshot.memory.blob) plan.remember(std::move(text));
  }

 private:
  static Bindings recall(const Snapshot& snapshot) {
    if (auto kept = Bindings::parse(snapshot.memory.blob)) return std::move(*kept);
    Bindings fresh;
    fresh.seed = snapshot.random();
    return fresh;
  }

  // Bindings that still mean something take their GPUs.
  void hold(const Snapshot& snapshot, Bindings& bindings, Trial& trial) const {
    std::erase_if(bindings.of, [&](const auto& binding) {
      const auto job = waiting_.find(binding.first);
      if (job == waiting_.end()) return true;
      const JobRequest& request = snapshot.job(job->second).request;
      const Allocation& gpus = binding.second;
      const bool stands = gpus.count() <= request.gpus &&
                          std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
                            return trial.free().is_open(part.server) &&
                                   trial.free().on(part.server).contains(part.gpus) &&
                                   is_eligible(snapshot.servers[part.server], request) &&
                                   trial.free().fits(part.server, of_pods(request, part.gpus.count()));
                          });
      if (stands) take(gpus, request, trial);
      return !stands;
    });
  }

  static ResourceVector of_pods(const JobRequest& request, int pods) {
    return request.demand * (static_cast<double>(pods) / request.gpus);
  }
  static void take(const Allocation& gpus, const JobRequest& request, Trial& trial) {
    trial.take(gpus, of_pods(request, gpus.count()));
  }

  struct Pod {
    std::uint64_t sequence;
    JobIndex job;
    int number;
    std::uint32_t shape;
    friend bool operator<(const Pod& a, const Pod& b) {
      return std::tie(a.sequence, a.job, a.number) < std::tie(b.sequence, b.job, b.number);
    }
  };

  // Jobs of equal priority and submission mix their pods.
  void bind(const Snapshot& snapshot, Bindings& bindings, const std::set<JobId>& except, Trial& trial) const {
    std::vector<bool> closed(lines_.shapes().size(), false);  // no pod of this shape finds a place any more
    for (Walk walk(lines_); !walk.done() && trial.free().total() > 0;) {
      const ArrivalKey first = walk.key();
      std::vector<Pod> pods;
      for (; !walk.done() && walk.key().priority == first.priority && walk.key().submitted == first.submitted;
           walk.next()) {
        const JobRequest& request = snapshot.job(walk.job()).request;
        if (except.contains(request.id)) continue;
        const auto bound = bindings.of.find(request.id);
        if (bound == bindings.of.end() && closed[walk.shape()]) continue;
        for (int n = bound == bindings.of.end() ? 0 : bound->second.count(); n < request.gpus; ++n)
          pods.push_back({draw(bindings.seed, request.id, n), walk.job(), n, walk.shape()});
      }
      std::sort(pods.begin(), pods.end());
      for (const Pod& pod : pods) {
        if (trial.free().total() == 0) return;
        if (!bind_one(snapshot, pod, bindings, trial) && !bindings.of.contains(snapshot.job(pod.job).request.id))
          closed[pod.shape] = true;
      }
    }
  }

  static bool bind_one(const Snapshot& snapshot, const Pod& pod, Bindings& bindings, Trial& trial) {
    const JobRequest& request = snapshot.job(pod.job).request;
    const auto bound = bindings.of.find(request.id);
    const bool has_some = bound != bindings.of.end();
    const ServerIndex server = has_some && request.single_server
                                   ? same_server(trial.free(), request, bound->second.parts().front().server)
                                   : emptiest(snapshot, trial.free(), request, bindings.seed, pod.number);
    if (!server.valid()) return false;
    const Allocation gpu(server, trial.free().on(server).lowest(1));
    take(gpu, request, trial);
    bindings.of[request.id].add(server, gpu.parts().front().gpus);
    return true;
  }

  static ServerIndex same_server(const FreeGpus& free, const JobRequest& request, ServerIndex server) {
    return free.count(server) > 0 && free.fits(server, of_pods(request, 1)) ? server : ServerIndex::none();
  }

  static ServerIndex emptiest(const Snapshot& snapshot, const FreeGpus& free, const JobRequest& request,
                              std::uint64_t seed, int pod) {
    std::vector<ServerIndex> equals;
    for (int n = free.gpus_per_server_max(); n > 0 && equals.empty(); --n) {
      const IndexSet& bucket = free.with_exactly(n);
      for (std::uint32_t s = bucket.next(); s != IndexSet::none; s = bucket.next(s + 1)) {
        const ServerIndex server(s);
        if (is_eligible(snapshot.servers[server], request) && free.fits(server, of_pods(request, 1)) &&
            (!request.single_server || snapshot.servers[server].description.gpus >= request.gpus))
          equals.push_back(server);
      }
    }
    if (equals.empty()) return ServerIndex::none();
    return equals[draw(~seed, request.id, pod) % equals.size()];
  }

  static int pods_needed(const JobRequest& request) {
    const int roles = request.model ? static_cast<int>(request.model->roles.size()) : 0;
    return std::min(request.gpus, std::max(request.gpus_min, roles));
  }

  bool is_deadlocked(const Snapshot& snapshot, const Bindings& bindings) const {
    if (!snapshot.active.empty() || bindings.of.empty()) return false;
    for (const JobIndex index : snapshot.waiting) {
      const JobRequest& request = snapshot.job(index).request;
      const auto bound = bindings.of.find(request.id);
      if (bound != bindings.of.end() && bound->second.count() >= pods_needed(request)) return false;
    }
    return true;  // all that fits has been bound
  }

  void resolve(const Snapshot& snapshot, Bindings& bindings, Trial& trial, Plan& plan) const {
    if (!bindings.deadlocked.happened()) bindings.deadlocked = snapshot.now;
    const bool due = timeout_.us > 0 && snapshot.now >= bindings.deadlocked + timeout_;
    std::set<JobId> gave_up;
    while (due && bindings.of.size() > 1 && is_deadlocked(snapshot, bindings)) {
      const JobRequest& request = snapshot.job(youngest_holder(snapshot, bindings)).request;
      const Allocation freed = bindings.of.at(request.id);
      trial.give(freed, of_pods(request, freed.count()));
      bindings.of.erase(request.id);
      gave_up.insert(request.id);
      bind(snapshot, bindings, gave_up, trial);
    }
    if (!is_deadlocked(snapshot, bindings)) return;
    for (const JobIndex index : snapshot.waiting) {
      if (bindings.of.contains(snapshot.job(index).request.id)) plan.defer(index, {ReasonCode::gang_incomplete});
    }
    if (timeout_.us > 0 && !due) plan.wake_at(bindings.deadlocked + timeout_);
  }

  static JobIndex youngest_holder(const Snapshot& snapshot, const Bindings& bindings) {
    JobIndex youngest;
    for (const JobIndex index : snapshot.waiting) {
      if (!bindings.of.contains(snapshot.job(index).request.id)) continue;
      if (!youngest.valid() || submitted_before(snapshot.job(youngest), snapshot.job(index))) youngest = index;
    }
    return youngest;
  }

  // With fewer pods than it asks for a job still needs all its CPU and memory.
  static bool has_resources(const JobRequest& request, const Allocation& gpus, const FreeGpus& free) {
    const double missing = 1.0 / gpus.count() - 1.0 / request.gpus;
    return request.demand.is_zero() || missing <= 0 ||
           std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
             return free.fits(part.server, request.demand * (missing * part.gpus.count()));
           });
  }

  void start(const Snapshot& snapshot, Bindings& bindings, Trial& trial, Plan& plan) const {
    std::erase_if(bindings.of, [&](const auto& binding) {
      const JobIndex index = waiting_.at(binding.first);
      const JobRequest& request = snapshot.job(index).request;
      const Allocation& gpus = binding.second;
      if (gpus.count() < pods_needed(request) || !has_resources(request, gpus, trial.free())) return false;
      trial.give(gpus, of_pods(request, gpus.count()));
      trial.take(gpus, request.demand);
      plan.start(index, gpus);
      return true;
    });
  }

  Duration timeout_;
  std::map<JobId, JobIndex> waiting_;
};

}  // namespace

PolicyEntry default_pods_entry() {
  PolicyInfo info;
  info.name = "default";
  info.title = "Pod by Pod";
  info.summary =
      "Binds one worker at a time to the emptiest server, as schedulers do that know no jobs; jobs may block one "
      "another "
      "for ever, which is detected.";
  info.good_for = "a baseline for gang scheduling";
  info.weak_for = "jobs with several workers under load: they deadlock";
  info.needs = {{Fact::choice_of_gpus, "all their workers must be bound before they start"}};
  info.aliases = {"pods", "kube"};
  info.parameters = {{"deadlock_timeout_s",
                      ParameterType::number,
                      "s",
                      "300",
                      0,
                      1e9,
                      {},
                      "after this long in a deadlock the youngest job gives up its workers; 0: never"}};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<DefaultPods>(Duration::seconds(given.number("deadlock_timeout_s")));
          }};
}

}  // namespace sl
