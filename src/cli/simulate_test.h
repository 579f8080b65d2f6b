// What the tests of simulations share: a small trace, what is printed of it, and policies as users write them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/simulate.h"
#include "policy/placer.h"

namespace sl::cli {

namespace fs = std::filesystem;

inline std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Experiments : public testing::Test {
 protected:
  Experiments() {
    fs::create_directories(folder_);
    std::ofstream trace(folder_ / "t.csv");
    trace << "job_id,submit_time_s,gpus,duration_s,user\n";
    for (int i = 0; i < 40; ++i)
      trace << i << ',' << i * 7 << ',' << 1 + i % 4 << ',' << 100 + (i * 37) % 400 << ",u" << i % 3 << '\n';
  }
  ~Experiments() override { fs::remove_all(folder_); }

  SimulationOptions options() const {
    SimulationOptions made;
    made.trace = (folder_ / "t.csv").string();
    made.servers = "2x4";
    return made;
  }
  // The printed text.
  std::string compared(const SimulationOptions& options) const {
    std::ostringstream out;
    const auto done = compare(options, out);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return out.str();
  }
  static Error refusal(const SimulationOptions& options) {
    std::ostringstream out;
    const auto done = compare(options, out);
    EXPECT_EQ(out.str(), "");
    return done.ok() ? Error{} : done.error();
  }
  static std::string code(const SimulationOptions& options) { return refusal(options).code; }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("experiments-" + std::to_string(::getpid()));
};

// "picky.py" serves nobody if the first job wants several GPUs, "narrow.py" only jobs of one GPU. "hasty.py" is asked
// again as soon as may be, "wrong.py" fails.
struct Picky : Policy {
  explicit Picky(const std::string& name)
      : hurries_(name == "hasty.py"), is_narrow_(name == "narrow.py"), is_wrong_(name == "wrong.py") {}
  std::optional<Error> failure() const override {
    return is_wrong_ ? std::optional(invalid("policy-failed", "line 3")) : std::nullopt;
  }
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (hurries_) plan.wake_at(snapshot.now + Duration{10});
    if (snapshot.waiting.empty()) return;
    if (first_gpus_ == 0) first_gpus_ = snapshot.job(snapshot.waiting.front()).request.gpus;
    Trial trial(snapshot.free);
    for (const JobIndex job : snapshot.waiting) {
      if (is_narrow_ && snapshot.job(job).request.gpus > 1) continue;
      if (first_gpus_ > 1 && !hurries_ && !is_narrow_) break;
      auto gpus = place(trial.free(), snapshot.servers, snapshot.job(job), snapshot.job(job).request.gpus);
      if (!gpus) break;
      trial.take(*gpus, snapshot.job(job).request);
      plan.start(job, std::move(*gpus));
    }
  }
  bool hurries_, is_narrow_, is_wrong_;
  int first_gpus_ = 0;
};
inline Result<PolicyEntry> read_picky(const std::string& path) {
  PolicyInfo info;
  info.name = path.substr(path.rfind('/') + 1);
  const std::string name = info.name;
  return PolicyEntry{std::move(info), [name](const Parameters&) { return std::make_unique<Picky>(name); }};
}

}  // namespace sl::cli
