#include "policies/registry.h"

#include <algorithm>

#include "base/suggest.h"
#include "policies/afs_l.h"
#include "policies/coach.h"
#include "policies/default_pods.h"
#include "policies/drf.h"
#include "policies/edf.h"
#include "policies/elastic_fifo.h"
#include "policies/elastic_srjf.h"
#include "policies/elastic_srtf.h"
#include "policies/elastic_tiresias.h"
#include "policies/fair_share.h"
#include "policies/ffdl.h"
#include "policies/fifo.h"
#include "policies/fifo_conservative.h"
#include "policies/fifo_easy.h"
#include "policies/fifo_first_fit.h"
#include "policies/fifo_strict.h"
#include "policies/gandiva.h"
#include "policies/gang.h"
#include "policies/lyapunov.h"
#include "policies/max_min.h"
#include "policies/one_gpu.h"
#include "policies/optimus.h"
#include "policies/priority.h"
#include "policies/random_gpu.h"
#include "policies/round_robin.h"
#include "policies/sgf.h"
#include "policies/sjf.h"
#include "policies/srjf.h"
#include "policies/srsf.h"
#include "policies/srtf.h"
#include "policies/tetris.h"
#include "policies/tiresias.h"
#include "policies/tiresias_gittins.h"

namespace sl {
namespace {

std::string normalised(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    result.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return result;
}

}  // namespace

const std::vector<PolicyEntry>& policies() {
  // clang-format off
  static const std::vector<PolicyEntry> all = {
      fifo_entry(),
      fifo_strict_entry(),
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
  };
  // clang-format on
  return all;
}

const PolicyEntry* find_policy(std::string_view name) {
  const std::string wanted = normalised(name);
  for (const PolicyEntry& entry : policies()) {
    if (normalised(entry.info.name) == wanted) return &entry;
    for (const std::string& alias : entry.info.aliases) {
      if (normalised(alias) == wanted) return &entry;
    }
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
  Result<Parameters> parsed = Parameters::parse(entry->info, parameters);
  if (!parsed.ok()) return parsed.error();
  return entry->make(*parsed);
}

}  // namespace sl
