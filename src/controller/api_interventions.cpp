// The routes of what users do to jobs that have been submitted: suspend, resume, migrate, scale; and retry, which
// submits an ended one again.
#include <fmt/format.h>

#include "base/number_ranges.h"
#include "controller/api.h"
#include "controller/views.h"
#include "wire/intervention.h"
#include "wire/json.h"
#include "wire/members.h"

namespace sl::controller {
namespace {

Error nothing_failed(const store::JobRow& row) {
  return conflict("nothing-failed", is_group(row)
                                        ? fmt::format("no member of group {} that is still kept has failed", row.id)
                                        : fmt::format("job {} has not failed: it is {}", row.id, row.state))
      .hint(fmt::format("without --failed, all of it is submitted again: schedulearn retry {}", row.id));
}

// "7" or "5,7-9": jobs that have to succeed before the new one starts, instead of those before the old one.
Result<std::optional<std::vector<std::int64_t>>> new_prerequisites(const std::optional<std::string>& text) {
  if (!text) return std::optional<std::vector<std::int64_t>>();
  const auto numbers = NumberRanges::parse(*text);
  if (!numbers || numbers->empty() || numbers->count() > wire::prerequisites_max)
    return invalid("bad-parameter", "after is numbers of jobs in ascending order, 5,7-9; not " + *text);
  std::vector<std::int64_t> jobs;
  for (std::int64_t place = 0; place < numbers->count(); ++place) jobs.push_back(numbers->at(place));
  return std::optional(jobs);
}

// What it had to wait for, a job that has started does not wait for again.
void keep_prerequisites(wire::JobSpec& spec, const store::JobRow& row,
                        const std::optional<std::vector<std::int64_t>>& instead) {
  if (row.first_start_us || instead) spec.after.clear(), spec.after_any.clear();
  if (instead) spec.after = *instead;
}

answers::Effect effect_view(const Effect& effect) { return {effect.text, effect.cost_s}; }

}  // namespace

void Api::intervene(Call call) {
  const std::string verb = call.request.path.substr(call.request.path.rfind('/') + 1);
  const auto wanted = wire::parse_intervention(verb == "release" ? "resume" : verb, call.request.body);
  if (!wanted.ok()) return call.fail(wanted.error());
  with_own_job(std::move(call), [this, wanted = *wanted](const Call& asked, const JobEntry& entry) {
    if (entry.row.finished_us) return asked.fail(already_ended(entry.row));
    const JobId job(entry.row.id);
    const Result<Effect> effect = logic_.preview(job, wanted);
    if (asked.request.parameter("dry_run") == "true") {
      if (!effect.ok()) return asked.fail(effect.error());
      return asked.send(200, answers::Preview{job.value, entry.row.name, effect_view(*effect)});
    }
    const auto view = effect.ok() ? std::optional(effect_view(*effect)) : std::nullopt;
    logic_.intervene(job, wanted, asked.user(), asked.now, [this, asked, view](const Result<JobId>& done) {
      if (!done.ok()) return asked.fail(done.error());
      with_job(asked, *done, [this, view](const Call& again, const JobEntry& now) {
        again.send(202, answers::ChangedJob{job_view(logic_, now, clock_(), again.may_see(now)), view});
      });
    });
  });
}

// ?members=failed: of an array, only those of its members that have failed; of a job, only if it has. ?after=7: as above.
void Api::retry_job(Call call) {
  const auto members = call.request.parameter("members");
  if (members && *members != "failed")
    return call.fail(invalid("bad-parameter", "members is \"failed\"; without it, all are submitted again"));
  const auto after = new_prerequisites(call.request.parameter("after"));
  if (!after.ok()) return call.fail(after.error());
  with_job(std::move(call), [this, failed_only = members.has_value(), after = *after](const Call& asked,
                                                                                      const JobEntry& entry) {
    const bool may_run = failed_only && is_group(entry.row);  // its failed members have ended
    if (!entry.row.finished_us && !may_run)
      return asked.fail(conflict("job-not-finished", "job " + std::to_string(entry.row.id) + " is " + entry.row.state +
                                                         ": only a job that has ended can be submitted again"));
    auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
    if (!spec.ok()) return asked.fail(spec.error());
    if (const Status may = may_act_for(asked.identity, spec->user); !may.ok()) return asked.fail(may.error());
    spec->hold = false;
    std::erase_if(spec->notify, [&](const wire::NotifySpec& told) {  // through channels that are gone
      return notifications_ && !notifications_->check(spec->user, {told}).ok();
    });
    keep_prerequisites(*spec, entry.row, after);
    // What was changed in the code is good to know; the code itself must be there.
    if (spec->snapshot && !snapshots_.use(spec->snapshot->diff)) spec->snapshot->diff.clear();
    if (!failed_only) return retry_as(asked, entry.row, std::move(*spec));
    if (!is_group(entry.row))
      return entry.row.state == "failed" ? retry_as(asked, entry.row, std::move(*spec))
                                         : asked.fail(nothing_failed(entry.row));
    history_.ask<NumberRanges>(
        [id = entry.row.id](store::Reader& reader) -> Result<NumberRanges> {
          const auto rows = reader.finished_jobs({.states = {"failed"}, .group = id, .limit = wire::members_max});
          if (!rows.ok()) return rows.error();
          std::vector<std::int64_t> failed;
          for (const store::JobRow& row : *rows) failed.push_back(row.member_index);
          return NumberRanges::of(std::move(failed));
        },
        [this, asked, row = entry.row, spec = std::move(*spec)](const Result<NumberRanges>& failed) mutable {
          if (!failed.ok()) return asked.fail(failed.error());
          if (failed->empty()) return asked.fail(nothing_failed(row));
          spec.array = failed->text();
          retry_as(asked, row, std::move(spec));
        });
  });
}

void Api::retry_as(const Call& asked, const store::JobRow& row, wire::JobSpec spec) {
  // With the same idempotency key, two requests are the same if they repeat the same members of the same job.
  const std::string body = fmt::format("retry of job {}, members {}, after {}", row.id, spec.array.value_or("all"),
                                       asked.request.parameter("after").value_or("the same"));
  if (asked.request.parameter("dry_run") != "true") return submit(asked, std::move(spec), body, false);
  const std::string text =
      asked.request.parameter("members") && spec.array
          ? fmt::format("is submitted again as a new array of the members that failed: {}", *spec.array)
          : "is submitted again as a new job";
  with_past_states(
      spec, {},
      [this, asked, spec, view = answers::Preview{row.id, row.name, {text, {}}}](const Result<PastStates>& past) {
        const Status checked = past.ok() ? logic_.check(spec, *past) : Status(past.error());
        checked.ok() ? asked.send(200, view) : asked.fail(checked.error());
      });
}

}  // namespace sl::controller
