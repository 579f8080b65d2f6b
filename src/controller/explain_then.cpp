#include "controller/explain_then.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/text.h"
#include "controller/explain.h"
#include "controller/views.h"
#include "model/job.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/members.h"

namespace sl::controller {
namespace {

using State = JobState;

std::string span_text(std::int64_t us) { return duration_text(static_cast<double>(us) / 1e6); }

bool holds_gpus(State state) { return is_active(state) && state != State::suspended; }

State state_of(const std::string& text) { return parse_job_state(text).value_or(State::pending); }

// "jobs 3, 5 and 2 more"
std::string jobs_text(const std::vector<std::int64_t>& jobs) {
  constexpr std::size_t named_most = 3;
  std::string text = jobs.size() == 1 ? "job " : "jobs ";
  const std::size_t named = jobs.size() == named_most + 1 ? jobs.size() : std::min(jobs.size(), named_most);
  for (std::size_t i = 0; i < named; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == jobs.size() ? " and " : ", ", jobs[i]);
  return named < jobs.size() ? fmt::format("{} and {} more", text, jobs.size() - named) : text;
}

// Which GPUs were held at a moment.
class Then {
 public:
  Then(store::Moment moment, std::int64_t at_us) : moment_(std::move(moment)), at_us_(at_us) {}

  Status find_holders(store::Reader& reader) {
    for (const store::JobThen& job : moment_.jobs) {
      if (!holds_gpus(state_of(job.state))) continue;
      const auto placements = reader.placements(job.id);
      if (!placements.ok()) return placements.error();
      note(job.id, *placements);
    }
    return {};
  }

  const store::JobThen* find(std::int64_t id) const {
    const auto at = std::ranges::find(moment_.jobs, id, &store::JobThen::id);
    return at == moment_.jobs.end() ? nullptr : &*at;
  }
  const store::Moment& moment() const { return moment_; }
  bool is_up(const std::string& server) const {
    const auto at = moment_.servers.find(server);
    return at != moment_.servers.end() && at->second == "up";
  }
  int held_on(const std::string& server) const {
    const auto at = held_.find(server);
    return at == held_.end() ? 0 : static_cast<int>(at->second.size());
  }
  const std::set<std::int64_t>& holders(const std::string& server) const {
    static const std::set<std::int64_t> none;
    const auto at = holders_.find(server);
    return at == holders_.end() ? none : at->second;
  }
  std::vector<std::int64_t> waiting_before(const store::JobThen& job) const {
    std::vector<std::int64_t> before;
    for (const store::JobThen& other : moment_.jobs) {
      if (other.state == "pending" && other.id < job.id && other.id != job.group_id) before.push_back(other.id);
    }
    return before;
  }
  std::size_t waiting() const {
    return static_cast<std::size_t>(std::ranges::count(moment_.jobs, "pending", &store::JobThen::state));
  }
  // "lab (GPUs 0,1), lab2 (GPU 3)"
  std::string place_of(std::int64_t id) const {
    const auto at = places_.find(id);
    return at == places_.end() ? "" : at->second;
  }

 private:
  // The incarnation that had not ended then; one row per server.
  void note(std::int64_t id, const std::vector<store::PlacementRow>& rows) {
    const auto is_open = [this](const store::PlacementRow& row) { return !row.ended_us || *row.ended_us > at_us_; };
    const auto first = std::ranges::find_if(rows, is_open);
    if (first == rows.end()) return;
    std::string& place = places_[id];
    for (const store::PlacementRow& row : rows) {
      if (row.incarnation != first->incarnation) continue;
      holders_[row.server].insert(id);
      for (std::size_t at = 0; at < row.gpus.size();) {
        const std::size_t comma = std::min(row.gpus.find(',', at), row.gpus.size());
        held_[row.server].insert(row.gpus.substr(at, comma - at));
        at = comma + 1;
      }
      const char* plural = row.gpus.find(',') == std::string::npos ? "" : "s";
      place += (place.empty() ? "" : ", ") + row.server +
               (row.gpus.empty() ? "" : fmt::format(" (GPU{} {})", plural, row.gpus));
    }
  }

