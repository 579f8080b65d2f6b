#include "sim/unfinished.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "policy/satisfiable.h"
#include "sim/trainings.h"

namespace sl::sim {

std::string first_unfinished(const Core& core, const trace::Trace& trace) {
  std::vector<JobIndex> left(core.aside());
  left.insert(left.end(), core.waiting().begin(), core.waiting().end());
  std::ranges::sort(left, [&](JobIndex a, JobIndex b) { return submitted_before(core.job(a), core.job(b)); });
  for (const JobIndex index : left) {
    const JobRequest& request = core.job(index).request;
    const int gpus = core.gpus_least(index);
    const std::string_view id = trace.jobs[index_of(request.id)].id();
    if (const Verdict ever = could_ever_run(core.servers(), request, gpus); !ever.possible())
      return fmt::format("{}: under this policy it {}", id, lack_text(ever));
    if (const auto awaited = awaited_servers(core.servers(), request, gpus); !awaited.empty())
      return fmt::format("{}: it waits for a lost server, {}", id, core.servers()[awaited.front()].description.name);
  }
  return {};
}

}  // namespace sl::sim
