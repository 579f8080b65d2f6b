// How trainings that share GPUs slow one another down in the Schedulearn thesis: one number, fitted to one published
// figure, the makespan of three ResNets under FIFO. Everything else the experiments print is predicted.
//
// A second number, how much neighbours on other GPUs of a server slow a training, would need a figure to be fitted to.
// The only candidate, 560.5 s for 30 mixed trainings under FIFO, is already met without any slowdown, so there is none.
#pragma once

#include <string>

#include "base/result.h"
#include "reproduce/simulations.h"

namespace sl::reproduce {

inline constexpr double resnets_fifo_makespan_s = 574.5;  // Schedulearn thesis, ResNet table

// What comes nearest to that figure, by bisection; the same every time.
Result<sim::Interference> fit_interference();

// What was fitted to what, as a sentence.
std::string fitted_text(const sim::Interference& fitted);

// The thesis's cluster: 3 servers of 4 GPUs.
sim::Cluster thesis_cluster(const sim::Interference& interference);

// The thesis's FIFO: a GPU counts as usable while its utilization is below 90 %, so that trainings share GPUs. The
// simulator knows no utilization: here every GPU is usable whose last job started at least 15 s ago.
Scenario with_sharing_fifo(Scenario scenario);

// The table's round-robin times are those of three GPUs a job.
Scenario three_resnets(const std::string& policy, const sim::Interference& interference);

}  // namespace sl::reproduce
