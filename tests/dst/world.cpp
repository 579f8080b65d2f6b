#include "dst/world.h"

#include "dst/server_node.h"

namespace sl::dst {
namespace {

constexpr double stormy_s = 240;  // faults happen this long, then everything heals
constexpr double patience_s = 4 * 3600;

class World {
 public:
  World(std::uint64_t seed, Plant plant, bool keep_history)
      : context_(seed), network_(context_), controller_(context_, network_) {
    context_.plant = plant;
    context_.keep_history = keep_history;
    const auto servers = static_cast<int>(context_.random.integer(1, 4));
    for (int i = 0; i < servers; ++i)
      servers_.push_back(std::make_unique<ServerNode>(context_, network_, controller_, i, 4));
  }

  Outcome run() {
    Outcome outcome;
    try {
      controller_.boot();
      for (auto& server : servers_) server->boot();
      plan_clients();
      plan_faults();
      play();
    } catch (const Violation& violation) {
      outcome.violation = violation.what();
    }
    outcome.events = context_.heap.count();
    outcome.jobs = context_.judge.accepted_count();
    outcome.history = std::move(context_.history);
    return outcome;
  }

 private:
  Instant at(double seconds) const { return Instant::at_seconds(1'000'000 + seconds); }

  void play() {
    const Instant heals = at(stormy_s), end = at(patience_s);
    context_.heap.at(heals, [this] {
      context_.note("world", "heals");
      context_.calm = true;
    });
    while (context_.heap.step()) {
      if (!context_.calm) continue;
      if (is_over()) return context_.judge.check_ends(controller_.durable_jobs());
      if (context_.heap.now() > end) throw Violation(why_not_over());
    }
  }

  bool is_over() {
    if (context_.judge.accepted_count() < submissions_ || !controller_.is_quiet()) return false;
    for (const auto& server : servers_) {
      if (!server->is_quiet()) return false;
    }
    return context_.judge.all_ended(controller_.durable_jobs());
  }

  std::string why_not_over() {
    std::string why = fmt::format("after {} h of peace it is not over:", patience_s / 3600);
    if (context_.judge.accepted_count() < submissions_) why += " submissions are not accepted;";
    for (const auto& [id, row] : controller_.durable_jobs()) {
      if (!row.finished_us) why += fmt::format(" job {} {} attempt {} {};", id, row.state, row.attempt, row.server);
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (!servers_[i]->is_quiet()) why += fmt::format(" server {} {};", i, servers_[i]->why_not_quiet());
    }
    return why;
  }

  // ---- what people do ----
  wire::JobSpec draw_job() {
    Random& random = context_.random;
    wire::JobSpec job;
    const int code = random.chance(0.8) ? 0 : random.chance(0.3) ? 75 : 3;
    const double seconds = random.chance(0.3) ? random.uniform(0, 0.5) : random.exponential(25);
    // Exit 75 asks to run again: then it must not do so for ever.
    job.command = std::vector<std::string>{fmt::format("{:.3f}", seconds), std::to_string(code == 75 ? 3 : code)};
    job.name = "job";
    job.user = "u";
    job.workdir = "/";
    const auto gpus = static_cast<int>(random.integer(1, 4));
    job.gpus = {gpus, gpus};
    job.priority = static_cast<int>(random.integer(0, 3));
    if (random.chance(0.5)) job.on_partition = "stop";
    if (random.chance(0.6)) job.checkpoint.dir = "c";
    job.checkpoint.grace_s = random.uniform(1, 10);
    if (random.chance(0.5)) job.estimate_s = std::max(0.1, seconds);
    if (random.chance(0.1)) job.time_limit_s = random.uniform(1, 60);
    if (random.chance(0.3)) job.retry.max = 1;
    return job;
  }

  void plan_clients() {
    Random& random = context_.random;
    submissions_ = static_cast<std::size_t>(random.integer(5, 30));
    for (std::size_t i = 0; i < submissions_; ++i)
      context_.heap.at(at(random.uniform(0, stormy_s * 0.8)),
                       [this, i] { controller_.submit(fmt::format("submission-{}", i), draw_job()); });
    for (std::int64_t i = random.integer(0, 6); i > 0; --i)
      context_.heap.at(at(random.uniform(0, stormy_s)), [this] { controller_.cancel_some(); });
    for (std::int64_t i = random.integer(0, 4); i > 0; --i) {
      static const std::vector<std::string> names = {"fifo", "srtf",    "tiresias", "priority",   "round_robin",
                                                     "edf",  "fifo.py", "srtf.py",  "tiresias.py"};
      context_.heap.at(
          at(random.uniform(0, stormy_s)),
          [this, name = names[static_cast<std::size_t>(random.integer(0, 8))]] { controller_.switch_policy(name); });
    }
  }

  // ---- what goes wrong ----
  ServerNode& any_server() {
    return *servers_[static_cast<std::size_t>(
        context_.random.integer(0, static_cast<std::int64_t>(servers_.size()) - 1))];
  }
  int any_number() {
    return static_cast<int>(context_.random.integer(0, static_cast<std::int64_t>(servers_.size()) - 1));
  }

  void often(bool enabled, double mean_s, std::function<void()> what) {
    if (!enabled) return;
    for (double t = context_.random.exponential(mean_s); t < stormy_s; t += context_.random.exponential(mean_s))
      context_.heap.at(at(t), what);
  }

  void plan_faults() {
    const Faults& faults = context_.faults;
    often(faults.partitions, 60, [this] {
      const int server = any_number();
      const Duration time = context_.between(1, 100);
      context_.note("world", "server {} is cut off for {:.1f} s", server, time.to_seconds());
      network_.cut(server, time);
    });
    often(faults.kills, 60, [this] {
      switch (context_.random.integer(0, 2)) {
        case 0:
          return controller_.node().die();
        case 1:
          return any_server().kill_agent();
        default:
          return any_server().kill_launcher();
      }
    });
    often(faults.freezes, 60, [this] {
      const Duration time = context_.between(1, 60);
      context_.note("world", "freezes something");
      switch (context_.random.integer(0, 2)) {
        case 0:
          return controller_.node().freeze(time);
        case 1:
          return any_server().freeze_agent(time);
        default:
          // Frozen it cannot keep a lease: no longer than the controller's margin allows.
          return any_server().freeze_launcher(context_.between(0.1, 4));
      }
    });
    often(faults.power_cuts, 120, [this] { any_server().cut_power(); });
    often(faults.full_disks, 60, [this] { controller_.fill_disk(context_.between(0.1, 20)); });
  }

  Context context_;
  Network network_;
  ControllerNode controller_;
  std::vector<std::unique_ptr<ServerNode>> servers_;
  std::size_t submissions_ = 0;
};

}  // namespace

Outcome run_history(std::uint64_t seed, Plant plant, bool keep_history) {
  return World(seed, plant, keep_history).run();
}

}  // namespace sl::dst
