#include "controller/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "base/suggest.h"
#include "base/whole_number.h"
#include "controller/edit_preview.h"
#include "controller/explain.h"
#include "controller/explain_then.h"
#include "controller/policy_views.h"
#include "controller/requests.h"
#include "controller/shadow_views.h"
#include "controller/submission_forecast.h"
#include "controller/views.h"
#include "policies/catalogue.h"
#include "wire/error.h"
#include "wire/event_subjects.h"
#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/members.h"
#include "wire/utf8.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

// Changes with whatever a user may change of the job, and with its state.
std::string etag_of(const JobEntry& entry) {
  const store::JobRow& row = entry.row;
  return fmt::format("\"{}\"", hash_of(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", row.spec_json, row.name, row.priority,
                                                   row.state, row.state_since_us, row.attempt)));
}
std::string etag_of(const store::PolicyRow& row) {
  return fmt::format("\"{}\"", hash_of(fmt::format("{}\n{}\n{}", row.name, row.parameters_json, row.since_us)));
}

Error unknown_job(const std::string& id) {
  return not_found("job-not-found", "there is no job " + id).hint("schedulearn ls");
}

Error removed_job(JobId job, const store::RemovedJob& removed) {
  const std::string day = rfc3339(removed.at_us).substr(0, 10);
  if (removed.rule == "request")
    return not_found("job-removed", fmt::format("job {} was removed by a user on {}", job.value, day))
        .note("all that is left of it is its number")
        .hint("schedulearn ls");
  return not_found("job-removed", fmt::format("job {} was removed by the retention rule on {}", job.value, day))
      .note(removed.rule == "age"      ? "it had ended longer ago than jobs are kept"
            : removed.rule == "number" ? "more jobs had ended than are kept"
                                       : "the database was larger than it may be")
      .hint("schedulearn status");
}

// Those that a change of a job removes need not exist any more.
std::vector<wire::NotifySpec> added(std::vector<wire::NotifySpec> notify) {
  std::erase_if(notify, [](const wire::NotifySpec& each) { return each.on.empty(); });
  return notify;
}

Result<JobEntry> past_job(store::JobRow row, store::Reader& reader) {
  auto placements = reader.placements(row.id);
  if (!placements.ok()) return placements.error();
  return JobEntry{.row = std::move(row), .placements = std::move(*placements)};
}

}  // namespace

// FNV-1a.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

Status Api::expect_json(const Call& call, const char* what) {
  if (call.request.has_media_type("application/json")) return {};
  return invalid("media-type", std::string(what) + " is JSON: Content-Type: application/json");
}

net::Response json_response(int status, const json::value& body) {
  return {status, "application/json", {}, wire::json_text(body) + "\n"};
}

net::Response error_response(const Error& error, const std::string& path, const std::string& request_id, int status) {
  std::string problem = wire::problem_json(error, path, request_id);
  if (status != 0) {
    json::object document = json::parse(problem).as_object();
    document["status"] = status;
    problem = wire::json_text(document);
  }
  return {status != 0 ? status : wire::http_status(error), "application/problem+json", {}, problem + "\n"};
}

void Api::Call::send(int status, const json::value& body, const std::string& etag) const {
  net::Response response = json_response(status, body);
  response.headers.emplace_back("ETag", etag);
  reply->send(std::move(response));
}

Status Api::Call::check_match(const std::string& etag) const {
  const std::string wanted = request.header("if-match").value_or("*");
  std::istringstream each(wanted);
  for (std::string one; std::getline(each >> std::ws, one, ',');) {
    while (one.ends_with(' ')) one.pop_back();
    if (one == "*" || one == etag) return {};
  }
  return conflict("stale-etag", "it has changed since it was read: its ETag is " + etag + " now, not " + wanted)
      .hint("read it again, and decide anew");
}

Result<std::int64_t> Api::Call::number(std::string_view name, std::int64_t other, std::int64_t min,
                                       std::int64_t max) const {
  const auto text = request.parameter(name);
  if (!text) return other;
  const auto number = parse_whole_number(*text);
  if (number && *number >= min && *number <= max) return *number;
  const std::string range = max == std::numeric_limits<std::int64_t>::max()
                                ? std::to_string(min) + " or more"
                                : std::to_string(min) + " to " + std::to_string(max);
  return invalid("bad-parameter", std::string(name) + " is a whole number, " + range + "; not " + *text);
}

