// The live cluster as the place of an experiment: idle servers, trainings submitted one after the other, their times,
// and the original policy restored at the end, however the experiment ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/context.h"
#include "reproduce/live.h"

namespace sl::cli {

class LiveCluster {
 public:
  // Errors: "cluster-busy" (it has unfinished jobs), "no-servers", those of the controller.
  static Result<std::unique_ptr<LiveCluster>> open(const Context& context);
  ~LiveCluster();
  LiveCluster(const LiveCluster&) = delete;
  LiveCluster& operator=(const LiveCluster&) = delete;

  const std::vector<plot::HistoryServer>& servers() const { return servers_; }
  std::string description() const;

  // Nothing interrupts the trainings. Errors: "job-failed", "interrupted" (Ctrl-C; submitted jobs keep running), those
  // of the controller.
  Result<std::vector<reproduce::LiveJob>> run(wire::JobSpec training, const reproduce::LiveRun& run);

 private:
  LiveCluster(const Context& context, json::value policy) : context_(context), policy_before_(std::move(policy)) {}
  Status read_servers(const json::value& view);
  Status set_policy(const std::string& name);
  Result<std::vector<std::int64_t>> hand_in(const std::string& body, const reproduce::LiveRun& run);
  Result<reproduce::LiveJob> finished(std::int64_t id);
  std::vector<plot::GpuPiece> gpus_of(const json::value& job) const;

  const Context& context_;
  json::value policy_before_;
  std::string policy_;  // the policy set last; empty: none yet
  std::vector<plot::HistoryServer> servers_;
  int simulated_ = 0;  // number of simulated GPUs
};

}  // namespace sl::cli
