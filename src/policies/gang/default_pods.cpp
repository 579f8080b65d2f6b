#include "policies/gang/default_pods.h"

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "model/gpu_counts.h"
#include "policy/job_set.h"
#include "policy/placer.h"
#include "policy/queue_policy.h"

namespace sl {
namespace {

constexpr const char* bindings_version = "default-1";

// What the policy remembers: the first line has version, seed, and time of the deadlock; then one line per part of a
// job's pods.
struct Bindings {
  std::uint64_t seed = 0;
  Instant deadlocked;
  std::map<JobId, Allocation> of;

  std::string text() const {
    std::string text = std::string(bindings_version) + ' ' + std::to_string(seed) + ' ' + std::to_string(deadlocked.us);
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
    if (!(words >> name >> bindings.seed >> bindings.deadlocked.us) || name != bindings_version) return std::nullopt;
    JobId id;
    ServerGpus part;
    while (words >> id.value >> part.server.value >> part.gpus.bits) bindings.of[id].add(part.server, part.gpus);
    return bindings;
  }
};

// A number that depends on these three alone.
std::uint64_t draw(std::uint64_t seed, JobId job, int pod) {
  return Random(seed ^ (static_cast<std::uint64_t>(job.value) * 0x9E3779B97F4A7C15ULL) ^
                (static_cast<std::uint64_t>(pod) << 48))();
}

// Where a pod stands in the line.
struct PodKey {
  int priority = 0;
  Instant submitted;
  std::uint64_t sequence = 0;
  JobId id;
  friend auto operator<=>(const PodKey&, const PodKey&) = default;
};

class DefaultPods : public QueuePolicy<PodKey> {
 public:
  explicit DefaultPods(Duration timeout) : timeout_(timeout) {}

  void attach(const Snapshot& snapshot) override {
    QueuePolicy::attach(snapshot);
    waiting_.clear();
    for (const JobIndex job : snapshot.waiting) waiting_.emplace(snapshot.job(job).request.id.value, job);
  }

  int gpus_least(const Job& job) const override { return pods_needed(job.request); }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    QueuePolicy::notice(snapshot, kind, job);
    const std::int64_t id = snapshot.job(job).request.id.value;
    if (kind == NoticeKind::waiting) waiting_.insert_or_assign(id, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) waiting_.erase(id);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Bindings bindings = recall(snapshot);
    if (std::exchange(seed_, bindings.seed) != bindings.seed) rekey_all(snapshot);
    Trial trial(snapshot.free);
    started_.clear();
    hold(snapshot, bindings, trial);
    bind(snapshot, bindings, trial);
    if (is_deadlocked(snapshot, bindings, trial.free())) {
      resolve(snapshot, bindings, trial, plan);
    } else {
      bindings.deadlocked = {};
    }
    start(snapshot, bindings, trial, plan);
    if (std::string text = bindings.text(); text != snapshot.memory.blob) plan.remember(std::move(text));
  }

 protected:
  // That of its first pod.
  PodKey key_of(const Snapshot&, const Job& job) override { return key_of_pod(job.request, 0); }

 private:
  static Bindings recall(const Snapshot& snapshot) {
    if (auto kept = Bindings::parse(snapshot.memory.blob)) return std::move(*kept);
    Bindings fresh;
    fresh.seed = snapshot.random();
    return fresh;
  }

