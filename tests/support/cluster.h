// A cluster for tests: a core under an engine, servers that obey at once, and every invariant checked after each step.
//
//   Cluster cluster({4, 4}, "fifo");
//   cluster.submit(1, gpus(3));
//   cluster.at(5).finish(1);
//   EXPECT_EQ(cluster.where(1), "0:0,1,2");
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "policies/registry.h"

namespace sl::test {

inline JobRequest gpus(int count) {
  JobRequest request;
  request.gpus = request.gpus_min = request.gpus_max = count;
  return request;
}

inline JobRequest after(JobRequest request, std::vector<std::int64_t> succeeded, std::vector<std::int64_t> ended = {}) {
  auto prerequisites = std::make_shared<Prerequisites>();
  for (const std::int64_t id : succeeded) prerequisites->after.push_back(JobId(id));
  for (const std::int64_t id : ended) prerequisites->after_any.push_back(JobId(id));
  request.prerequisites = std::move(prerequisites);
  return request;
}

// A job that can be stopped at a checkpoint, moved and resized.
inline JobRequest elastic(int min, int max) {
  JobRequest request = gpus(max);
  request.gpus_min = min;
  request.capability = Capability::checkpoint;
  return request;
}

// A job whose processes can be frozen, and nothing else.
inline JobRequest freezable(int count) {
  JobRequest request = gpus(count);
  request.capability = Capability::freeze;
  request.freezable = true;
  return request;
}

// The names of all policies, for tests that cover each of them.
inline std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) names.push_back(entry.info.name);
  return names;
}

class Cluster : public Journal, public Fleet {
 public:
  Cluster(const std::vector<int>& gpus_per_server, std::unique_ptr<Policy> policy, CoreSettings settings = {})
      : core(estimates_, settings), engine(core, *this, *this) {
    for (std::size_t i = 0; i < gpus_per_server.size(); ++i) {
      ServerDescription server;
      server.name = std::to_string(i);
      server.gpus = gpus_per_server[i];
      engine.feed(ServerJoined{server}, now);
    }
    core.set_policy(std::move(policy), now, engine.effects());
    turn();
  }
  explicit Cluster(const std::vector<int>& gpus_per_server, const std::string& policy = "fifo",
                   const GivenParameters& parameters = {})
      : Cluster(gpus_per_server, make(policy, parameters)) {}

  static std::unique_ptr<Policy> make(const std::string& name, const GivenParameters& parameters = {}) {
    auto policy = make_policy(name, parameters);
    SL_CHECK(policy.ok(), "policies named by tests exist");
    return std::move(*policy);
  }

  // The servers, known again with memory on each GPU.
  Cluster& with_gpu_memory(std::int64_t bytes) {
    for (std::uint32_t i = 0; i < core.servers().size(); ++i) {
      ServerDescription server = core.servers()[ServerIndex(i)].description;
      server.gpu_memory_bytes = bytes;
      feed(ServerJoined{std::move(server)});
    }
    return *this;
  }
  Cluster& at(double seconds) {
    now = Instant::at_seconds(seconds);
    return *this;
  }
  Cluster& submit(std::int64_t id, JobRequest request) {
    request.id = JobId(id);
    request.submitted = now;
    return feed(JobSubmitted{std::move(request)});
  }
  // A group whose members have the numbers after its own.
  Cluster& submit_group(std::int64_t id, std::int64_t members, JobRequest request, int max_running = 0) {
    request.id = JobId(id);
    request.submitted = now;
    return feed(JobSubmitted{std::move(request), false, members, max_running});
  }
  Cluster& finish(std::int64_t id, int exit_code = 0) {
    const FailureKind failure = exit_code == 0 ? FailureKind::none : FailureKind::exit;
    return feed(AttemptExited{JobId(id), job(id).attempt, {failure, exit_code}});
  }
  Cluster& feed(Event event) {
    engine.feed(std::move(event), now);
    return turn();
  }
  Cluster& use(const std::string& policy, const GivenParameters& parameters = {}) {
    core.set_policy(make(policy, parameters), now, engine.effects());
    return turn();
  }
  // Decides, and lets the servers obey until nothing more happens.
  Cluster& turn() {
    engine.turn(now);
    while (obeys && !orders_.empty()) {
      const std::vector<Command> orders = std::exchange(orders_, {});
      for (const Command& order : orders) obey(order);
      engine.turn(now);
    }
    core.check_invariants();
    return *this;
  }

  bool has(std::int64_t id) const { return core.find(JobId(id)).valid(); }
  const Job& job(std::int64_t id) const {
    SL_CHECK(has(id), "jobs that tests ask for exist");
    return core.job(core.find(JobId(id)));
  }
  JobState state(std::int64_t id) const { return job(id).state; }
  // "0:1,3" for GPUs 1 and 3 of server 0; empty if it holds none.
  std::string where(std::int64_t id) const {
    std::string text;
    for (const ServerGpus& part : job(id).allocation.parts()) {
      text += (text.empty() ? "" : " ") + std::to_string(part.server.value) + ":";
      std::string list;
      part.gpus.for_each([&](int gpu) { list += (list.empty() ? "" : ",") + std::to_string(gpu); });
      text += list;
    }
    return text;
  }

  // ---- Journal, Fleet ----
  bool append(const Core&, const std::vector<Record>& written, BatchNumber) override {
    records.insert(records.end(), written.begin(), written.end());
    return true;
  }
  void carry_out(const Core&, std::vector<Command>& commands) override {
    sent.insert(sent.end(), commands.begin(), commands.end());
    orders_.insert(orders_.end(), commands.begin(), commands.end());
  }

  Instant now = Instant::at_seconds(0);
  bool obeys = true;           // false: commands pile up in `sent` and are not answered
  bool stops_to_move = false;  // an attempt that moves is stopped, and the next one started
  std::vector<Record> records;
  std::vector<Command> sent;

 private:
  void obey(const Command& order) {
    switch (order.kind) {
      case CommandKind::migrate:
      case CommandKind::resize:
        if (stops_to_move) return engine.feed(AttemptReleased{order.job, order.attempt}, now);
        [[fallthrough]];
      case CommandKind::start:
      case CommandKind::resume:
        return engine.feed(AttemptStarted{order.job, order.attempt}, now);
      case CommandKind::suspend:
        return engine.feed(AttemptSuspended{order.job, order.attempt}, now);
      case CommandKind::stop:
        if (order.why == StopReason::preempted) return engine.feed(AttemptReleased{order.job, order.attempt}, now);
        return engine.feed(
            AttemptExited{order.job,
                          order.attempt,
                          {order.why == StopReason::time_limit ? FailureKind::time_limit : FailureKind::signal, 0, 15}},
            now);
    }
  }

  RequestEstimates estimates_;
  std::vector<Command> orders_;

 public:
  Core core;
  Engine engine;
};

}  // namespace sl::test
