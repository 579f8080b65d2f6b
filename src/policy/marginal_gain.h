// The loop of Optimus and Coach (policies.md 10.4): one more worker or server at a time for the job that gains most
// from it, as long as it fits.
#pragma once

#include <functional>
#include <vector>

namespace sl {

struct Trainee {
  int workers = 1, servers = 1;  // what the job has; the loop adds to it
  int workers_max = 1, servers_max = 1;
  double worker_share = 1, server_share = 0;    // cost of each, as a share of all there is to give
  std::function<double(int, int)> value;        // value of w workers and p servers; the gain is its increase
  std::function<bool(int, int)> is_affordable;  // empty: always
};

// Whether the job could have so large a share more, and then takes it. Once it could not, it never can again.
using TakeShare = std::function<bool(std::size_t job, double share)>;
// Gives out shares. Gains are per share taken (a share of 0 counts as it is). A gain of at most 1e-12 counts as
// none. Ties: the earlier job; within a job the worker, or the server if `prefers_server`.
void share_by_marginal_gain(std::vector<Trainee>& jobs, const TakeShare& take, bool per_share, bool prefers_server);

}  // namespace sl
