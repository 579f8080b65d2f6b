// What is expected: how ranges held, and other policies tried on the present.
#include <fmt/format.h>

#include <memory>

#include "controller/api.h"
#include "controller/estimate_views.h"
#include "controller/people.h"
#include "controller/policy_views.h"
#include "controller/requests.h"
#include "controller/shadow_views.h"
#include "controller/tried_policies.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr std::int64_t estimate_items_max = 100'000;

namespace json = boost::json;

constexpr Duration arrivals_time = Duration::whole_seconds(86'400);

// A policy of one's own is a program that runs as the controller's user.
Status may_run_source(const Identity& identity) {
  const Status may = check_role(identity, Role::admin);
  if (may.ok()) return may;
  return Error(may.error())
      .note("the source of a policy is a program, which runs as the controller's user")
      .hint("try it on a trace on your own machine: schedulearn sim run --policy ./mine.py --trace FILE");
}

Result<std::vector<PolicyChange>> changes_in(const TryBody& body, const Identity& identity) {
  constexpr std::size_t most = 4;
  if (body.policies.empty() || body.policies.size() > most)
    return invalid("bad-policies",
                   fmt::format("one to {} policies can be tried at a time, not {}", most, body.policies.size()))
        .hint("schedulearn policy try fifo srtf")
        .at("/policies");
  std::vector<PolicyChange> changes;
  for (const PolicyBody& tried : body.policies) {
    PolicyChange& change = changes.emplace_back(change_of(tried));
    if (tried.source) {
      if (Status may = may_run_source(identity); !may.ok()) return may.error();
      if (tried.source->empty()) return invalid("policy-empty", "the source of the policy is empty").at("/policies");
      change.source = *tried.source;
      if (!change.name.ends_with(".py")) change.name += ".py";
    } else if (const auto made = make_policy(change.name, change.parameters); !made.ok()) {
      return made.error();
    }
  }
  return changes;
}

}  // namespace

void Api::with_forecast(const Call& call, Duration limit, std::function<void()> work) {
  forecasts_.when_fresh(call.now, call.now + limit, std::move(work));
}

void Api::list_estimates(Call call) {
  const auto limit = call.number("limit", estimate_items_max, 1, estimate_items_max);
  const auto cursor = call.cursor();
  if (!limit.ok()) return call.fail(limit.error());
  if (!cursor.ok()) return call.fail(cursor.error());
  const auto prospects = logic_.outlook() ? logic_.outlook()->latest() : nullptr;
  answers::Record record = record_view(prospects ? *prospects : Prospects{});
  const auto count = static_cast<std::int64_t>(record.items.size());
  const std::int64_t first = std::min(cursor->value_or(0), count), end = std::min(first + *limit, count);
  record.items = {record.items.begin() + first, record.items.begin() + end};
  if (end < count) record.next_cursor = call.next_cursor(end);
  call.send(200, record);
}

void Api::try_policies(Call call) {
  if (const Status json = expect_json(call, "what to try"); !json.ok()) return call.fail(json.error());
  const auto body = wire::read_json<TryBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  auto changes = changes_in(*body, call.identity);
  if (!changes.ok()) return call.fail(changes.error());
  std::erase_if(*changes, [this](const PolicyChange& change) { return logic_.policies().is_in_force(change); });
  const double horizon_s = body->horizon_s.value_or(0);
  if (body->horizon_s && !(horizon_s >= 1 && horizon_s <= 1e8))
    return call.fail(
        invalid("bad-horizon", "a horizon is 1 second to 3 years").hint("\"horizon_s\": 43200").at("/horizon_s"));
  const Duration arrivals = body->with_arrivals.value_or(false) ? arrivals_time : Duration();
  try_on_present(forecasts_,
                 {.policies = std::move(*changes),
                  .arrivals = arrivals,
                  .with_schedule = body->with_schedule.value_or(false),
                  .until = Duration::seconds(horizon_s)},
                 call.now, [this, call](const Result<TriedPolicies>& tried) {
                   tried.ok() ? call.send(200, tried_view(*tried, call.user(), logic_.book()))
                              : call.fail(tried.error());
                 });
}

// ---- a policy that follows ----

void Api::get_shadow(Call call) { call.send(200, shadow_view(shadow_)); }

void Api::put_shadow(Call call) {
  if (const Status json = expect_json(call, "a policy"); !json.ok()) return call.fail(json.error());
  const auto body = wire::read_json<PolicyBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  PolicyChange policy = change_of(*body);
  policy.source = body->source.value_or("");
  shadow_.follow(std::move(policy), call.user(), call.now,
                 [this, call](const Status& status) { status.ok() ? get_shadow(call) : call.fail(status.error()); });
}

void Api::end_shadow(Call call) {
  if (!shadow_.followed()) return get_shadow(call);
  shadow_.follow(std::nullopt, call.user(), call.now,
                 [this, call](const Status& status) { status.ok() ? get_shadow(call) : call.fail(status.error()); });
}

void Api::get_shadow_series(Call call) {
  const auto points = call.number("limit", 300, 1, 1'000);
  if (!points.ok()) return call.fail(points.error());
  call.send(200, shadow_series(shadow_, static_cast<std::size_t>(*points)));
}

}  // namespace sl::controller