Result<std::string> Api::Call::one_of(std::string_view name, const std::vector<std::string_view>& words) const {
  const std::string text = request.parameter(name).value_or("");
  if (text.empty() || std::ranges::find(words, text) != words.end()) return text;
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  Error error = invalid("bad-parameter", fmt::format("{} is one of {}; not {}", name, all, text));
  if (const auto near = did_you_mean(text, words)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

std::optional<JobId> Api::job_id(const Call& call) const {
  const auto number = parse_whole_number(call.captured.front());
  return number ? std::optional(JobId(*number)) : std::nullopt;
}

void Api::with_job(Call call, WithJob work) {
  const auto id = job_id(call);
  if (!id) return call.fail(unknown_job(call.captured.front()));
  with_job(std::move(call), *id, std::move(work));
}

void Api::with_job(Call call, JobId job, WithJob work) {
  if (const JobEntry* entry = logic_.book().find(job)) return work(call, *entry);
  if (const auto entry = logic_.member_to_come(job)) return work(call, *entry);
  find_past(job, [call = std::move(call), work = std::move(work)](const Result<JobEntry>& past) {
    past.ok() ? work(call, *past) : call.fail(past.error());
  });
}

void Api::with_own_job(Call call, WithJob work) {
  with_job(std::move(call), [work = std::move(work)](const Call& asked, const JobEntry& entry) {
    if (asked.may_see(entry)) return work(asked, entry);
    asked.fail(denied("not-your-job", fmt::format("job {} belongs to {}", entry.row.id, entry.row.user)));
  });
}

void Api::find_past(JobId job, std::function<void(Result<JobEntry>)> then) {
  history_.ask<JobEntry>(
      [job](store::Reader& reader) -> Result<JobEntry> {
        auto row = reader.job(job.value);
        if (!row.ok()) return row.error();
        if (*row) return past_job(std::move(**row), reader);
        const auto removed = reader.removed(job.value);
        if (!removed.ok()) return removed.error();
        return *removed ? removed_job(job, **removed) : unknown_job(std::to_string(job.value));
      },
      std::move(then));
}

void Api::resolve_member(Call call, Action action) {
  const std::string text = call.captured.front();
  const std::size_t bar = text.find('_');
  const auto group = parse_whole_number(text.substr(0, bar)), index = parse_whole_number(text.substr(bar + 1));
  if (!group || !index) return call.fail(unknown_job(text));
  with_job(std::move(call), JobId(*group),
           [this, action, text, index = *index](const Call& asked, const JobEntry& entry) {
             const auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
             const auto place = spec.ok() ? wire::place_of_member(*spec, index) : std::nullopt;
             if (!place)
               return asked.fail(
                   not_found("no-such-member", "there is no job " + text)
                       .note(wire::is_group(*spec)
                                 ? fmt::format("job {} has {} members", entry.row.id, wire::member_count(*spec))
                                 : fmt::format("job {} is one job, not an array", entry.row.id))
                       .hint(fmt::format("schedulearn ls --group {}", entry.row.id)));
             Call member = asked;
             member.captured.front() = std::to_string(member_id(JobId(entry.row.id), *place).value);
             (this->*action)(std::move(member));
           });
}

void Api::with_past_states(const wire::JobSpec& spec, PastStates known, std::function<void(Result<PastStates>)> work) {
  std::vector<std::int64_t> unknown;
  for (const auto* jobs : {&spec.after, &spec.after_any}) {
    for (const std::int64_t id : *jobs) {
      if (!logic_.book().find(JobId(id)) && !known.contains(id)) unknown.push_back(id);
    }
  }
  if (unknown.empty()) return work(std::move(known));
  history_.ask<PastStates>(
      [unknown](store::Reader& reader) -> Result<PastStates> {
        PastStates states;
        for (const std::int64_t id : unknown) {
          const auto row = reader.job(id);
          if (!row.ok()) return row.error();
          states[id] = *row ? (*row)->state : "";
        }
        return states;
      },
      [this, spec, known = std::move(known), work = std::move(work)](const Result<PastStates>& states) mutable {
        if (!states.ok()) return work(states.error());
        known.insert(states->begin(), states->end());
        with_past_states(spec, std::move(known), std::move(work));  // one may have left memory meanwhile
      });
}

void Api::healthz(Call call) {
  if (logic_.recorder().is_refusing() && call.request.path == "/readyz") return call.fail(logic_.recorder().failure());
  call.send(200, answers::Health{.version = logic_.settings().version});
}

void Api::metrics(Call call) {
  call.reply->send({200, "text/plain; version=0.0.4; charset=utf-8", {}, metrics_text(logic_, *http_times_)});
}

// ---- jobs ----

void Api::create_job(Call call) { submit(std::move(call), false); }

void Api::submit(Call call, bool legacy) {
  const bool is_toml = call.request.has_media_type("application/toml");
  if (const Status json = is_toml ? Status() : expect_json(call, "a submission"); !json.ok())
    return call.fail(json.error());
  Result<wire::JobSpec> spec = (is_toml ? wire::parse_job_toml : wire::parse_job_json)(call.request.body, "");
  if (!spec.ok()) return call.fail(spec.error());
  if (spec->user.empty()) spec->user = call.user();
  if (const Status may = may_act_for(call.identity, spec->user); !may.ok()) return call.fail(may.error());
  if (call.request.parameter("dry_run") == "true") {
    if (spec->name.empty()) spec->name = default_name(spec->command);
    return with_past_states(*spec, {}, [this, call, spec = *spec](const Result<PastStates>& past) {
      if (!past.ok()) return call.fail(past.error());
      if (const Status checked = logic_.check(spec, *past); !checked.ok()) return call.fail(checked.error());
      if (const Status has = has_names(spec); !has.ok()) return call.fail(has.error());
      forecast_submission(forecasts_, logic_, spec, call.now,
                          [call, spec](const std::optional<answers::Estimate>& estimate) {
                            call.send(200, answers::CheckedJob{.spec = {wire::to_value(spec)}, .estimate = estimate});
                          });
    });
  }
  const std::string body = call.request.body;
  submit(std::move(call), std::move(*spec), body, legacy);
}

Status Api::has_all(const wire::JobSpec& spec) const {
  const Status has_code = snapshots_.use(spec);
  return has_code.ok() ? has_names(spec) : has_code;
}

// What the user has given a name. The code of a snapshot is sent only when the job is.
Status Api::has_names(const wire::JobSpec& spec) const {
  if (const Status has_secrets = secrets_ ? secrets_->check(spec) : Status(); !has_secrets.ok()) return has_secrets;
  return notifications_ ? notifications_->check(spec.user, spec.notify) : Status();
}

// What a request with a key is found by again: keys of two users are not the same. Empty: it has none.
Result<std::string> Api::idempotency_key_of(const Call& call) {
  const std::string key = call.request.header("idempotency-key").value_or("");
  if (key.size() > 200) return invalid("bad-idempotency-key", "an idempotency key has at most 200 bytes");
  if (!wire::is_utf8(key)) return invalid("bad-idempotency-key", "an idempotency key is UTF-8 text");
  return key.empty() ? key : call.user() + '\n' + key;
}

// `body`: with the same idempotency key, two requests are the same if they agree in it.
void Api::submit(Call call, wire::JobSpec spec, const std::string& body, bool legacy) {
  if (const Status has = has_all(spec); !has.ok()) return call.fail(has.error());
  auto key = idempotency_key_of(call);
  if (!key.ok()) return call.fail(key.error());
  Submission submission{std::move(spec), std::move(*key), hash_of(body)};
  const auto answer = [this, call, legacy](const Result<JobId>& job) {
    if (!job.ok()) return call.fail(job.error());
    with_job(call, *job, [this, legacy](const Call& asked, const JobEntry& entry) {
      net::Response response =
          json_response(201, legacy ? wire::to_value(answers::CreatedOriginalJob{original_job_view(entry)})
                                    : wire::to_value(job_view(logic_, entry, clock_(), true)));
      response.headers.emplace_back("Location", fmt::format("/api/v1/jobs/{}", entry.row.id));
      asked.reply->send(std::move(response));
    });
  };
  const wire::JobSpec named = submission.spec;
  with_past_states(named, {},
                   [this, call, answer, submission = std::move(submission)](Result<PastStates> past) mutable {
                     if (!past.ok()) return call.fail(past.error());
                     submission.past = std::move(*past);
                     logic_.submit(std::move(submission), clock_(), answer);
                   });
}

void Api::get_job(Call call) {
  const auto wait_ms = call.number("fresh_ms", 0, 0, 10'000);
  if (!wait_ms.ok()) return call.fail(wait_ms.error());
  const auto answer = [this, call] {
    with_job(call, [this](const Call& asked, const JobEntry& entry) {
      asked.send(200, wire::to_value(job_details_view(logic_, entry, clock_(), asked.may_see(entry))), etag_of(entry));
    });
  };
  *wait_ms > 0 ? with_forecast(call, Duration::milliseconds(*wait_ms), answer) : answer();
}

Logic::Done Api::answer_with_job(const Call& call) {
  return [this, call](const Result<JobId>& job) {
    if (!job.ok()) return call.fail(job.error());
    with_job(call, *job, [this](const Call& asked, const JobEntry& entry) {
      asked.send(202, wire::to_value(job_view(logic_, entry, clock_(), asked.may_see(entry))), etag_of(entry));
    });
  };
}

void Api::job_attempts(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    const auto attempts = job_details_view(logic_, entry, asked.now, asked.may_see(entry)).attempts;
    send_list(asked, {.count = attempts.size(),
                      .text_of = [attempts](std::size_t i) { return wire::json_text(wire::to_value(attempts[i])); }});
  });
}

void Api::edit_job(Call call) {
  if (const Status json = expect_json(call, "a change of a job"); !json.ok()) return call.fail(json.error());
  Result<wire::JobChange> change = wire::parse_job_change(call.request.body);
  if (!change.ok()) return call.fail(change.error());
  with_own_job(std::move(call), [this, change = std::move(*change)](const Call& asked, const JobEntry& entry) {
    if (const Status same = asked.check_match(etag_of(entry)); !same.ok()) return asked.fail(same.error());
    if (entry.row.finished_us) return asked.fail(already_ended(entry.row));
    const Status known = notifications_ ? notifications_->check(entry.row.user, added(change.notify)) : Status();
    if (!known.ok()) return asked.fail(known.error());
    const JobId job(entry.row.id);
    const bool only_asks = asked.request.parameter("dry_run") == "true";
    const Result<Submissions::Edit> edit = logic_.plan_edit(job, change, asked.now);
    if (edit.ok()) {
      for (const Priority& other : edit->others) {
        const JobEntry* others = logic_.book().find(other.job);
        if (others && !asked.may_see(*others))
          return asked.fail(
              denied("not-your-job", fmt::format("job {}, which belongs to {}, would get another priority",
                                                 other.job.value, others->row.user)));
      }
    }
    if (!only_asks) return logic_.edit(job, change, asked.user(), asked.now, answer_with_job(asked));
    if (!edit.ok()) return asked.fail(edit.error());
    preview_edit(forecasts_, logic_, entry, *edit, asked.now, [asked](const Result<answers::EditPreview>& preview) {
      preview.ok() ? asked.send(200, *preview) : asked.fail(preview.error());
    });
  });
}

void Api::cancel_job(Call call) {
  const auto wanted = wire::parse_cancellation(call.request.body);
  if (!wanted.ok()) return call.fail(wanted.error());
  with_own_job(std::move(call), [this, wanted = *wanted](const Call& asked, const JobEntry& entry) {
    if (entry.row.finished_us) return asked.fail(already_ended(entry.row));
    logic_.cancel(JobId(entry.row.id), asked.user(), asked.now, answer_with_job(asked), wanted);
  });
}

void Api::signal_job(Call call) {
  if (const Status json = expect_json(call, "a signal"); !json.ok()) return call.fail(json.error());
  const auto wanted = wire::parse_signal_request(call.request.body);
  if (!wanted.ok()) return call.fail(wanted.error());
  with_own_job(std::move(call), [this, signal = wanted->signal](const Call& asked, const JobEntry& entry) {
    if (entry.row.finished_us) return asked.fail(already_ended(entry.row));
    logic_.signal(JobId(entry.row.id), signal, asked.user(), asked.now, answer_with_job(asked));
  });
}

// Of an array, with all its members.
void Api::remove_job(Call call) {
  with_own_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    const JobId job(entry.row.id);
    if (!entry.row.finished_us)
      return asked.fail(conflict("job-not-finished", fmt::format("job {} has not ended", job.value))
                            .hint(fmt::format("schedulearn cancel {}", job.value)));
    store::Removal removal{.at_us = asked.now.us, .rule = "request", .jobs = {{job.value, entry.row.state}}};
    removal.by = asked.user();
    const std::size_t members = is_group(entry.row) ? wire::members_max : 0;
    history_.ask<std::vector<store::FinishedJob>>(
        [job, members](store::Reader& reader) -> Result<std::vector<store::FinishedJob>> {
          if (members == 0) return std::vector<store::FinishedJob>();
          const auto rows = reader.finished_jobs({.group = job.value, .limit = members});
          if (!rows.ok()) return rows.error();
          std::vector<store::FinishedJob> jobs;
          for (const store::JobRow& row : *rows) jobs.push_back({row.id, row.state});
          return jobs;
        },
        [this, asked, job, removal = std::move(removal)](const Result<std::vector<store::FinishedJob>>& more) mutable {
          if (!more.ok()) return asked.fail(more.error());
          removal.jobs.insert(removal.jobs.end(), more->begin(), more->end());
          const std::size_t count = removal.jobs.size();
          logic_.remove_history(std::move(removal), clock_(), [asked, job, count](const Status& status) {
            status.ok() ? asked.send(200, answers::RemovedJob{job.value, count}) : asked.fail(status.error());
          });
        });
  });
}

