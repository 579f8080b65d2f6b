#include "dst/world.h"

#include "dst/server_node.h"
#include "wire/json.h"

namespace sl::dst {
namespace {

constexpr double stormy_s = 240;  // faults happen for this long, then everything heals
constexpr double patience_s = 4 * 3600;
constexpr double endless_s = 1e8;

class World {
 public:
  World(std::uint64_t seed, Plant plant, bool keep_history)
      : context_(seed), network_(context_), controller_(context_, network_) {
    context_.plant = plant;
    context_.keep_history = keep_history;
    const auto servers = static_cast<int>(context_.random.integer(1, 4));
    for (int i = 0; i < servers; ++i)
      servers_.push_back(std::make_unique<ServerNode>(context_, network_, controller_, i, gpus_per_server));
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
      context_.calm_since = context_.heap.now();
      clean_up();
    });
    while (context_.heap.step()) {
      if (!context_.calm) continue;
      if (is_over()) return context_.judge.check_ends();
      if (context_.heap.now() > end) throw Violation(why_not_over());
    }
  }

  bool is_over() {
    if (context_.judge.accepted_count() < submissions_ || !controller_.is_quiet()) return false;
    for (const auto& server : servers_) {
      if (!server->is_quiet()) return false;
    }
    return context_.judge.all_ended();
  }

  std::string why_not_over() {
    std::string why = fmt::format("after {} h of peace it is not over:", patience_s / 3600);
    if (context_.judge.accepted_count() < submissions_) why += " submissions are not accepted;";
    if (!controller_.is_quiet()) why += " the controller " + controller_.why_not_quiet() + ";";
    for (const auto& [id, row] : controller_.durable_jobs()) {
      if (!row.finished_us) why += fmt::format(" job {} {} attempt {} {};", id, row.state, row.attempt, row.server);
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (!servers_[i]->is_quiet()) why += fmt::format(" server {} {};", i, servers_[i]->why_not_quiet());
    }
    return why;
  }

  // ---- what people do ----
  // How an attempt runs is in its command (server_node.cpp).
  wire::JobSpec draw_job() {
    Random& random = context_.random;
    wire::JobSpec job;
    const bool is_endless = random.chance(0.05);
    const double seconds = is_endless           ? endless_s
                           : random.chance(0.3) ? random.uniform(0, 0.5)
                                                : random.exponential(25);
    const int code = random.chance(0.8) ? 0 : 3;
    // Quick ones may ask for ever: they are told to stop. Long ones would never end.
    const auto again_until = random.chance(0.1) ? random.integer(1, seconds < 0.5 ? 15 : 3) : 0;
    if (random.chance(0.3)) job.image = "image:1";
    const char* kind = random.chance(0.04)                ? "missing"
                       : random.chance(0.2)               ? "trains"
                       : job.image && random.chance(0.05) ? "hungry"
                                                          : "plain";
    job.command = std::vector<std::string>{fmt::format("{:.3f}", seconds), std::to_string(code),
                                           std::to_string(again_until), kind};
    job.name = "job";
    job.user = fmt::format("user{}", random.integer(0, 3));
    job.workdir = "/";
    if (random.chance(0.25) && servers_.size() > 1 && !job.image) job.servers = 2;
    const auto gpus = static_cast<int>(random.integer(job.servers, gpus_per_server * job.servers));
    job.gpus = {random.chance(0.5) ? gpus : static_cast<int>(random.integer(1, gpus)), gpus};
    job.priority = static_cast<int>(random.integer(0, 3));
    if (random.chance(0.1)) job.hold = true;
    if (random.chance(0.5)) job.on_partition = "stop";
    if (random.chance(0.6)) job.checkpoint.dir = "c";
    if (random.chance(0.4) && job.servers == 1) job.freeze = true;
    if (random.chance(0.5) && job.servers == 1 && job.checkpoint.dir && !job.image) job.resize = "in_place";
    if (random.chance(0.3)) job.resources.gpu_memory_bytes = random.integer(1, 24) << 30;
    job.checkpoint.grace_s = random.uniform(1, 10);
    if (random.chance(0.5)) job.estimate_s = std::clamp(seconds, 0.1, 1000.0);
    if (random.chance(is_endless ? 0.5 : 0.1)) job.time_limit_s = random.uniform(1, 60);
    if (random.chance(0.4)) {
      static const std::vector<std::string> reasons = {"any", "server_lost", "exit", "exit:3", "signal", "setup"};
      job.retry.max = static_cast<int>(random.integer(1, 2));
      job.retry.on = {reasons[static_cast<std::size_t>(random.integer(0, 5))]};
    }
    if (random.chance(0.12)) {
      job.array = fmt::format("1-{}", random.integer(1, 7));
      job.max_running = static_cast<int>(random.integer(0, 3));
    }
    if (random.chance(0.15)) draw_prerequisites(job);
    if (random.chance(0.12)) take_gpus_from(job);
    return job;
  }
  void take_gpus_from(wire::JobSpec& job) {
    job.servers = 1, job.gpus = {0, 0};
    job.resize = "restart";
    job.resources.gpu_memory_bytes.reset();
    job.resources.cpus = static_cast<double>(context_.random.integer(1, 3));
  }
  void draw_prerequisites(wire::JobSpec& job) {
    Random& random = context_.random;
    const auto& known = controller_.durable_jobs();
    if (random.chance(0.3)) job.not_before = wire::time_text((context_.heap.now() + context_.between(0.1, 60)).us);
    for (std::int64_t i = known.empty() ? 0 : random.integer(0, 3); i > 0; --i) {
      const auto at = std::next(known.begin(), random.integer(0, static_cast<std::int64_t>(known.size()) - 1));
      (random.chance(0.6) ? job.after : job.after_any).push_back(at->first);
    }
  }