  store::Moment moment_;
  std::int64_t at_us_;
  std::map<std::string, std::set<std::string>> held_;
  std::map<std::string, std::set<std::int64_t>> holders_;
  std::map<std::int64_t, std::string> places_;
};

std::string policy_at(const Hindsight& hindsight, std::int64_t at_us) {
  std::string name;
  for (const store::PolicyRow& row : hindsight.policies) {
    if (row.since_us <= at_us || name.empty()) name = row.name;
  }
  return name;
}

std::vector<answers::ServerVerdict> verdicts(const Then& then, const Hindsight& hindsight, int needed) {
  std::vector<answers::ServerVerdict> views;
  for (const auto& [server, state] : then.moment().servers) {
    const auto known = hindsight.servers_gpus.find(server);
    if (state == "removed" || known == hindsight.servers_gpus.end()) continue;
    const int free = std::max(0, known->second - then.held_on(server));
    const bool fits = state == "up" && free >= needed;
    const auto& holders = then.holders(server);
    std::string text = fits ? "had room" : state != "up" ? state : fmt::format("{} short", needed - free);
    if (!holders.empty()) text += "; held by " + jobs_text({holders.begin(), holders.end()});
    views.push_back({server, free, needed, {}, fits, {}, text});
  }
  return views;
}

// Why a job that waited had not started, as far as it can be told from outside of the policy.
answers::BlockingReason reason_then(const Then& then, const store::JobThen& job, const wire::JobSpec& spec,
                                    const std::vector<answers::ServerVerdict>& servers, const std::string& policy,
                                    std::int64_t at_us) {
  const auto reason = [](ReasonCode code, std::string text) {
    return answers::BlockingReason{to_string(code), std::move(text)};
  };
  if (job.state == "held") return reason(ReasonCode::held, "it was held");
  std::vector<std::int64_t> open;
  for (const auto* jobs : {&spec.after, &spec.after_any}) {
    for (const std::int64_t id : *jobs) {
      if (then.find(id)) open.push_back(id);
    }
  }
  if (!open.empty())
    return reason(ReasonCode::dependency,
                  fmt::format("it was to start after {}, which had not ended", jobs_text(open)));
  const auto not_before = spec.not_before ? wire::parse_time_us(*spec.not_before) : Result<std::int64_t>(0);
  if (not_before.ok() && *not_before > at_us)
    return reason(ReasonCode::not_before, "it was to start at " + clock_text(*not_before, at_us) + " or later");
  int free = 0;
  bool has_room = false, any_up = false;
  for (const answers::ServerVerdict& server : servers) {
    if (!then.is_up(server.server)) continue;
    any_up = true, free += server.free, has_room = has_room || server.fits;
  }
  if (!any_up) return reason(ReasonCode::server_down, "no server was up");
  const bool may_spread = spec.servers != 1, is_one = spec.gpus.min == 1;
  const std::string needs =
      fmt::format("it needed {}{}", gpus_text(spec.gpus.min), may_spread || is_one ? "" : " on one server");
  const std::vector<std::int64_t> before = then.waiting_before(job);
  if (spec.gpus.max == 0)  // the past of CPUs is not recorded
    return reason(ReasonCode::cpu_or_memory, "it needed no GPU, but CPUs and memory on a server that was up");
  if (has_room || (may_spread && free >= spec.gpus.min)) {
    const std::string behind =
        before.empty() ? "no job that waited was older" : jobs_text(before) + " waited before it";
    return reason(ReasonCode::behind_others,
                  fmt::format("{}, which {} free; {} (policy {})", needs, is_one ? "was" : "were", behind, policy));
  }
  const std::string line = before.empty() ? "" : fmt::format("; {} waited before it", jobs_text(before));
  if (free >= spec.gpus.min)
    return reason(ReasonCode::fragmented, fmt::format("{}; {} were free, but on several servers{}", needs, free, line));
  return reason(ReasonCode::no_free_gpus,
                fmt::format("{}; {} {} free{}", needs, free, free == 1 ? "was" : "were", line));
}

// What happened shortly before an event of a job and let it happen: "when job 3 had succeeded"; empty: not known.
Result<std::string> cause_of(store::Reader& reader, const store::EventRow& effect) {
  constexpr std::int64_t at_most_before_us = 100'000;  // decisions follow within milliseconds
  constexpr std::int64_t looks_back = 50;
  const auto events = reader.events({.after = std::max<std::int64_t>(0, effect.seq - looks_back), .limit = looks_back});
  if (!events.ok()) return events.error();
  for (auto event = events->rbegin(); event != events->rend(); ++event) {
    if (event->seq >= effect.seq) continue;
    if (effect.at_us - event->at_us > at_most_before_us) break;
    const bool own = event->job_id == effect.job_id;
    if (event->kind == "policy.changed") return fmt::format("when the policy became {}", event->to);
    if (event->kind == "server.state" && event->to == "up") return fmt::format("when {} came up", event->server);
    if (own && event->kind == "job.edited") return std::string("when it was changed");
    if (!own && event->job_id && event->kind == "job.state" && is_active(state_of(event->from)) &&
        !holds_gpus(state_of(event->to)))
      return fmt::format(
          "when job {} had {}", *event->job_id,
          is_finished(state_of(event->to)) ? event->to == "cancelled" ? "been cancelled" : event->to : "left its GPUs");
  }
  return std::string();
}

// visit(event) for each event of the job, oldest first, until it returns false or an error.
Status visit_events(store::Reader& reader, std::int64_t job,
                    const std::function<Result<bool>(const store::EventRow&)>& visit) {
  constexpr std::int64_t page = 500;
  for (std::int64_t after = 0;;) {
    const auto events = reader.events({.job = job, .after = after, .limit = page});
    if (!events.ok()) return events.error();
    for (const store::EventRow& event : *events) {
      const auto goes_on = visit(event);
      if (!goes_on.ok()) return goes_on.error();
      if (!*goes_on) return {};
    }
    if (std::cmp_less(events->size(), page)) return {};
    after = events->back().seq;
  }
}

// "it started at 20:09:30 UTC (4m 05s later), when job 3 had succeeded"
Result<std::string> followed_text(store::Reader& reader, std::int64_t job, std::int64_t at_us) {
  std::string text;
  const Status read = visit_events(reader, job, [&](const store::EventRow& event) -> Result<bool> {
    if (event.at_us <= at_us || event.kind != "job.state" || event.to == "running") return true;
    const auto cause = event.to == "starting" ? cause_of(reader, event) : Result<std::string>(std::string());
    if (!cause.ok()) return cause.error();
    const State to = state_of(event.to);
    const std::string what = to == State::starting    ? "it started"
                             : to == State::cancelled ? "it was cancelled"
                             : is_finished(to)        ? "it " + event.to
                                                      : "it became " + event.to;
    const std::string why = !cause->empty() ? ", " + *cause : event.text.empty() ? "" : " (" + event.text + ")";
    text =
        fmt::format("{} at {}, {} later{}", what, clock_text(event.at_us, at_us), span_text(event.at_us - at_us), why);
    return false;
  });
  return read.ok() ? Result<std::string>(text) : read.error();
}

// "gpus 4 → 2 at 20:10:05 UTC": changes of what the job needs since then; empty: none.
Result<std::string> changed_since(store::Reader& reader, std::int64_t job, std::int64_t at_us) {
  std::string text;
  const Status read = visit_events(reader, job, [&](const store::EventRow& event) -> Result<bool> {
    const bool concerns_needs = event.text.starts_with("gpus ") || event.text.starts_with("servers ") ||
                                event.text.find(", gpus ") != std::string::npos ||
                                event.text.find(", servers ") != std::string::npos;
    if (event.kind == "job.edited" && event.at_us > at_us && concerns_needs)
      text += fmt::format("{}{} at {}", text.empty() ? "" : "; ", event.text, clock_text(event.at_us, at_us));
    return true;
  });
  return read.ok() ? Result<std::string>(text) : read.error();
}

}  // namespace

Result<answers::Explanation> explain_then(store::Reader& reader, const store::JobRow& row, const Hindsight& hindsight,
                                          std::int64_t at_us) {
  if (at_us < row.submitted_us)
    return invalid("bad-time", fmt::format("job {} had not been submitted yet", row.id))
        .hint("it was submitted at " + clock_text(row.submitted_us, at_us) + ": ask about a time from then on");
  const auto spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore);
  if (!spec.ok()) return spec.error();
  auto moment = reader.moment(at_us);
  if (!moment.ok()) return moment.error();
  Then then(std::move(*moment), at_us);
  if (const Status known = then.find_holders(reader); !known.ok()) return known.error();

