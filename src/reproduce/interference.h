// How trainings that share GPUs slow each other down in the Schedulearn thesis: one number, fitted to one published
// figure, the makespan of three ResNets under FIFO. Everything else the experiments print is predicted.
//
// A second number, how much neighbours on other GPUs of a server slow a training down, would need another published
// figure. The only candidate, 560.5 s for 30 mixed trainings under FIFO, is already met without any slowdown, so there
// is none.
#pragma once

#include <string>

#include "base/result.h"
#include "reproduce/simulations.h"

namespace sl::reproduce {

inline constexpr double resnets_fifo_makespan_s = 574.5;  // Schedulearn thesis, ResNet table

// The value that comes nearest to that figure, by bisection; always the same.
Result<sim::Interference> fit_interference();

// A sentence that says what was fitted to what.
std::string fitted_text(const sim::Interference& fitted);

// The thesis's cluster: 3 servers of 4 GPUs.
sim::Cluster thesis_cluster(const sim::Interference& interference);

// The thesis's FIFO: a GPU counts as usable while its utilization is below 90 %, so trainings share GPUs. The simulator
// knows no utilization: here a GPU is usable if its last job started at least 15 s ago.
Scenario with_sharing_fifo(Scenario scenario);

// The table's round-robin times are those of three GPUs per job.
Scenario three_resnets(const std::string& policy, const sim::Interference& interference);

}  // namespace sl::reproduce
