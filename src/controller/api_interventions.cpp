// The routes of what users do to jobs that have been submitted: suspend, resume, migrate, scale; and retry, which
// submits an ended one again.
#include "controller/api.h"
#include "controller/views.h"
#include "wire/intervention.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

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

void Api::retry_job(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    if (!entry.row.finished_us)
      return asked.fail(conflict("job-not-finished", "job " + std::to_string(entry.row.id) + " is " + entry.row.state +
                                                         ": only a job that has ended can be submitted again"));
    auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
    if (!spec.ok()) return asked.fail(spec.error());
    if (const Status may = may_act_for(asked.identity, spec->user); !may.ok()) return asked.fail(may.error());
    spec->hold = false;
    const std::string body = std::to_string(entry.row.id);
    if (asked.request.parameter("dry_run") == "true") {
      const answers::Preview view{entry.row.id, entry.row.name, {"is submitted again as a new job", {}}};
      return with_past_states(*spec, {}, [this, asked, view, spec = *spec](const Result<PastStates>& past) {
        const Status checked = past.ok() ? logic_.check(spec, *past) : Status(past.error());
        checked.ok() ? asked.send(200, view) : asked.fail(checked.error());
      });
    }
    submit(asked, std::move(*spec), "retry of job " + body, false);
  });
}

}  // namespace sl::controller