  answers::Explanation view;
  view.evaluated_at = {at_us};
  view.policy = policy_at(hindsight, at_us);
  const std::string when = clock_text(at_us, 0);
  const store::JobThen* job = then.find(row.id);
  if (!job) {
    const std::string ended = row.finished_us ? " at " + clock_text(*row.finished_us, at_us) : "";
    view.verdict = "had_ended";
    view.summary = fmt::format("at {} job {} had ended: {}{}", when, row.id, row.state, ended);
    return view;
  }
  const auto followed = followed_text(reader, row.id, at_us);
  if (!followed.ok()) return followed.error();
  if (!followed->empty()) view.followed = *followed;
  const std::string since = span_text(at_us - job->state_since_us);
  if (wire::is_group(*spec)) {
    const auto running = std::ranges::count_if(then.moment().jobs, [&](const store::JobThen& member) {
      return member.group_id == row.id && is_active(state_of(member.state));
    });
    view.verdict = "had_members";
    view.summary = fmt::format("at {} {} of the {} members of group {} had GPUs", when, running,
                               wire::member_count(*spec), row.id);
    return view;
  }
  if (job->state != "pending" && job->state != "held") {
    const std::string place = then.place_of(row.id);
    view.verdict = "had_started";
    view.summary = fmt::format("at {} job {} had been {} for {}{}", when, row.id, job->state, since,
                               place.empty() ? "" : " on " + place);
    return view;
  }
  view.verdict = job->state == "held" ? "was_held" : "waited";
  view.queue_length = then.waiting();
  view.servers = verdicts(then, hindsight, spec->gpus.min);
  const answers::BlockingReason reason = reason_then(then, *job, *spec, view.servers, view.policy, at_us);
  view.summary = fmt::format("at {} job {} had waited for {}: {}", when, row.id, since, reason.text);
  view.reasons = {reason};
  const auto changed = changed_since(reader, row.id, at_us);
  if (!changed.ok()) return changed.error();
  if (!changed->empty())
    view.summary += fmt::format(". It was changed later ({}); what it needed is taken as it is now", *changed);
  return view;
}

}  // namespace sl::controller
