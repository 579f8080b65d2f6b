#include "sim/unfinished.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "policy/satisfiable.h"
#include "sim/requests.h"
#include "sim/trainings.h"

namespace sl::sim {

namespace {

const char* interruption(CommandKind kind) {
  switch (kind) {
    case CommandKind::suspend:
      return "suspended";
    case CommandKind::migrate:
      return "moved";
    case CommandKind::resize:
      return "resized";
    case CommandKind::stop:
    case CommandKind::start:
    case CommandKind::resume:
      return "preempted";
  }
  return "";
}

}  // namespace

std::string first_unfinished(const Core& core, const trace::Trace& trace) {
  std::vector<JobIndex> left(core.aside());
  left.insert(left.end(), core.waiting().begin(), core.waiting().end());
  std::ranges::sort(left, [&](JobIndex a, JobIndex b) { return submitted_before(core.job(a), core.job(b)); });
  for (const JobIndex index : left) {
    const JobRequest& request = core.job(index).request;
    const int gpus = core.gpus_least(index);
    const std::string_view id = trace.jobs[place_of(trace, request.id)].id();
    if (const Verdict ever = could_ever_run(core.servers(), request, gpus); !ever.possible()) {
      const std::string why = lack_text(ever);
      return fmt::format("{}: under this policy {}{}", id, why.starts_with("needs") ? "it " : "", why);
    }
    if (const auto awaited = awaited_servers(core.servers(), request, gpus); !awaited.empty())
      return fmt::format("{}: it waits for a lost server, {}", id, core.servers()[awaited.front()].description.name);
  }
  if (left.empty()) return {};
  const JobIndex first = left.front();
  const JobRequest& request = core.job(first).request;
  const bool could_run = could_run_now(core.servers(), request, core.gpus_least(first)).possible();
  return fmt::format("{}: {}", trace.jobs[place_of(trace, request.id)].id(),
                     could_run ? "the policy left it waiting" : "it waits for lost servers");
}

std::string interrupted_in_vain(const Command& order, const Progress& progress, const Core& core,
                                const trace::Trace& trace, Instant now) {
  constexpr std::size_t named_most = 5;
  const auto name_of = [&](JobId job) { return trace.jobs[index_of(job)].id(); };
  std::string others;
  std::size_t named = 0;
  for (const JobId job : progress.stuck()) {
    if (job != order.job && ++named <= named_most)
      others += fmt::format("{}{}", others.empty() ? "" : ", ", name_of(job));
  }
  if (named > named_most) others += fmt::format(" and {} more", named - named_most);
  const std::string rule = core.standing(order.index, now);
  return fmt::format("job {}{} was {} {} times in a row before any of its work was done{}", name_of(order.job),
                     rule.empty() ? "" : " (" + rule + ")", interruption(order.kind), progress.fruitless_most(),
                     others.empty() ? "" : "; likewise " + others);
}

}  // namespace sl::sim
