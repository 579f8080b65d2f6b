// Tetris (policies.md 7): packs jobs whose demand has the shape of what a server has left.
//
//   1 on each server, the free amounts (a) and a job's demand (q) are fractions of its capacity, in GPUs, CPUs, memory,
//     disk and network, as far as the server states them
//   2 alignment: `dot` sums a*q; `cosine` divides that by the lengths of both, so that only the shape counts
//   3 `node_major`: each server in turn takes the job with the best score that fits, repeatedly; `task_major`: each job
//     in turn goes to the server with the best alignment
//   4 with `srtf_weight` m the score is alignment - eps * p: p is the job's remaining time multiplied by its demand,
//     and eps = m * mean alignment / mean p over the candidates, which are the first job of each shape that fits
//
// Alignment must be above 0. Ties: node-major (submission, id), task-major the lowest server. A job too wide for any
// server is placed over as few as possible, after the others. The paper's fairness and barrier knobs have no meaning
// here, where a job is one task. Non-preemptive, rigid. Source: Grandl et al., SIGCOMM 2014.
#pragma once

#include <array>

#include "policy/policy.h"

namespace sl {

using PackingVector = std::array<double, resource_count + 1>;  // GPUs first; fractions of a server's capacity

double dot_alignment(const PackingVector& available, const PackingVector& demand);
double cosine_alignment(const PackingVector& available, const PackingVector& demand);

struct PackingCandidate {
  double alignment = 0;
  double remaining = 0;  // p
};
// The score alignment - eps * p of each candidate.
std::vector<double> packing_scores(const std::vector<PackingCandidate>& candidates, double srtf_weight);

PolicyEntry tetris_entry();

}  // namespace sl
