// Times every policy's decisions at 2,048 GPUs with 10,000 jobs in the queue (README.md).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "policies/registry.h"

namespace sl {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int servers = 256, jobs = 10'000, steps = 300;
  std::string policy, json;
  bool check = false;
};

// Passes everything on and records how long decisions take.
class Timed : public Policy {
 public:
  Timed(std::unique_ptr<Policy> policy, std::vector<double>& ms) : policy_(std::move(policy)), ms_(ms) {}
  void attach(const Snapshot& snapshot) override { policy_->attach(snapshot); }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    policy_->notice(snapshot, kind, job);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    const auto before = Clock::now();
    policy_->decide(snapshot, plan);
    ms_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
  }

 private:
  std::unique_ptr<Policy> policy_;
  std::vector<double>& ms_;
};

// Servers that obey at once.
class World : private Journal, private Fleet {
 public:
  World(const Options& options, std::unique_ptr<Policy> policy)
      : core_(estimates_, {}), engine_(core_, *this, *this), random_(2048) {
    for (int s = 0; s < options.servers; ++s) {
      ServerDescription server;
      server.name = std::to_string(s);
      server.gpus = 8;
      server.gpu_memory_bytes = std::int64_t{80} << 30;
      server.capacity[Resource::cpu] = 96;
      engine_.feed(ServerJoined{server}, now_);
    }
    std::vector<double> speeds;
    for (int g = 1; g <= 8; ++g) speeds.push_back(g / (1 + 0.08 * (g - 1)));
    const auto model = std::make_shared<JobModel>();
    model->speed_curve = SpeedCurve(std::move(speeds));
    model_ = model;
    for (int j = 0; j < options.jobs + options.servers * 4; ++j) {
      now_ = now_ + Duration::milliseconds(100);
      submit();
    }
    core_.set_policy(std::move(policy), now_, engine_.effects());
    settle();
    while (static_cast<int>(core_.waiting().size()) < options.jobs) {
      submit();
      if (core_.waiting().size() % 512 == 0) settle();
    }
    settle();
  }

  // One job ends, one arrives, and the decision that is due follows.
  void step() {
    now_ = now_ + Duration::milliseconds(random_.integer(200, 3000));
    const auto active = core_.active();
    if (!active.empty()) {
      const Job& job =
          core_.job(active[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(active.size()) - 1))]);
      if (job.state == JobState::running) engine_.feed(AttemptExited{job.request.id, job.attempt, {}}, now_);
    }
    submit();
    settle();
  }
  std::size_t waiting() const { return core_.waiting().size(); }
  std::size_t active() const { return core_.active().size(); }

 private:
  void submit() {
    JobRequest request;
    request.id = JobId(next_id_++);
    request.submitted = now_;
    const double kind = random_.uniform();
    request.gpus = kind < 0.6 ? 1 : kind < 0.8 ? 2 : kind < 0.92 ? 4 : 8;
    const bool elastic = random_.chance(0.33);
    request.gpus_min = elastic ? std::max(1, request.gpus / 2) : request.gpus;
    request.gpus_max = elastic ? std::min(8, request.gpus * 2) : request.gpus;
    request.capability = random_.chance(0.8) ? Capability::checkpoint : Capability::none;
    request.shareable = random_.chance(0.1);
    request.gpu_memory_bytes = std::int64_t{random_.chance(0.5) ? 20 : 60} << 30;
    request.priority = static_cast<int>(random_.integer(0, 2));
    request.user = UserIndex(static_cast<std::uint32_t>(random_.integer(0, 49)));
    request.family = FamilyIndex(static_cast<std::uint32_t>(random_.integer(0, 199)));
    request.estimate = Duration::seconds(std::exp(random_.uniform(std::log(60.0), std::log(86400.0))));
    if (random_.chance(0.3)) request.deadline = now_ + *request.estimate + Duration::seconds(random_.uniform(0, 1e5));
    request.demand[Resource::cpu] = 8.0 * request.gpus;
    request.model = model_;
    engine_.feed(JobSubmitted{std::move(request)}, now_);
  }

  void settle() {
    engine_.turn(now_);
    while (!orders_.empty()) {
      const std::vector<Command> orders = std::exchange(orders_, {});
      for (const Command& order : orders) obey(order);
      engine_.turn(now_);
    }
  }

  void obey(const Command& order) {
    switch (order.kind) {
      case CommandKind::start:
      case CommandKind::resume:
      case CommandKind::migrate:
      case CommandKind::resize:
        return engine_.feed(AttemptStarted{order.job, order.attempt}, now_);
      case CommandKind::suspend:
        return engine_.feed(AttemptSuspended{order.job, order.attempt}, now_);
      case CommandKind::stop:
        return engine_.feed(AttemptReleased{order.job, order.attempt}, now_);
    }
  }

  bool append(const Core&, const std::vector<Record>&, BatchNumber) override { return true; }
  void carry_out(const Core&, std::vector<Command>& commands) override {
    orders_.insert(orders_.end(), commands.begin(), commands.end());
  }

  RequestEstimates estimates_;
  Core core_;
  Engine engine_;
  Random random_;
  Instant now_ = Instant::at_seconds(0);
  std::int64_t next_id_ = 1;
  std::shared_ptr<const JobModel> model_;
  std::vector<Command> orders_;
};

