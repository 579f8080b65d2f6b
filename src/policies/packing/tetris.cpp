#include "policies/packing/tetris.h"

#include <algorithm>
#include <cmath>

#include "policy/guessed_jobs.h"
#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/rank.h"
#include "policy/satisfiable.h"

namespace sl {

double dot_alignment(const PackingVector& available, const PackingVector& demand) {
  double sum = 0;
  for (std::size_t d = 0; d < available.size(); ++d) sum += available[d] * demand[d];
  return sum;
}

double cosine_alignment(const PackingVector& available, const PackingVector& demand) {
  const double lengths = std::sqrt(dot_alignment(available, available)) * std::sqrt(dot_alignment(demand, demand));
  return lengths > 0 ? dot_alignment(available, demand) / lengths : 0;
}

std::vector<double> packing_scores(const std::vector<PackingCandidate>& candidates, double srtf_weight) {
  double alignment = 0, remaining = 0;
  for (const PackingCandidate& candidate : candidates) {
    alignment += candidate.alignment;
    remaining += candidate.remaining;
  }
  const double eps = remaining > 0 ? srtf_weight * alignment / remaining : 0;
  std::vector<double> scores;
  for (const PackingCandidate& candidate : candidates)
    scores.push_back(candidate.alignment - eps * candidate.remaining);
  return scores;
}

namespace {

struct TetrisSettings {
  bool cosine = false;
  bool task_major = false;
  double srtf_weight = 1;
  Duration default_estimate;
};

constexpr double equal_scores = 1e-12;  // rounding

class Tetris : public QueuePolicy<RankKey> {
 public:
  explicit Tetris(const TetrisSettings& settings) : settings_(settings), run_times_(settings.default_estimate) {}

  void attach(const Snapshot& snapshot) override {
    run_times_.reset();
    guessed_.attach(snapshot);
    QueuePolicy::attach(snapshot);
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    guessed_.notice(snapshot, kind, job);
    QueuePolicy::notice(snapshot, kind, job);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (uses_times()) rekey(snapshot, guessed_.changed(snapshot, run_times_));
    if (snapshot.free.total() == 0) return;
    Trial trial(snapshot.free);
    if (settings_.task_major) {
      task_major(snapshot, trial, plan);
    } else {
      node_major(snapshot, trial, plan);
    }
  }

 protected:
  RankKey key_of(const Snapshot& snapshot, const Job& job) override {
    Rank rank;
    if (uses_times()) rank.minor = run_times_.remaining(snapshot, job, job.request.gpus).us;
    return RankKey::of(rank, job);
  }

 private:
  using View = WaitingLines<RankKey>::View;

  bool uses_times() const { return settings_.srtf_weight > 0 && !settings_.task_major; }

  double alignment(const Snapshot& snapshot, const FreeGpus& free, ServerIndex server, const Shape& shape) const {
    PackingVector available, demand;
    parts_of(snapshot, free, server, shape, available, demand);
    return settings_.cosine ? cosine_alignment(available, demand) : dot_alignment(available, demand);
  }

  static void parts_of(const Snapshot& snapshot, const FreeGpus& free, ServerIndex server, const Shape& shape,
                       PackingVector& available, PackingVector& demand) {
    const ServerDescription& has = snapshot.servers[server].description;
    available.fill(0);
    demand.fill(0);
    available[0] = static_cast<double>(free.count(server)) / has.gpus;
    demand[0] = static_cast<double>(shape.gpus) / has.gpus;
    for (std::size_t d = 0; d < resource_count; ++d) {
      if (has.capacity.amount[d] <= 0) continue;
      available[d + 1] = std::max(0.0, free.resources(server).amount[d]) / has.capacity.amount[d];
      demand[d + 1] = shape.demand.amount[d] / has.capacity.amount[d];
    }
  }

  static bool fits(const Snapshot& snapshot, const FreeGpus& free, ServerIndex server, const Shape& shape) {
    const Server& at = snapshot.servers[server];
    const bool has_memory =  // a frozen job's own is there
        !shape.frozen_on.empty() || roomy(at, free.on(server), shape.gpu_memory_bytes).count() >= shape.gpus;
    return free.count(server) >= shape.gpus && free.fits(server, shape.demand) && has_memory &&
           is_eligible(at, shape.gpu_types, shape.gpu_memory_bytes, shape.needs_containers, shape.servers_chosen);
  }