void Api::explain_job(Call call) {
  if (const auto at = call.request.parameter("at")) {
    const auto at_us = wire::parse_time_us(*at);
    if (!at_us.ok()) return call.fail(invalid("bad-time", "not a time: " + *at).hint("at=2026-11-23T21:00:00Z"));
    if (*at_us > call.now.us)
      return call.fail(invalid("bad-time", *at + " is yet to come")
                           .hint("without at, the answer says when it is expected to start"));
    return explain_job_then(call, *at_us);
  }
  with_forecast(call, Duration::milliseconds(100), [this, call] {
    const Instant now = clock_();
    suggester_.suggest(job_id(call).value_or(JobId()), now, now + Duration::milliseconds(70),
                       [this, call](const Suggestions& suggestions) { answer_explained(call, suggestions); });
  });
}

void Api::explain_job_then(const Call& call, std::int64_t at_us) {
  with_job(call, [this, at_us](const Call& asked, const JobEntry& entry) {
    Hindsight hindsight{logic_.policies().history(), {}};
    for_each_server(logic_.core(), [&](const Server& server, ServerIndex) {
      hindsight.servers_gpus[server.description.name] = server.description.gpus;
    });
    history_.ask<answers::Explanation>(
        [row = entry.row, hindsight = std::move(hindsight), at_us](store::Reader& reader) {
          return explain_then(reader, row, hindsight, at_us);
        },
        [asked](const Result<answers::Explanation>& view) {
          view.ok() ? asked.send(200, *view) : asked.fail(view.error());
        });
  });
}