  void plan_clients() {
    Random& random = context_.random;
    submissions_ = static_cast<std::size_t>(random.integer(5, 30));
    for (std::size_t i = 0; i < submissions_; ++i)
      context_.heap.at(at(random.uniform(0, stormy_s * 0.8)),
                       [this, i] { controller_.submit(fmt::format("submission-{}", i), draw_job()); });
    const auto some = [&](std::int64_t most, auto what) {
      for (std::int64_t i = random.integer(0, most); i > 0; --i)
        context_.heap.at(at(random.uniform(0, stormy_s)), what);
    };
    some(6, [this] { controller_.cancel_some(); });
    some(6, [this] { controller_.reprioritise_some(); });
    some(12, [this] { controller_.intervene_in_some(); });
    some(4, [this] { controller_.release_held(true); });
    some(8, [this] { controller_.read_some_output(); });
    some(3, [this] { controller_.drain(any_number()); });
    some(2, [this] { controller_.undrain(any_number()); });
    some(4, [this] {
      static const std::vector<std::string> names = {"fifo",    "srtf",        "tiresias",     "priority",
                                                     "edf",     "round_robin", "elastic_fifo", "elastic_tiresias",
                                                     "fifo.py", "srtf.py",     "tiresias.py",  "restless.py"};
      const auto last = static_cast<std::int64_t>(names.size()) - 1;
      controller_.switch_policy(
          names[static_cast<std::size_t>(context_.chance(0.3) ? last : context_.random.integer(0, last))]);
    });
  }

  // In the end every job that a user holds is released, every endless one cancelled, and every server back in service.
  void clean_up() {
    controller_.release_held(false);
    for (const auto& server : servers_) controller_.undrain(server->number());
    for (const auto& [id, row] : controller_.durable_jobs()) {
      const auto spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore);
      if (!row.finished_us && std::stod(std::get<std::vector<std::string>>(spec->command).front()) >= endless_s)
        controller_.cancel(id);
    }
    context_.heap.after(Duration::whole_seconds(60), [this] { clean_up(); });
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
      switch (context_.random.integer(0, 3)) {
        case 0:
          return controller_.node().die();
        case 1:
          return any_server().kill_agent();
        case 2:
          return any_server().kill_both(context_.between(1, 100));
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
          // A frozen launcher cannot keep a lease: no longer than the controller's margin allows.
          return any_server().freeze_launcher(context_.between(0.1, 4));
      }
    });
    often(faults.power_cuts, 120, [this] {
      ServerNode& server = any_server();
      const Duration time = context_.between(10, 150);
      server.cut_power(time);
      // Now and then an admin says so: then it is true.
      if (context_.random.chance(0.5))
        context_.heap.after(context_.between(1, 9), [this, &server] { admin_gives_up(server); });
    });
    often(faults.missing_gpus, 60, [this] { any_server().lose_gpu(context_.between(1, 100)); });
    often(faults.engines, 30, [this] {
      Engine& engine = any_server().engine();
      switch (context_.random.integer(0, 2)) {
        case 0:
          return engine.restart(context_.between(0.1, 60));
        case 1:
          return engine.end_one();
        default:
          return engine.start_one();
      }
    });
    often(faults.full_servers, 60, [this] { any_server().fill_disk(context_.between(1, 100)); });
    often(faults.full_disks, 60, [this] { controller_.fill_disk(context_.between(0.1, 20)); });
  }

  // The controller refuses while it believes that the server is there.
  void admin_gives_up(ServerNode& server) {
    if (server.has_power()) return;
    controller_.declare_lost(server.number());
    context_.heap.after(context_.between(5, 20), [this, &server] { admin_gives_up(server); });
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
