#include "controller/edit_preview.h"

#include <fmt/format.h>

#include <algorithm>

#include "forecast/order.h"

namespace sl::controller {
namespace {

constexpr std::size_t order_most = 100;

// Of a group: where its first member stands.
std::optional<int> position_in(const std::vector<JobId>& order, const std::vector<JobId>& jobs) {
  const auto at = std::ranges::find_first_of(order, jobs);
  return at == order.end() ? std::nullopt : std::optional(static_cast<int>(at - order.begin()) + 1);
}

answers::JobEdit change_of(const Logic& logic, const Priority& other) {
  const JobEntry* entry = logic.book().find(other.job);
  const int before = logic.core().job(logic.core().find(other.job)).request.priority;
  return {other.job.value, entry ? entry->row.name : "", entry ? entry->row.user : "",
          fmt::format("priority {} → {}", before, other.priority)};
}

// "priority 0 → 7, is held"; empty: nothing changes.
std::string text_of(const Submissions::Edit& edit) {
  const std::string held = !edit.hold ? "" : *edit.hold ? "is held" : "is no longer held";
  return edit.what + (edit.what.empty() || held.empty() ? "" : ", ") + held;
}

}  // namespace

void preview_edit(Forecasts& forecasts, const Logic& logic, const JobEntry& entry, const Submissions::Edit& edit,
                  Instant now, std::function<void(Result<answers::EditPreview>)> done) {
  const JobId job(entry.row.id);
  answers::EditPreview preview{entry.row.id, entry.row.name, {}, {}};
  if (std::string what = text_of(edit); !what.empty())
    preview.changes.push_back({entry.row.id, entry.row.name, entry.row.user, std::move(what)});
  for (const Priority& other : edit.others) preview.changes.push_back(change_of(logic, other));
  const auto with_members = [&](JobId id) {
    std::vector<JobId> jobs{id};
    if (logic.core().job(logic.core().find(id)).group) {
      const std::vector<JobId> members = logic.core().unfinished_members(id);
      jobs.insert(jobs.end(), members.begin(), members.end());
    }
    return jobs;
  };
  const std::vector<JobId> jobs = with_members(job);
  std::vector<JobEdited> edits;
  const auto give = [&](const std::vector<JobId>& to, int priority) {
    for (const JobId each : to) edits.push_back({.job = each, .priority = priority});
  };
  if (std::ranges::any_of(jobs, [&](JobId each) {
        return edit.next.priority != logic.core().job(logic.core().find(each)).request.priority;
      }))
    give(jobs, edit.next.priority);
  for (const Priority& other : edit.others) give(with_members(other.job), other.priority);
  if (edits.empty() || !forecasts.continue_present() || forecasts.is_full()) return done(std::move(preview));
  std::vector<JobId> before;
  for (const JobIndex each : logic.core().queue_order(now)) before.push_back(logic.core().job(each).request.id);
  auto told = std::make_shared<Told>(forecasts.tell_present(now));
  forecasts.ask([=, preview = std::move(preview), done = std::move(done)](Forecasts& self) {
    self.learn(*told);
    auto answer = std::make_shared<Result<answers::EditPreview>>(preview);
    auto maker = self.maker_of(told->policy);
    if (maker.ok()) {
      const std::vector<JobId> after = forecast::order_after(told->present, (*maker)(), edits);
      answers::LinePreview& line = (*answer)->line.emplace();
      line.policy = told->policy.name;
      line.position_before = position_in(before, jobs);
      line.position = position_in(after, jobs);
      for (std::size_t i = 0; i < std::min(order_most, after.size()); ++i) line.order.push_back(after[i].value);
    } else {
      *answer = maker.error();
    }
    self.post([answer, done] { done(std::move(*answer)); });
  });
}

}  // namespace sl::controller