  // On a server where a job of its shape fits; a frozen one may be bound to other GPUs.
  static std::optional<Allocation> place_there(const Snapshot& snapshot, const FreeGpus& free, const Job& job,
                                               ServerIndex server) {
    if (!is_frozen(job)) {
      const GpuSet there = free_for(free, snapshot.servers, job.request, server);
      return Allocation(server, lowest(snapshot.servers[server], there, job.request.gpus));
    }
    auto gpus = place(free, snapshot.servers, job, job.request.gpus);
    if (gpus && gpus->on(server).empty()) gpus.reset();
    return gpus;
  }

  static void start(const Snapshot& snapshot, JobIndex job, Allocation gpus, Trial& trial, Plan& plan) {
    trial.take(gpus, snapshot.job(job).request);
    plan.start(job, std::move(gpus));
  }

  void node_major(const Snapshot& snapshot, Trial& trial, Plan& plan) const {
    std::vector<View> lines = lines_.views();
    for (std::uint32_t s = 0; s < trial.free().servers() && trial.free().total() > 0; ++s) {
      const ServerIndex server(s);
      if (!trial.free().is_open(server)) continue;
      while (trial.free().count(server) > 0 && start_best_on(snapshot, server, lines, trial, plan)) continue;
    }
    start_wide(snapshot, lines, trial, plan);
  }

  // Jobs that need several servers, in order of rank: that of the lines depends on what came before.
  static void start_wide(const Snapshot& snapshot, std::vector<View>& lines, Trial& trial, Plan& plan) {
    std::vector<View*> wide;
    for (View& line : lines) {
      if (!line.done() && !waits_for_one(snapshot, snapshot.job(line.at->job).request)) wide.push_back(&line);
    }
    const auto goes_later = [](const View* a, const View* b) { return b->at->key < a->at->key; };
    std::ranges::make_heap(wide, goes_later);
    while (!wide.empty()) {
      std::ranges::pop_heap(wide, goes_later);
      View& line = *wide.back();
      const bool has_started = start_over_several(snapshot, line.at->job, trial, plan);
      if (has_started) ++line.at;
      if (has_started && !line.done()) {
        std::ranges::push_heap(wide, goes_later);
      } else {
        wide.pop_back();
      }
    }
  }

  bool start_best_on(const Snapshot& snapshot, ServerIndex server, std::vector<View>& lines, Trial& trial,
                     Plan& plan) const {
    std::vector<View*> of;
    for (View& line : lines) {
      if (line.done() || !fits(snapshot, trial.free(), server, lines_.shapes()[line.shape])) continue;
      const Job& first = snapshot.job(line.at->job);
      if (place_there(snapshot, trial.free(), first, server)) of.push_back(&line);
    }
    // In an order that depends on the jobs alone, because rounding makes sums of real numbers depend on the order.
    std::sort(of.begin(), of.end(), [](const View* a, const View* b) { return is_before(*a->at, *b->at); });
    std::vector<PackingCandidate> candidates;
    for (const View* line : of) {
      const Shape& shape = lines_.shapes()[line->shape];
      candidates.push_back(
          {alignment(snapshot, trial.free(), server, shape), remaining(snapshot, server, shape, *line->at)});
    }
    if (candidates.empty()) return false;
    const std::vector<double> scores = packing_scores(candidates, settings_.srtf_weight);
    std::size_t best = 0;
    for (std::size_t i = 1; i < scores.size(); ++i) {
      if (scores[i] > scores[best] + equal_scores) best = i;
    }
    if (candidates[best].alignment <= 0) return false;
    const JobIndex job = of[best]->at->job;
    ++of[best]->at;
    start(snapshot, job, *place_there(snapshot, trial.free(), snapshot.job(job), server), trial, plan);
    return true;
  }