void Api::answer_explained(const Call& call, const Suggestions& suggestions) {
  with_job(call, [this, suggestions](const Call& asked, const JobEntry& entry) {
    answers::Explanation view = explain_view(logic_, entry, clock_());
    view.suggestions = suggestions.items;
    if (!suggestions.note.empty()) view.suggestions_note = suggestions.note;
    asked.send(200, view);
  });
}

// ---- policy ----

void Api::list_policies(Call call) {
  send_list(call, {.count = policies().size(), .text_of = [missing = missing_facts(logic_.core())](std::size_t i) {
                     return wire::json_text(wire::to_value(describe(policies()[i].info, missing)));
                   }});
}

void Api::describe_policy(Call call) {
  const MissingFacts missing = missing_facts(logic_.core());
  if (call.captured.front() == logic_.policies().in_force().name)
    return call.send(200, describe(logic_.policies().info(), missing));
  const PolicyEntry* entry = find_policy(call.captured.front());
  entry ? call.send(200, describe(entry->info, missing)) : call.fail(unknown_policy(call.captured.front()));
}

void Api::get_policy(Call call) {
  call.send(200, wire::to_value(policy_view(logic_, shadow_name(shadow_))), etag_of(logic_.policies().in_force()));
}

namespace {

// With its source, if it is a user's own one.
Result<PolicyChange> chosen_in(const PolicyBody& body) {
  PolicyChange change = change_of(body);
  if (!body.source) return change;
  if (body.source->empty()) return invalid("policy-empty", "the source of the policy is empty").at("/source");
  change.source = *body.source;
  if (!change.name.ends_with(".py")) change.name += ".py";
  return change;
}

}  // namespace

