// The one list of experiments.
#pragma once

#include <vector>

#include "reproduce/experiment.h"

namespace sl::reproduce {

// In the order of the report.
const std::vector<Experiment>& experiments();

// Error "unknown-experiment", listing all experiments.
Result<const Experiment*> find_experiment(const std::string& name);

// One function per experiment; their files say more.
Experiment tetris_vs_fifo();
Experiment gandiva_ring();
Experiment gang_vs_default();
Experiment lyapunov_groups();
Experiment schedulearn_speedup();
Experiment schedulearn_scalability();
Experiment schedulearn_submission();
Experiment schedulearn_turnaround();
Experiment schedulearn_resnet();
Experiment schedulearn_utilization();
Experiment philly();

}  // namespace sl::reproduce
