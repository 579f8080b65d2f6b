// Jobs whose policy does what a test says.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/cluster.h"

namespace sl::test {

// Starts waiting jobs on the first GPUs that fit, and additionally does what a test says.
class Scripted : public Policy {
 public:
  using Script = std::function<void(const Snapshot&, Plan&)>;
  explicit Scripted(Script& script) : script_(script) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    if (kind == NoticeKind::waiting) queued.push_back(snapshot.job(job).request.id.value);
    if (kind != NoticeKind::waiting && kind != NoticeKind::running)
      std::erase(queued, snapshot.job(job).request.id.value);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (script_) script_(snapshot, plan);
  }
  static inline std::vector<std::int64_t> queued;

 private:
  Script& script_;
};

struct Interruptions : testing::Test {
  Scripted::Script script;
  Cluster cluster{{4, 4}, std::make_unique<Scripted>(script)};

  void SetUp() override { Scripted::queued.clear(); }
  // One decision with this script, then none.
  void plan(Scripted::Script what) {
    script = std::move(what);
    cluster.feed(ServerDrained{"1", false});  // asks the policy
    script = nullptr;
  }
  JobIndex index(std::int64_t id) const { return cluster.core.find(JobId(id)); }
  static Allocation on(std::uint32_t server, GpuSet set) { return Allocation(ServerIndex(server), set); }
  void start(std::int64_t id, Allocation where) {
    plan([&](const Snapshot&, Plan& p) { p.start(index(id), where); });
  }
  // The servers, known again with so many CPUs each.
  void give_cpus(double cpus) {
    ServerDescription server;
    server.gpus = 4;
    server.capacity[Resource::cpu] = cpus;
    for (const char* name : {"0", "1"}) {
      server.name = name;
      cluster.feed(ServerJoined{server});
    }
  }
  // Job 1 on both GPUs that it may have, of server 0, with six of its eight CPUs.
  void start_with_six_cpus() {
    give_cpus(8);
    JobRequest request = elastic(1, 2);
    request.demand[Resource::cpu] = 6;
    cluster.submit(1, request);
    start(1, on(0, GpuSet::first(2)));
  }
  double cpus_used(std::uint32_t server) const {
    return cluster.core.servers()[ServerIndex(server)].used[Resource::cpu];
  }
};

}  // namespace sl::test
