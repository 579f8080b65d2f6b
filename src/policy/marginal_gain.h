// The loop of Optimus and Coach (policies.md 10.4): again and again one more worker or server for the job that gains
// most by it, as long as it fits.
#pragma once

#include <functional>
#include <vector>

namespace sl {

struct Trainee {
  int workers = 1, servers = 1;  // what it has; the loop adds
  int workers_max = 1, servers_max = 1;
  double worker_share = 1, server_share = 0;    // of what there is to give, each
  std::function<double(int, int)> value;        // of so many workers and servers; the gain is its growth
  std::function<bool(int, int)> is_affordable;  // empty: always
};

// Gives out `left` shares. Gains are per share taken (a share of 0 counts as it is). A gain of no more than 1e-12 is
// none. Ties: the earlier job; within a job the worker, or the server if `prefers_server`.
void share_by_marginal_gain(std::vector<Trainee>& jobs, double left, bool per_share, bool prefers_server);

}  // namespace sl