  // Bindings that are still valid take their GPUs.
  void hold(const Snapshot& snapshot, Bindings& bindings, Trial& trial) const {
    std::erase_if(bindings.of, [&](const auto& binding) {
      const auto job = waiting_.find(binding.first.value);
      if (job == waiting_.end()) return true;
      const JobRequest& request = snapshot.job(job->second).request;
      const Allocation& gpus = binding.second;
      const bool stands = gpus.count() <= request.gpus && !is_frozen(snapshot.job(job->second)) &&
                          std::all_of(gpus.parts().begin(), gpus.parts().end(), [&](const ServerGpus& part) {
                            return trial.free().is_open(part.server) &&
                                   trial.free().on(part.server).contains(part.gpus) &&
                                   is_eligible(snapshot.servers[part.server], request) &&
                                   free_for(trial.free(), snapshot.servers, request, part.server).contains(part.gpus) &&
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
    for (const ServerGpus& part : gpus.parts()) trial.take(part.server, part.gpus, of_pods(request, part.gpus.count()));
  }

  static void give(const Allocation& gpus, const JobRequest& request, Trial& trial) {
    for (const ServerGpus& part : gpus.parts()) trial.give(part.server, part.gpus, of_pods(request, part.gpus.count()));
  }

  // A job's pods are numbered in the order of their lots, and bound in this order.
  PodKey key_of_pod(const JobRequest& request, int number) const {
    std::vector<std::uint64_t> lots;
    for (int pod = 0; pod < request.gpus; ++pod) lots.push_back(draw(seed_, request.id, pod));
    std::ranges::nth_element(lots, lots.begin() + number);
    return {-request.priority, request.submitted, lots[static_cast<std::size_t>(number)], request.id};
  }

  // Binds pods in order of the line until no more fit.
  void bind(const Snapshot& snapshot, Bindings& bindings, Trial& trial) const {
    std::set<PodKey> next;  // pod of each job that holds some
    const auto add_next = [&](const Job& job, const Allocation& bound) {
      if (!has_all_pods(job, bound)) next.insert(key_of_pod(job.request, bound.count()));
    };
    for (const auto& [id, bound] : bindings.of) add_next(snapshot.job(waiting_.at(id.value)), bound);
    Walk walk(lines_);
    while (trial.free().total() > 0 && (!next.empty() || !walk.done())) {
      if (!walk.done() && (bindings.of.contains(walk.key().id) || started_.contains(walk.job()))) {
        walk.next();
        continue;
      }
      const bool is_first = next.empty() || (!walk.done() && walk.key() < *next.begin());
      const Job& job = snapshot.job(is_first ? walk.job() : waiting_.at(next.begin()->id.value));
      const bool is_bound = bind_one(snapshot, job, bindings, trial);
      if (!is_first) next.erase(next.begin());
      if (is_bound) add_next(job, bindings.of.at(job.request.id));
      if (is_first && !is_bound) walk.close_line();
    }
  }

  static bool has_all_pods(const Job& job, const Allocation& bound) {
    return bound.count() >= (is_frozen(job) ? job.frozen_on->count() : job.request.gpus);
  }

  // Of a frozen job all at once: only its own GPUs are of use to it.
  static bool bind_one(const Snapshot& snapshot, const Job& job, Bindings& bindings, Trial& trial) {
    const JobRequest& request = job.request;
    if (is_frozen(job)) {
      auto own = place(trial.free(), snapshot.servers, job, job.frozen_on->count());
      if (!own) return false;
      take(*own, request, trial);
      bindings.of[request.id] = std::move(*own);
      return true;
    }
    const auto found = bindings.of.find(request.id);
    const Allocation bound = found == bindings.of.end() ? Allocation() : found->second;
    const bool has_all_servers = std::cmp_greater_equal(bound.parts().size(), request.servers_max);
    const ServerIndex server = has_all_servers ? one_of_them(snapshot, trial.free(), request, bound)
                                               : emptiest(snapshot, trial.free(), request, bound, bindings.seed);
    if (!server.valid()) return false;
    const Allocation gpu(
        server, lowest(snapshot.servers[server], free_for(trial.free(), snapshot.servers, request, server), 1));
    take(gpu, request, trial);
    bindings.of[request.id].add(server, gpu.parts().front().gpus);
    return true;
  }

  static bool takes_pod(const Snapshot& snapshot, const FreeGpus& free, const JobRequest& request, ServerIndex server) {
    return !free_for(free, snapshot.servers, request, server).empty() && free.fits(server, of_pods(request, 1));
  }

  // The first of these servers that has room for another pod.
  static ServerIndex one_of_them(const Snapshot& snapshot, const FreeGpus& free, const JobRequest& request,
                                 const Allocation& bound) {
    for (const ServerGpus& part : bound.parts()) {
      if (takes_pod(snapshot, free, request, part.server)) return part.server;
    }
    return ServerIndex::none();
  }

  // How many pods of the job an empty server of this kind has room for.
  static int most_pods(const Server& server, const JobRequest& request) {
    int pods = server.description.gpus;
    while (pods > 0 && !of_pods(request, pods).fits_in(server.description.limits())) --pods;
    return pods;
  }

  // Whether enough pods for a start could be on this server, those that some are bound to, and as many others as the job
  // may have.
  static bool has_room_to_start(const Snapshot& snapshot, const JobRequest& request, const Allocation& bound,
                                ServerIndex server) {
    if (request.servers_max == any_number_of_servers || !bound.on(server).empty()) return true;
    const int needed = pods_needed(request);
    int gpus = most_pods(snapshot.servers[server], request);
    for (const ServerGpus& part : bound.parts()) gpus += most_pods(snapshot.servers[part.server], request);
    const auto more = static_cast<std::size_t>(request.servers_max) - bound.parts().size() - 1;
    if (gpus >= needed || more == 0) return gpus >= needed;
    std::vector<int> others;
    for (std::uint32_t s = 0; s < snapshot.servers.size(); ++s) {
      const ServerIndex other(s);
      if (other != server && bound.on(other).empty() && is_eligible(snapshot.servers[other], request))
        others.push_back(most_pods(snapshot.servers[other], request));
    }
    std::ranges::sort(others, std::greater());
    others.resize(std::min(others.size(), more));
    return std::accumulate(others.begin(), others.end(), gpus) >= needed;
  }

  static ServerIndex emptiest(const Snapshot& snapshot, const FreeGpus& free, const JobRequest& request,
                              const Allocation& bound, std::uint64_t seed) {
    std::vector<ServerIndex> equals;
    for (int n = free.gpus_per_server_max(); n > 0 && equals.empty(); --n) {
      const IndexSet& bucket = free.with_exactly(n);
      for (std::uint32_t s = bucket.next(); s != IndexSet::none; s = bucket.next(s + 1)) {
        const ServerIndex server(s);
        if (is_eligible(snapshot.servers[server], request) && takes_pod(snapshot, free, request, server) &&
            has_room_to_start(snapshot, request, bound, server))
          equals.push_back(server);
      }
    }
    if (equals.empty()) return ServerIndex::none();
    return equals[draw(~seed, request.id, bound.count()) % equals.size()];
  }

  static int pods_needed(const JobRequest& request) {
    const int roles = request.model ? static_cast<int>(request.model->roles.size()) : 0;
    return std::min(request.gpus, std::max(request.gpus_min, roles));
  }

  // Those of its pods that the job could start with: of a number between two that it may run on, the lower one. Empty:
  // too few are bound.
  static Allocation usable(const Job& job, Allocation bound) {
    if (is_frozen(job)) return bound;
    const int pods = allowed_gpus(job.request, bound.count());
    if (pods < pods_needed(job.request)) return {};
    while (bound.count() > pods) {
      const ServerGpus last = bound.parts().back();
      bound = difference(bound,
                         Allocation(last.server, GpuSet::only(static_cast<int>(std::bit_width(last.gpus.bits)) - 1)));
    }
    return bound;
  }

  // `free`: what the pods that are bound leave.
  bool is_deadlocked(const Snapshot& snapshot, const Bindings& bindings, const FreeGpus& free) const {
    if (!snapshot.active.empty() || bindings.of.empty()) return false;
    return std::ranges::none_of(bindings.of, [&](const auto& binding) {  // everything that fits has been bound
      return may_start(snapshot.job(waiting_.at(binding.first.value)), binding.second, free);
    });
  }

  void resolve(const Snapshot& snapshot, Bindings& bindings, Trial& trial, Plan& plan) {
    if (!bindings.deadlocked.happened()) bindings.deadlocked = snapshot.now;
    const bool due = timeout_.us > 0 && snapshot.now >= bindings.deadlocked + timeout_;
    if (due && complete_one(snapshot, bindings, trial)) {
      start(snapshot, bindings, trial, plan);
      return bind(snapshot, bindings, trial);
    }
    for (const auto& [id, gpus] : bindings.of) plan.defer(waiting_.at(id.value), ReasonCode::gang_incomplete);
    if (timeout_.us > 0 && !due) plan.wake_at(bindings.deadlocked + timeout_);
  }

  // Of the jobs that hold pods the last give up theirs until the first has all of its own; if that is not enough, as
  // where something else has taken a GPU of its server, until the second has, and so on. Returns whether one has.
  bool complete_one(const Snapshot& snapshot, Bindings& bindings, Trial& trial) const {
    std::vector<JobIndex> holders;
    for (const auto& [id, gpus] : bindings.of) holders.push_back(waiting_.at(id.value));
    std::ranges::sort(holders, {}, [&](JobIndex job) { return ArrivalKey::of(snapshot.job(job)); });
    for (const JobIndex first : holders) {
      const std::size_t before = trial.mark();
      Bindings with_first = bindings;
      if (complete(snapshot, first, holders, with_first, trial)) return bindings = std::move(with_first), true;
      trial.rewind(before);
    }
    return false;
  }

  static bool complete(const Snapshot& snapshot, JobIndex first, const std::vector<JobIndex>& holders,
                       Bindings& bindings, Trial& trial) {
    const Job& job = snapshot.job(first);
    const Allocation& bound = bindings.of.at(job.request.id);
    for (auto last = holders.rbegin(); last != holders.rend() && !may_start(job, bound, trial.free()); ++last) {
      if (*last == first) continue;
      const JobRequest& other = snapshot.job(*last).request;
      give(bindings.of.at(other.id), other, trial);
      bindings.of.erase(other.id);
      while (!has_all_pods(job, bound) && bind_one(snapshot, job, bindings, trial)) {
      }
    }
    return may_start(job, bound, trial.free());
  }

  // A job with fewer pods than it asks for may need more CPU and memory than its pods hold.
  static bool has_resources(const JobRequest& request, const Allocation& gpus, const Allocation& bound,
                            const FreeGpus& free) {
    bool has = true;
    for_each_share(gpus, request, [&](const ServerGpus& part, ResourceVector needed) {
      needed -= of_pods(request, bound.on(part.server).count());
      has = has && free.fits(part.server, needed);
    });
    return has;
  }

  static bool may_start(const Job& job, const Allocation& bound, const FreeGpus& free) {
    const Allocation gpus = usable(job, bound);
    return !gpus.empty() && has_resources(job.request, gpus, bound, free);
  }

  void start(const Snapshot& snapshot, Bindings& bindings, Trial& trial, Plan& plan) {
    std::erase_if(bindings.of, [&](const auto& binding) {
      const JobIndex index = waiting_.at(binding.first.value);
      const Job& job = snapshot.job(index);
      const JobRequest& request = job.request;
      if (!may_start(job, binding.second, trial.free())) return false;
      const Allocation gpus = usable(job, binding.second);
      give(binding.second, request, trial);
      trial.take(gpus, request);
      plan.start(index, gpus);
      started_.insert(index);
      return true;
    });
  }

  Duration timeout_;
  std::uint64_t seed_ = 0;                                     // of the lots that lines_ are ordered by
  boost::unordered_flat_map<std::int64_t, JobIndex> waiting_;  // by id
  JobSet started_;                                             // by this plan
};

}  // namespace

PolicyEntry default_pods_entry() {
  PolicyInfo info;
  info.name = "default";
  info.title = "Pod by Pod";
  info.summary =
      "Binds one worker at a time to the emptiest server, like schedulers that know no jobs; jobs may block one "
      "another "
      "for ever, which is detected.";
  info.good_for = "a baseline for gang scheduling";
  info.weak_for = "jobs with several workers under load: they deadlock";
  info.placement = "the servers with the most free GPUs when each of its pods was bound";
  info.needs = {{Fact::choice_of_gpus, "all their workers must be bound before they start"}};
  info.aliases = {"pods", "kube"};
  info.parameters = {{"deadlock_timeout_s",
                      ParameterType::number,
                      "s",
                      "300",
                      0,
                      1e9,
                      {},
                      "after this long in a deadlock the youngest jobs give up their workers until another job has all "
                      "of its own; 0: never"}};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<DefaultPods>(Duration::seconds(given.number("deadlock_timeout_s")));
          }};
}

}  // namespace sl
