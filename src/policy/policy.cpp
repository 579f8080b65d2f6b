#include "policy/policy.h"

#include <algorithm>

namespace sl {

Result<Parameters> parse_parameters(const PolicyInfo& info, const GivenParameters& given) {
  Result<Parameters> parsed = Parameters::parse(info.parameters, given, "policy " + info.name);
  if (parsed.ok() || parsed.error().code != "unknown-parameter") return parsed;
  Error error = parsed.error();
  const bool is_a_users_own = info.name.ends_with(".py");  // which `policy show` does not know; the note names them
  if (!is_a_users_own) error.hints.push_back("schedulearn policy show " + info.name);
  return error;
}

std::vector<JobIndex> Policy::queue_order(const View& view) const {
  std::vector<JobIndex> order(view.waiting);
  std::sort(order.begin(), order.end(),
            [&](JobIndex a, JobIndex b) { return submitted_before(view.job(a), view.job(b)); });
  return order;
}

}  // namespace sl