struct Line {
  std::string policy;
  std::size_t decisions = 0, waiting = 0, active = 0;
  double p50 = 0, p99 = 0, max = 0, limit = 10;
  bool ok() const { return p99 <= limit; }
};

double quantile(const std::vector<double>& sorted, double part) {
  return sorted.empty()
             ? 0
             : sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
}

Line measure(const std::string& name, const Options& options) {
  std::vector<double> ms;
  auto policy = make_policy(name);
  World world(options, std::make_unique<Timed>(std::move(*policy), ms));
  for (int step = 0; step < 20; ++step) world.step();
  ms.clear();
  for (int step = 0; step < options.steps; ++step) world.step();
  std::sort(ms.begin(), ms.end());
  Line line{name,
            ms.size(),
            world.waiting(),
            world.active(),
            quantile(ms, 0.5),
            quantile(ms, 0.99),
            ms.empty() ? 0 : ms.back()};
  for (const char* slow : {"max_min", "ffdl", "lyapunov", "gandiva"}) {
    if (name == slow) line.limit = 100;
  }
  return line;
}

void print(const Line& line) {
  std::printf("%-18s %9zu %8zu %8zu %9.3f %9.3f %9.3f  %s\n", line.policy.c_str(), line.decisions, line.waiting,
              line.active, line.p50, line.p99, line.max, line.ok() ? "" : "above its limit");
  std::fflush(stdout);
}

void write_json(const std::string& path, const Options& options, const std::vector<Line>& lines) {
  std::ofstream out(path);
  out << "{\"gpus\": " << options.servers * 8 << ", \"queued\": " << options.jobs << ", \"policies\": [";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    char text[256];
    std::snprintf(
        text, sizeof text,
        "%s\n  {\"policy\": \"%s\", \"decisions\": %zu, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"max_ms\": %.4f, "
        "\"limit_ms\": %.0f}",
        i == 0 ? "" : ",", line.policy.c_str(), line.decisions, line.p50, line.p99, line.max, line.limit);
    out << text;
  }
  out << "\n]}\n";
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--check") {
      options.check = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    int* number = word == "--steps"     ? &options.steps
                  : word == "--jobs"    ? &options.jobs
                  : word == "--servers" ? &options.servers
                                        : nullptr;
    if (number) {
      *number = std::atoi(value.c_str());
      if (*number <= 0) return false;
    } else if (word == "--policy" && find_policy(value)) {
      options.policy = find_policy(value)->info.name;
    } else if (word == "--json") {
      options.json = value;
    } else {
      return false;
    }
  }
  return true;
}

int run(const Options& options) {
  std::printf("%d GPUs on %d servers, %d jobs in the queue, %d steps\n", options.servers * 8, options.servers,
              options.jobs, options.steps);
  std::printf("%-18s %9s %8s %8s %9s %9s %9s\n", "policy", "decisions", "waiting", "active", "p50 ms", "p99 ms",
              "max ms");
  std::vector<Line> lines;
  for (const PolicyEntry& entry : policies()) {
    if (!options.policy.empty() && entry.info.name != options.policy) continue;
    lines.push_back(measure(entry.info.name, options));
    print(lines.back());
  }
  if (!options.json.empty()) write_json(options.json, options, lines);
  const bool all_ok = std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.ok(); });
  return options.check && !all_ok ? 1 : 0;
}

}  // namespace
}  // namespace sl

int main(int argc, char** argv) {
  sl::Options options;
  if (!sl::parse(argc, argv, options)) {
    std::fprintf(
        stderr, "usage: bench_policies [--policy NAME] [--steps N] [--jobs N] [--servers N] [--json FILE] [--check]\n");
    return 2;
  }
  return sl::run(options);
}
