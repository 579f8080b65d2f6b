#include "reproduce/interference.h"

#include <fmt/format.h>

namespace sl::reproduce {
namespace {

constexpr double efficiency_most = 2;

void may_share(trace::Trace& trace) {
  for (trace::TraceDetails& details : trace.details) details.gpu_share = 0.999;  // wants all of it, accepts neighbours
}

}  // namespace

Result<sim::Interference> fit_interference() {
  sim::Interference interference;
  double low = 1, high = efficiency_most;  // the faster they are together, the shorter the makespan
  for (int step = 0; step < 30; ++step) {
    interference.sharing_efficiency = (low + high) / 2;
    const auto simulated = simulate_all({three_resnets("fifo", interference)});
    if (!simulated.ok()) return simulated.error();
    (simulated->front().metrics.makespan_s > resnets_fifo_makespan_s ? low : high) = interference.sharing_efficiency;
  }
  return interference;
}

std::string fitted_text(const sim::Interference& fitted) {
  return fmt::format(
      "Fitted, to the FIFO makespan of the ResNet table: trainings on the same GPUs together reach {:.3f} times the "
      "speed of "
      "one alone.",
      fitted.sharing_efficiency);
}

sim::Cluster thesis_cluster(const sim::Interference& interference) {
  sim::Cluster cluster = sim::Cluster::uniform(3, 4);
  cluster.interference = interference;
  return cluster;
}

Scenario with_sharing_fifo(Scenario scenario) {
  scenario.policy = "fifo";
  scenario.parameters = {{"preset", "seed"}};
  scenario.adapt = may_share;
  return scenario;
}

Scenario three_resnets(const std::string& policy, const sim::Interference& interference) {
  Scenario scenario{"thesis/resnet-3:gpus=3", thesis_cluster(interference), policy};
  return policy == "fifo" ? with_sharing_fifo(std::move(scenario)) : scenario;
}

}  // namespace sl::reproduce
