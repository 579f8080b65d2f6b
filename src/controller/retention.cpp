#include "controller/retention.h"

#include <algorithm>

namespace sl::controller {
namespace {

constexpr Duration look_every = Duration::whole_seconds(2);
constexpr Duration go_on_after = Duration::milliseconds(50);  // while there is more to remove: others commit in between
constexpr std::int64_t jobs_at_once = 200;

constexpr JobState ends[] = {JobState::succeeded, JobState::failed, JobState::cancelled};

// The members of a group stay until it has ended as well: it counts them, and they are submitted again with it.
std::int64_t count_removable(const Logic& logic) {
  std::int64_t count = 0;
  for (const JobState end : ends) count += logic.book().count(end);
  logic.book().for_each([&](const JobEntry& entry) {
    if (entry.row.finished_us || !is_group(entry.row)) return;
    const JobIndex group = logic.core().find(JobId(entry.row.id));
    for (const JobState end : ends) count -= group.valid() ? logic.core().job(group).group->in(end) : 0;
  });
  return count;
}

// By how many jobs the rule is exceeded, and which limit. `used`: bytes.
std::pair<std::int64_t, const char*> surplus(const wire::RetentionRule& rule, std::int64_t ended, std::int64_t used) {
  if (rule.jobs > 0 && ended > rule.jobs) return {ended - rule.jobs, "number"};
  if (rule.bytes == 0 || used <= rule.bytes || ended == 0) return {0, ""};
  const double bytes_each = static_cast<double>(used) / static_cast<double>(ended);
  return {static_cast<std::int64_t>(static_cast<double>(used - rule.bytes) / bytes_each) + 1, "size"};
}

}  // namespace

void Retention::on_turn() {
  const Instant now = clock_();
  if (is_looking_ || now < next_look_ || logic_.recorder().is_refusing()) return;
  is_looking_ = true;
  const std::int64_t ended = rule_.jobs > 0 || rule_.bytes > 0 ? count_removable(logic_) : 0;
  history_.ask<Look>([rule = rule_, now, ended](store::Reader& reader) { return look(rule, reader, now, ended); },
                     [this](const Result<Look>& found) { on_look(found); });
}

void Retention::on_look(const Result<Look>& found) {
  const Instant now = clock_();
  is_looking_ = false;
  next_look_ = now + look_every;
  if (!found.ok()) return;  // the next look may succeed
  bytes_used_ = found->bytes_used;
  const store::Removal& removal = found->removal;
  if (removal.jobs.empty() && removal.events_until_us == 0) return;
  next_look_ = now + go_on_after;
  is_looking_ = true;  // not again before this is done
  logic_.remove_history(removal, now, [this](const Status&) { is_looking_ = false; });
}

Result<Retention::Look> Retention::look(const wire::RetentionRule& rule, store::Reader& reader, Instant now,
                                        std::int64_t ended) {
  const auto used = reader.bytes_used();
  if (!used.ok()) return used.error();
  const std::int64_t oldest_us = rule.age_s > 0 ? (now - Duration::seconds(rule.age_s)).us : 0;
  auto jobs = reader.oldest_finished(oldest_us, jobs_at_once);
  const auto has_events = reader.has_events_of_no_job(oldest_us);
  if (!jobs.ok()) return jobs.error();
  if (!has_events.ok()) return has_events.error();
  Look found{*used, {.at_us = now.us, .rule = "age", .events_until_us = *has_events ? oldest_us : 0}};
  const auto [too_many, limit] = surplus(rule, ended, *used);
  if (jobs->empty() && too_many > 0) {
    jobs = reader.oldest_finished(INT64_MAX, static_cast<std::size_t>(std::min(too_many, jobs_at_once)));
    if (!jobs.ok()) return jobs.error();
    found.removal.rule = limit;
  }
  found.removal.jobs = std::move(*jobs);
  return found;
}

}  // namespace sl::controller