void Api::put_policy(Call call) {
  if (const Status json = expect_json(call, "a policy change"); !json.ok()) return call.fail(json.error());
  const auto body = wire::read_json<PolicyBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  const std::string etag = etag_of(logic_.policies().in_force());
  if (const Status same = call.check_match(etag); !same.ok()) return call.fail(same.error());
  auto change = chosen_in(*body);
  if (!change.ok()) return call.fail(change.error());
  const bool changed = !logic_.policies().is_in_force(*change);
  logic_.set_policy(std::move(*change), call.user(), call.now, [this, call, changed](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    call.send(200, answers::ChosenPolicy{policy_view(logic_, shadow_name(shadow_)), changed});
  });
}

void Api::plan_policy(Call call) {
  if (const Status json = expect_json(call, "a policy change"); !json.ok()) return call.fail(json.error());
  const auto body = wire::read_json<PlanBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  const auto at = wire::parse_time_us(body->at);
  if (!at.ok()) return call.fail(Error(at.error()).at("/at"));
  auto change = chosen_in(*body);
  if (!change.ok()) return call.fail(change.error());
  logic_.plan_policy(std::move(*change), Instant{*at}, call.user(), call.now, [this, call](const Status& status) {
    status.ok() ? get_policy(call) : call.fail(status.error());
  });
}

