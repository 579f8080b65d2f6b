#include "policies/gang/default_pods.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <vector>

#include "model/gpu_counts.h"
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

class DefaultPods : public ArrivalPolicy {
 public:
  explicit DefaultPods(Duration timeout) : timeout_(timeout) {}

  void attach(const Snapshot& snapshot) override {
    ArrivalPolicy::attach(snapshot);
    waiting_.clear();
    for (const JobIndex job : snapshot.waiting) waiting_.emplace(snapshot.job(job).request.id.value, job);
    seed_.reset();
  }

  int gpus_least(const Job& job) const override { return pods_needed(job.request); }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    ArrivalPolicy::notice(snapshot, kind, job);
    const JobRequest& request = snapshot.job(job).request;
    if (kind == NoticeKind::active || kind == NoticeKind::ended) {
      const bool has_waited = waiting_.erase(request.id.value) > 0;
      if (has_waited) gone_ += static_cast<std::size_t>(request.gpus);
      if (has_waited && kind == NoticeKind::ended)
        seed_.reset();  // held or edited, it may be back before its pods went
    } else if (kind == NoticeKind::waiting) {
      waiting_.insert_or_assign(request.id.value, job);
      const bool may_be_known = snapshot.job(job).attempt > 0;  // its pods may still be in pods_
      may_be_known ? seed_.reset() : arrived_.push_back(job);
    } else if (kind == NoticeKind::edited) {
      seed_.reset();
    }
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Bindings bindings = recall(snapshot);
    Trial trial(snapshot.free);
    hold(snapshot, bindings, trial);
    order_pods(snapshot, bindings.seed);
    for (const JobIndex job : counted_) first_[job] = 0;
    counted_.clear();
    for (const auto& [id, gpus] : bindings.of) set_first(waiting_.at(id.value), gpus.count());
    Cursor cursor;
    bind(snapshot, cursor, bindings, trial);
    if (is_deadlocked(snapshot, bindings, trial.free())) {
      resolve(snapshot, cursor, bindings, trial, plan);
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

  // Bindings that are still valid take their GPUs.
  void hold(const Snapshot& snapshot, Bindings& bindings, Trial& trial) const {
    std::erase_if(bindings.of, [&](const auto& binding) {
      const auto job = waiting_.find(binding.first.value);
      if (job == waiting_.end()) return true;
      const JobRequest& request = snapshot.job(job->second).request;
      const Allocation& gpus = binding.second;
      const bool stands = gpus.count() <= request.gpus &&
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

  struct Pod {
    int priority;
    Instant submitted;
    std::uint64_t sequence;
    JobIndex job;
    int number;
    std::uint32_t shape;
    JobId id;
    friend bool operator<(const Pod& a, const Pod& b) {
      return std::tie(b.priority, a.submitted, a.sequence, a.job, a.number) <
             std::tie(a.priority, b.submitted, b.sequence, b.job, b.number);
    }
  };

  void add_pods(const Snapshot& snapshot, JobIndex index) {
    const JobRequest& request = snapshot.job(index).request;
    const std::uint32_t shape = shapes_.intern(request, request.gpus, Spread::few);
    for (int n = 0; n < request.gpus; ++n)
      pods_.push_back({request.priority, request.submitted, draw(*seed_, request.id, n), index, n, shape, request.id});
    while (!first_.contains(index)) first_.push_back(0);
  }

  // Brings pods_ up to date. Pods of jobs that no longer wait are skipped, and dropped some at a time.
  void order_pods(const Snapshot& snapshot, std::uint64_t seed) {
    if (seed_ != seed) {
      seed_ = seed;
      pods_.clear();
      gone_ = 0;
      arrived_.clear();
      for (const auto& [id, index] : waiting_) arrived_.push_back(index);
    }
    if (gone_ > 16 + pods_.size() / 64) {
      std::erase_if(pods_, [&](const Pod& pod) { return !waits(pod); });
      gone_ = 0;
    }
    const std::ptrdiff_t known = std::ssize(pods_);
    for (const JobIndex job : arrived_) add_pods(snapshot, job);
    arrived_.clear();
    std::sort(pods_.begin() + known, pods_.end());
    std::inplace_merge(pods_.begin(), pods_.begin() + known, pods_.end());
  }
  bool waits(const Pod& pod) const {
    const auto at = waiting_.find(pod.id.value);
    return at != waiting_.end() && at->second == pod.job;
  }

  // How far a decision has come in pods_. Of a job with n bound pods those numbered from n on may be bound.
  struct Cursor {
    std::vector<std::size_t> passed;  // that may still be bound
    std::size_t next = 0;
  };
  static constexpr int no_pod = std::numeric_limits<int>::max();

  // `youngest`: of the jobs that hold pods, while jobs give up theirs; else none.
  void bind(const Snapshot& snapshot, Cursor& cursor, Bindings& bindings, Trial& trial, JobIndex youngest = {}) {
    std::vector<bool> closed(shapes_.size(), false);  // no pod of this shape fits any more
    std::vector<std::size_t> passed;
    std::vector<JobIndex> bound;
    const auto visit = [&](std::size_t at) {
      const Pod& pod = pods_[at];
      if (pod.number < first_[pod.job] || !waits(pod)) return;
      const bool holds_some = bindings.of.contains(pod.id);
      const bool is_closed = !holds_some && closed[pod.shape];
      if (!is_closed && !holds_some && bound.empty() && would_give_up(snapshot, pod, bindings.seed, trial, youngest))
        return set_first(pod.job, no_pod);
      passed.push_back(at);
      if (is_closed) return;
      if (bind_one(snapshot, pod, bindings, trial)) {
        bound.push_back(pod.job);
      } else if (!holds_some) {
        closed[pod.shape] = true;
      }
    };
    std::size_t i = 0;
    while (i < cursor.passed.size() && trial.free().total() > 0) visit(cursor.passed[i++]);
    while (cursor.next < pods_.size() && trial.free().total() > 0) visit(cursor.next++);
    passed.insert(passed.end(), cursor.passed.begin() + static_cast<std::ptrdiff_t>(i), cursor.passed.end());
    cursor.passed = std::move(passed);
    for (const JobIndex job : bound) set_first(job, bindings.of.at(snapshot.job(job).request.id).count());
  }

  // Whether a job that would get the only free GPU would be the next to give up its pods. While many wait most are, and
  // nothing else comes of it.
  static bool would_give_up(const Snapshot& snapshot, const Pod& pod, std::uint64_t seed, const Trial& trial,
                            JobIndex youngest) {
    if (!youngest.valid() || trial.free().total() > 1) return false;
    const Job& job = snapshot.job(pod.job);
    return submitted_before(snapshot.job(youngest), job) && !has_enough_pods(job.request, 1) &&
           emptiest(snapshot, trial.free(), job.request, {}, seed, pod.number).valid();
  }
  void set_first(JobIndex job, int number) {
    first_[job] = number;
    counted_.push_back(job);
  }

  static bool bind_one(const Snapshot& snapshot, const Pod& pod, Bindings& bindings, Trial& trial) {
    const JobRequest& request = snapshot.job(pod.job).request;
    const auto bound = bindings.of.find(request.id);
    const bool has_some = bound != bindings.of.end();
    const bool has_all_servers = has_some && std::cmp_greater_equal(bound->second.parts().size(), request.servers_max);
    const ServerIndex server = has_all_servers
                                   ? one_of_them(snapshot, trial.free(), request, bound->second)
                                   : emptiest(snapshot, trial.free(), request, has_some ? bound->second : Allocation(),
                                              bindings.seed, pod.number);
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

  // Whether all pods could be on this server, those that some are bound to, and as many others as the job may have.
  static bool has_room_for_all(const Snapshot& snapshot, const JobRequest& request, const Allocation& bound,
                               ServerIndex server) {
    if (request.servers_max == any_number_of_servers || !bound.on(server).empty()) return true;
    int gpus = most_pods(snapshot.servers[server], request);
    for (const ServerGpus& part : bound.parts()) gpus += most_pods(snapshot.servers[part.server], request);
    const auto more = static_cast<std::size_t>(request.servers_max) - bound.parts().size() - 1;
    if (gpus >= request.gpus || more == 0) return gpus >= request.gpus;
    std::vector<int> others;
    for (std::uint32_t s = 0; s < snapshot.servers.size(); ++s) {
      const ServerIndex other(s);
      if (other != server && bound.on(other).empty() && is_eligible(snapshot.servers[other], request))
        others.push_back(most_pods(snapshot.servers[other], request));
    }
    std::ranges::sort(others, std::greater());
    others.resize(std::min(others.size(), more));
    return std::accumulate(others.begin(), others.end(), gpus) >= request.gpus;
  }

  static ServerIndex emptiest(const Snapshot& snapshot, const FreeGpus& free, const JobRequest& request,
                              const Allocation& bound, std::uint64_t seed, int pod) {
    std::vector<ServerIndex> equals;
    for (int n = free.gpus_per_server_max(); n > 0 && equals.empty(); --n) {
      const IndexSet& bucket = free.with_exactly(n);
      for (std::uint32_t s = bucket.next(); s != IndexSet::none; s = bucket.next(s + 1)) {
        const ServerIndex server(s);
        if (is_eligible(snapshot.servers[server], request) && takes_pod(snapshot, free, request, server) &&
            has_room_for_all(snapshot, request, bound, server))
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

  static bool has_enough_pods(const JobRequest& request, int pods) {
    return pods >= pods_needed(request) && may_run_on(request, pods);
  }

  // `free`: what the pods that are bound leave.
  bool is_deadlocked(const Snapshot& snapshot, const Bindings& bindings, const FreeGpus& free) const {
    if (!snapshot.active.empty() || bindings.of.empty()) return false;
    return std::ranges::none_of(bindings.of, [&](const auto& binding) {  // everything that fits has been bound
      return may_start(snapshot.job(waiting_.at(binding.first.value)).request, binding.second, free);
    });
  }

  void resolve(const Snapshot& snapshot, Cursor& cursor, Bindings& bindings, Trial& trial, Plan& plan) {
    if (!bindings.deadlocked.happened()) bindings.deadlocked = snapshot.now;
    const bool due = timeout_.us > 0 && snapshot.now >= bindings.deadlocked + timeout_;
    while (due && bindings.of.size() > 1 && is_deadlocked(snapshot, bindings, trial.free())) {
      const JobIndex youngest = youngest_holder(snapshot, bindings);
      const JobRequest& request = snapshot.job(youngest).request;
      give(bindings.of.at(request.id), request, trial);
      bindings.of.erase(request.id);
      set_first(youngest, no_pod);
      bind(snapshot, cursor, bindings, trial, youngest_holder(snapshot, bindings));
    }
    if (!is_deadlocked(snapshot, bindings, trial.free())) return;
    for (const JobIndex index : snapshot.waiting) {
      if (bindings.of.contains(snapshot.job(index).request.id)) plan.defer(index, ReasonCode::gang_incomplete);
    }
    if (timeout_.us > 0 && !due) plan.wake_at(bindings.deadlocked + timeout_);
  }

  JobIndex youngest_holder(const Snapshot& snapshot, const Bindings& bindings) const {
    JobIndex youngest;
    for (const auto& [id, gpus] : bindings.of) {
      const JobIndex index = waiting_.at(id.value);
      if (!youngest.valid() || submitted_before(snapshot.job(youngest), snapshot.job(index))) youngest = index;
    }
    return youngest;
  }

  // A job with fewer pods than it asks for may need more CPU and memory than its pods hold.
  static bool has_resources(const JobRequest& request, const Allocation& gpus, const FreeGpus& free) {
    bool has = true;
    for_each_share(gpus, request, [&](const ServerGpus& part, ResourceVector needed) {
      needed -= of_pods(request, part.gpus.count());
      has = has && free.fits(part.server, needed);
    });
    return has;
  }

  static bool may_start(const JobRequest& request, const Allocation& gpus, const FreeGpus& free) {
    return has_enough_pods(request, gpus.count()) && has_resources(request, gpus, free);
  }

  void start(const Snapshot& snapshot, Bindings& bindings, Trial& trial, Plan& plan) const {
    std::erase_if(bindings.of, [&](const auto& binding) {
      const JobIndex index = waiting_.at(binding.first.value);
      const Job& job = snapshot.job(index);
      const JobRequest& request = job.request;
      const Allocation& gpus = binding.second;
      if (!may_start(request, gpus, trial.free())) return false;
      const std::size_t bound = trial.mark();
      give(gpus, request, trial);
      // A frozen job continues on its own GPUs, wherever its pods were bound.
      const auto place_of =
          is_frozen(job) ? place(trial.free(), snapshot.servers, job, gpus.count()) : std::optional(gpus);
      if (!place_of) return trial.rewind(bound), false;
      trial.take(*place_of, request);
      plan.start(index, *place_of);
      return true;
    });
  }

  Duration timeout_;
  boost::unordered_flat_map<std::int64_t, JobIndex> waiting_;  // by id
  std::optional<std::uint64_t> seed_;   // that pods_ are ordered with; nothing: they are out of date
  std::vector<Pod> pods_;               // in order: of equal priority and submission by sequence, whatever their jobs
  std::vector<JobIndex> arrived_;       // jobs whose pods are not in pods_ yet
  std::size_t gone_ = 0;                // pods in pods_ whose jobs no longer wait
  IndexedVector<JobIndex, int> first_;  // in a decision, by job: the first number of a pod that may be bound
  std::vector<JobIndex> counted_;       // jobs for which first_ may not be 0
  Shapes shapes_;
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
                      "after this long in a deadlock the youngest job gives up its workers; 0: never"}};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<DefaultPods>(Duration::seconds(given.number("deadlock_timeout_s")));
          }};
}

}  // namespace sl
