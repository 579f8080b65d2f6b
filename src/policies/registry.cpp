#include "policies/registry.h"

#include <algorithm>

#include "base/suggest.h"
#include "policies/adaptive/auto.h"
#include "policies/elastic/afs_l.h"
#include "policies/elastic/coach.h"
#include "policies/elastic/elastic_edf.h"
#include "policies/elastic/elastic_fifo.h"
#include "policies/elastic/elastic_shortest.h"
#include "policies/elastic/elastic_tiresias.h"
#include "policies/elastic/ffdl.h"
#include "policies/elastic/lyapunov.h"
#include "policies/elastic/optimus.h"
#include "policies/fair/drf.h"
#include "policies/fair/fair_share.h"
#include "policies/fair/max_min.h"
#include "policies/gang/default_pods.h"
#include "policies/gang/gang.h"
#include "policies/packing/gandiva.h"
#include "policies/packing/tetris.h"
#include "policies/preemptive/srsf.h"
#include "policies/preemptive/srtf.h"
#include "policies/preemptive/tiresias.h"
#include "policies/preemptive/tiresias_gittins.h"
#include "policies/queue/edf.h"
#include "policies/queue/fifo.h"
#include "policies/queue/fifo_conservative.h"
#include "policies/queue/fifo_easy.h"
#include "policies/queue/fifo_first_fit.h"
#include "policies/queue/one_gpu.h"
#include "policies/queue/priority.h"
#include "policies/queue/random_gpu.h"
#include "policies/queue/round_robin.h"
#include "policies/queue/sgf.h"
#include "policies/queue/sjf.h"
#include "policies/queue/srjf.h"

namespace sl {
namespace {

// And the one that chooses among them.
std::vector<PolicyEntry> with_auto(std::vector<PolicyEntry> entries) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : entries) names.push_back(entry.info.name);
  entries.push_back(auto_entry(names));
  return entries;
}

}  // namespace

const std::vector<PolicyEntry>& policies() {
  // clang-format off
  static const std::vector<PolicyEntry> all = with_auto({
      fifo_entry(),
      fifo_first_fit_entry(),
      fifo_easy_entry(),
      fifo_conservative_entry(),
      round_robin_entry(),
      sjf_entry(),
      srjf_entry(),
      srtf_entry(),
      srsf_entry(),
      sgf_entry(),
      edf_entry(),
      priority_entry(),
      tiresias_entry(),
      tiresias_gittins_entry(),
      elastic_fifo_entry(),
      elastic_srjf_entry(),
      elastic_srtf_entry(),
      elastic_edf_entry(),
      elastic_tiresias_entry(),
      afs_l_entry(),
      ffdl_entry(),
      optimus_entry(),
      coach_entry(),
      fair_share_entry(),
      drf_entry(),
      max_min_entry(),
      tetris_entry(),
      gandiva_entry(),
      gang_entry(),
      lyapunov_entry(),
      one_gpu_entry(),
      random_gpu_entry(),
      default_pods_entry(),
  });
  // clang-format on
  return all;
}

const PolicyEntry* find_policy(std::string_view name) {
  const auto is_wanted = [&](const std::string& known) { return is_same_name(known, name); };
  for (const PolicyEntry& entry : policies()) {
    if (is_wanted(entry.info.name) || std::ranges::any_of(entry.info.aliases, is_wanted)) return &entry;
  }
  return nullptr;
}

Error unknown_policy(std::string_view name) {
  std::string names;
  std::vector<std::string_view> known;
  for (const PolicyEntry& entry : policies()) {
    names += (names.empty() ? "" : ", ") + entry.info.name;
    known.push_back(entry.info.name);
    known.insert(known.end(), entry.info.aliases.begin(), entry.info.aliases.end());
  }
  Error error = not_found("unknown-policy", "there is no policy " + std::string(name)).note("there are " + names);
  if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
  error.hints.push_back("schedulearn policy ls");
  return error;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const GivenParameters& parameters) {
  const PolicyEntry* entry = find_policy(name);
  if (!entry) return unknown_policy(name);
  Result<Parameters> parsed = parse_parameters(entry->info, parameters);
  if (!parsed.ok()) return parsed.error();
  return entry->make(*parsed);
}

}  // namespace sl
