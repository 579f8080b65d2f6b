#include "policy/spread.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "policy/placer.h"

namespace sl {
namespace {

// How many servers the job needs if all are empty.
std::size_t fewest_servers(const ServerTable& servers, const JobRequest& request, int count) {
  std::vector<int> sizes;
  for (const Server& server : servers) {
    if (is_eligible(server, request)) sizes.push_back(server.description.gpus);
  }
  std::ranges::sort(sizes, std::greater());
  std::size_t needed = 0;
  while (needed < sizes.size() && count > 0) count -= sizes[needed++];
  return needed;
}

}  // namespace

std::optional<Allocation> place(const FreeGpus& free, const ServerTable& servers, const Job& job, int count,
                                Spread spread) {
  const JobRequest& request = job.request;
  if (request.single_server() || is_frozen(job) || spread == Spread::few) return place(free, servers, job, count);
  if (spread == Spread::any) return place_anywhere(free, servers, request, count);
  auto gpus = place_consolidated(free, servers, request, count);
  if (gpus && gpus->parts().size() > fewest_servers(servers, request, count)) gpus.reset();
  return gpus;
}

}  // namespace sl