void Api::call_off_policy(Call call) {
  logic_.call_off_policy(call.user(), call.now, [this, call](const Status& status) {
    status.ok() ? get_policy(call) : call.fail(status.error());
  });
}

void Api::policy_history(Call call) {
  const auto& history = logic_.policies().history();
  const std::vector<store::PolicyRow> rows(history.rbegin(), history.rend());
  send_list(call, {.count = rows.size(), .text_of = [rows](std::size_t i) {
                     return wire::json_text(wire::to_value(policy_change_view(rows[i])));
                   }});
}

void Api::undo_policy(Call call) {
  logic_.undo_policy(call.user(), call.now, [this, call](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    call.send(200, answers::ChosenPolicy{policy_view(logic_, shadow_name(shadow_))});
  });
}

// ---- events ----

void Api::list_events(Call call) { send_events(call, std::nullopt); }

void Api::job_events(Call call) {
  with_job(std::move(call),
           [this](const Call& asked, const JobEntry& entry) { send_events(asked, JobId(entry.row.id)); });
}

namespace {

// `since` is the number of an event or a time, `until` a time.
Status read_bounds(const net::Request& request, store::EventQuery& query) {
  const auto since = request.parameter("since"), until = request.parameter("until");
  if (since) {
    query.after = parse_whole_number(*since).value_or(-1);
    const auto us = *query.after < 0 ? wire::parse_time_us(*since) : Result<std::int64_t>(0);
    if (!us.ok())
      return invalid("bad-parameter",
                     "since is the number of an event, or a time, 2026-11-23T21:00:00Z; not " + *since);
    query.after = std::max<std::int64_t>(0, *query.after);
    query.since_us = *us;
  }
  const auto us = until ? wire::parse_time_us(*until) : Result<std::int64_t>(query.until_us);
  if (!us.ok()) return invalid("bad-parameter", "until is a time, 2026-11-23T21:00:00Z; not " + *until);
  query.until_us = *us;
  return {};
}

}  // namespace

// Without `since`: the latest.
void Api::send_events(const Call& call, std::optional<JobId> job) {
  store::EventQuery query;
  const auto limit = call.number("limit", 100, 1, 10'000);
  const auto cursor = call.cursor();
  if (!limit.ok()) return call.fail(limit.error());
  if (!cursor.ok()) return call.fail(cursor.error());
  if (const Status within = read_bounds(call.request, query); !within.ok()) return call.fail(within.error());
  if (job) query.job = job->value;
  if (!job) query.server = call.request.parameter("server").value_or("");
  const auto about = call.one_of("about", {wire::event_subjects.begin(), wire::event_subjects.end()});
  if (!about.ok()) return call.fail(about.error());
  query.about = *about;
  query.progress = call.request.parameter("progress") != "false";
  query.notable = call.request.parameter("notable") == "true";
  if (*cursor) query.after = **cursor;
  query.limit = static_cast<std::size_t>(*limit);
  history_.ask<std::string>(
      [query, call](store::Reader& reader) -> Result<std::string> {
        const auto rows = reader.events(query);
        if (!rows.ok()) return rows.error();
        ListText items;
        for (const store::EventRow& row : *rows) items.add(wire::to_value(event_view(row)));
        return std::move(items).end(
            nullptr, rows->empty() ? json::value(nullptr) : json::value(call.next_cursor(rows->back().seq)));
      },
      [call](const Result<std::string>& text) { text.ok() ? call.send(*text) : call.fail(text.error()); });
}

}  // namespace sl::controller
