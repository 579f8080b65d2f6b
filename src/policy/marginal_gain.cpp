#include "policy/marginal_gain.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace sl {
namespace {

constexpr double no_gain = 1e-12;

struct Offer {
  double gain;
  std::size_t job;
  bool server;
  friend bool operator<(const Offer& a, const Offer& b) { return a.gain != b.gain ? a.gain < b.gain : a.job > b.job; }
};

}  // namespace

void share_by_marginal_gain(std::vector<Trainee>& jobs, const TakeShare& take, bool per_share, bool prefers_server) {
  struct Closed {
    bool worker = false, server = false;
  };
  std::vector<Closed> closed(jobs.size());
  std::priority_queue<Offer> offers;
  const auto gain = [&](const Trainee& job, bool server) {
    const int w = job.workers + (server ? 0 : 1), p = job.servers + (server ? 1 : 0);
    if (w > job.workers_max || p > job.servers_max || (job.is_affordable && !job.is_affordable(w, p))) return 0.0;
    const double more = job.value(w, p) - job.value(job.workers, job.servers);
    const double share = server ? job.server_share : job.worker_share;
    return std::isnan(more) ? 0.0 : per_share && share > 0 ? more / share : more;
  };
  const auto offer = [&](std::size_t i) {
    const double worker = closed[i].worker ? 0 : gain(jobs[i], false);
    const double server = closed[i].server ? 0 : gain(jobs[i], true);
    const bool takes_server = prefers_server ? server >= worker : server > worker;
    const double best = std::max(worker, server);
    if (best > no_gain) offers.push({best, i, takes_server});
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) offer(i);
  while (!offers.empty()) {
    const Offer best = offers.top();
    offers.pop();
    Trainee& job = jobs[best.job];
    const double share = best.server ? job.server_share : job.worker_share;
    if (take(best.job, share)) {
      ++(best.server ? job.servers : job.workers);
    } else {
      (best.server ? closed[best.job].server : closed[best.job].worker) = true;  // the other kind may still fit
    }
    offer(best.job);
  }
}

}  // namespace sl
