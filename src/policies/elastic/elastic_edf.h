// Elastic EDF (policies.md 4.2): earliest deadline first; what that leaves unused speeds up jobs or lets others run on
// fewer GPUs. A job whose GPUs edf would not give it can always be shrunk or stopped for a job to which edf would give
// them, so the extension takes nothing from edf.
//
// clang-format off
//   1 order: jobs that can meet their deadline, by deadline; jobs without one, by submission; late ones, by deadline
//     (`late_mode`: reject rejects late ones that have never started)
//   2 in that order each job gets the GPUs it asks for as edf would give them: free ones, else those of less urgent
//     jobs. What a job has beyond the GPUs it asks for counts as free, and so does everything held by a job that runs
//     on fewer. A job that cannot be stopped does not start while one that could still meet its deadline waits, unless
//     it has a deadline to meet itself
//   3 a job that would miss its deadline on the GPUs it asks for gets the fewest that meet it, if they are free
//   4 jobs that got nothing run on fewer GPUs than they ask for: those that ran, on what is left of theirs; others on
//     the fewest that meet their deadline, or on their minimum
//   5 remaining GPUs: jobs keep what they had, then the rest goes one by one where the speed grows most, on the servers
//     of the job; ties: (class of rule 1, submission, id)
// clang-format on
//
// `resize_min_run_s` and `resize_min_rem_s` restrict only rules 4 and 5: GPUs for a deadline are taken at once.
// Preemptive, elastic. Sources: Liu and Layland 1973 for the order; Gu et al., ASPLOS 2023 (ElasticFlow) for rule 3,
// the smallest sufficient share.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry elastic_edf_entry();

}  // namespace sl