  // p: the job's remaining time multiplied by its demand relative to this server.
  static double remaining(const Snapshot& snapshot, ServerIndex server, const Shape& shape,
                          const OrderedJobs<RankKey>::Entry& entry) {
    PackingVector available, demand;
    parts_of(snapshot, snapshot.free, server, shape, available, demand);
    double sum = 0;
    for (const double part : demand) sum += part;
    return static_cast<double>(entry.key.rank.minor) * 1e-6 * sum;
  }
  static bool is_before(const OrderedJobs<RankKey>::Entry& a, const OrderedJobs<RankKey>::Entry& b) {
    return std::tie(a.key.submitted, a.key.id) < std::tie(b.key.submitted, b.key.id);
  }

  // Jobs that need any GPUs alone are asked often.
  static bool waits_for_one(const Snapshot& snapshot, const JobRequest& request) {
    if (request.single_server()) return true;
    if (request.gpus > snapshot.free.gpus_per_server_max()) return false;
    const bool any_gpus_do = request.demand.is_zero() && request.takes_any_server();
    return any_gpus_do || could_be_on_one(snapshot.servers, request, request.gpus);
  }

  static bool start_over_several(const Snapshot& snapshot, JobIndex job, Trial& trial, Plan& plan) {
    const JobRequest& request = snapshot.job(job).request;
    if (waits_for_one(snapshot, request)) return false;
    auto gpus = place(trial.free(), snapshot.servers, snapshot.job(job), request.gpus);
    if (!gpus) return false;
    start(snapshot, job, std::move(*gpus), trial, plan);
    return true;
  }

  void task_major(const Snapshot& snapshot, Trial& trial, Plan& plan) const {
    for (Walk walk(lines_); !walk.done() && trial.free().total() > 0;) {
      const Shape& shape = lines_.shapes()[walk.shape()];
      const ServerIndex server = best_server(snapshot, trial.free(), shape);
      const Job& job = snapshot.job(walk.job());
      auto gpus = server.valid() ? place_there(snapshot, trial.free(), job, server) : std::nullopt;
      if (gpus) {
        start(snapshot, walk.job(), std::move(*gpus), trial, plan);
        walk.next();
      } else if (start_over_several(snapshot, walk.job(), trial, plan)) {
        walk.next();
      } else {
        walk.close_line();
      }
    }
  }

  ServerIndex best_server(const Snapshot& snapshot, const FreeGpus& free, const Shape& shape) const {
    ServerIndex best;
    double best_score = 0;
    for (std::uint32_t s = 0; s < free.servers(); ++s) {
      const ServerIndex server(s);
      if (!free.is_open(server) || !fits(snapshot, free, server, shape)) continue;
      const double score = alignment(snapshot, free, server, shape);
      if (score <= best_score) continue;
      best = server;
      best_score = score;
    }
    return best;
  }

  TetrisSettings settings_;
  RunTimes run_times_;
  GuessedJobs guessed_;
};

}  // namespace

PolicyEntry tetris_entry() {
  PolicyInfo info;
  info.name = "tetris";
  info.title = "Tetris";
  info.summary =
      "Packs several resources: each server takes the waiting job whose demand best matches what the server has left.";
  info.good_for = "jobs that differ in CPU, memory and network as well as in GPUs";
  info.weak_for = "fairness: jobs that pack badly wait";
  info.placement = "the server whose free resources have the shape of what it asks for";
  info.needs = {{Fact::demand, "only GPUs count"},
                {Fact::none, "the mean of finished jobs like them counts", "run time estimates, for srtf_weight"}};
  info.aliases = {"packing"};
  info.parameters = {
      {"score",
       ParameterType::choice,
       "",
       "dot",
       0,
       0,
       {"dot", "cosine"},
       "dot favours big jobs, cosine only the shape"},
      {"order",
       ParameterType::choice,
       "",
       "node_major",
       0,
       0,
       {"node_major", "task_major"},
       "each server chooses a job, or each job a server"},
      {"srtf_weight",
       ParameterType::number,
       "",
       "1",
       0,
       1000,
       {},
       "how much short jobs are preferred (node_major); 0: packing only"},
      {"default_est_s",
       ParameterType::number,
       "s",
       "300",
       1,
       1e9,
       {},
       "run time assumed for a job without an estimate if nothing like it has finished"},
  };
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Tetris>(
                TetrisSettings{given.text("score") == "cosine", given.text("order") == "task_major",
                               given.number("srtf_weight"), Duration::seconds(given.number("default_est_s"))});
          }};
}

}  // namespace sl
