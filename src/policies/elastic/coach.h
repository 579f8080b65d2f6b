// Coach (policies.md 10.4): each GPU goes to the training whose progress it speeds up most, within the job's budget.
//
// clang-format off
//   1 in order (submission, id) every job gets its minimum, as far as the GPUs suffice
//   2 repeatedly, one more GPU goes to the job with the largest gain f(g+1) - f(g); f is progress per second, from the
//     quadratic utility fitted to its speeds, else from speedup and length. A job whose loss has met its target in
//     three consecutive epochs gains nothing from more
//   3 with `at_epoch_ends` a training that reports its epochs changes its number of GPUs only when one has ended, unless
//     none has for `epoch_wait_max_s`. Not the default: it loses 4 to 9 % (docs/guide/policies.md), and what stops at a
//     checkpoint need not wait
//   4 with `probes` a running training about whose speed nothing is known but its own reports is first tried on more GPUs, up to
//     so many numbers of them between its minimum and its maximum, each until it has reported a speed there; a probe may
//     begin in the middle of an epoch. Fewer are not tried: that would only slow it down
//   5 a job with a budget grows only while its remaining cost, GPUs * time left * `gpu_price`, stays within the rest of
//     the budget; its GPU time so far is already spent. A job with nothing left is stopped at a checkpoint and rejected
// clang-format on
//
// Only workers are scheduled: parameter servers hold no GPU, and their number is the one the job asked for. The defects
// of Coach itself are not copied: the gain is new minus old, spending is counted, and no job waits for the slowest
// job's tuning. Preemptive, elastic. Source: Coach thesis (S003).
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry coach_entry();

}  // namespace sl
