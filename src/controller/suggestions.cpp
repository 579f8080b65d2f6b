#include "controller/suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "controller/estimate_views.h"

namespace sl::controller {
namespace {

using forecast::Change;
using forecast::Remedy;

constexpr std::size_t draws_most = 12, draws_few = 4;
constexpr double changes_typical = 4;  // with the job as it is
// In a long queue.
constexpr Duration slow_time_most = Duration::whole_seconds(20);
constexpr Duration found_renewed_after = Duration::whole_seconds(30);
constexpr Duration found_kept_for = Duration::whole_seconds(120);
constexpr const char* being_tried = "changes are being tried, which takes some seconds";
constexpr const char* others_first = "changes to another job are being tried first";
constexpr const char* no_time = "there was no time to try all changes";

std::string what_of(const Change& change) {
  const auto gpus = [](int n) { return fmt::format("{} GPU{}", n, n == 1 ? "" : "s"); };
  if (change.gpus && change.gpus_min == change.gpus) return "with " + gpus(*change.gpus);
  if (change.gpus) return fmt::format("with {} to {}", change.gpus_min.value_or(1), gpus(*change.gpus));
  if (change.servers) return fmt::format("on up to {} servers", *change.servers);
  if (change.time_limit) return fmt::format("with a time limit of {:.0f} min", change.time_limit->to_seconds() / 60);
  if (change.max_running) return fmt::format("with {} of its members at once", *change.max_running);
  return "on any type of GPU";
}

std::optional<wire::Object> patch_of(const Change& change) {
  wire::Object patch;
  if (change.gpus && change.gpus_min == change.gpus) patch.members["gpus"] = *change.gpus;
  if (change.gpus && change.gpus_min != change.gpus)
    patch.members["gpus"] = fmt::format("{}..{}", change.gpus_min.value_or(1), *change.gpus);
  if (change.servers) patch.members["servers"] = *change.servers;
  if (change.time_limit) patch.members["time_limit_s"] = change.time_limit->us / 1'000'000;
  if (change.max_running) patch.members["max_running"] = *change.max_running;
  return patch.members.empty() ? std::nullopt : std::optional(std::move(patch));
}

std::optional<std::string> command_of(const Change& change, JobId job) {
  std::string flags;
  if (change.gpus && change.gpus_min == change.gpus) flags += fmt::format(" --gpus {}", *change.gpus);
  if (change.gpus && change.gpus_min != change.gpus)
    flags += fmt::format(" --gpus {}..{}", change.gpus_min.value_or(1), *change.gpus);
  if (change.servers) flags += fmt::format(" --servers {}", *change.servers);
  if (change.time_limit) flags += fmt::format(" --time-limit {:.0f}m", change.time_limit->to_seconds() / 60);
  if (change.max_running) flags += fmt::format(" --max-running {}", *change.max_running);
  if (flags.empty()) return std::nullopt;  // only another submission changes it
  return fmt::format("schedulearn set {}{}", job.value, flags);
}

std::string minute_text(Instant at) { return rfc3339(at.us).substr(0, 16) + "Z"; }

bool is_at_once(const forecast::Range& start, Instant now) { return start.p90 <= now + Duration::whole_seconds(1); }

std::string starts_text(const forecast::Range& start, const std::optional<std::string>& server, Instant now) {
  return fmt::format("it starts {}{}", is_at_once(start, now) ? "now" : "about " + minute_text(start.p50),
                     server ? " on " + *server : "");
}

// Changes are tried in few futures. The estimate that people see beside them rests on more: what a change saves is taken
// off that, so that one answer tells one time for the job as it is.
void measure_against(const forecast::JobForecast& shown, Instant now, Remedy& remedy) {
  const auto refer = [](const std::optional<forecast::Range>& known, forecast::Range& before, forecast::Range* with) {
    if (!known) return;
    const Duration by = known->p50 - before.p50;
    before = *known;
    if (with) *with = {with->p10 + by, with->p50 + by, with->p90 + by};
  };
  const bool starts_now = remedy.start && is_at_once(*remedy.start, now);
  if (remedy.start && remedy.start_before)
    refer(shown.start, *remedy.start_before, starts_now ? nullptr : &*remedy.start);
  refer(shown.finish, remedy.finish_before, starts_now ? nullptr : &remedy.finish);
  if (!remedy.start) return;  // the two rest on different futures, but nothing ends before it starts
  remedy.finish = {std::max(remedy.finish.p10, remedy.start->p10), std::max(remedy.finish.p50, remedy.start->p50),
                   std::max(remedy.finish.p90, remedy.start->p90)};
}

answers::Suggestion view_of(const Remedy& remedy, const Told& told, JobId job) {
  const Instant now = told.present.now;
  answers::Suggestion view;
  view.what = what_of(remedy.change);
  if (remedy.server.valid() && !remedy.change.servers)
    view.server = told.present.servers[remedy.server.value].description.name;
  const std::string starts = remedy.start ? starts_text(*remedy.start, view.server, now) + " and" : "its last member";
  view.text = fmt::format("{} {} ends about {} instead of {}", view.what, starts, minute_text(remedy.finish.p50),
                          minute_text(remedy.finish_before.p50));
  view.patch = patch_of(remedy.change);
  view.command = command_of(remedy.change, job);
  if (remedy.start) view.predicted_start = range_view(*remedy.start, now);
  view.predicted_finish = range_view(remedy.finish, now);
  if (remedy.start_before) view.start_as_it_is = range_view(*remedy.start_before, now);
  view.finish_as_it_is = range_view(remedy.finish_before, now);
  return view;
}

// On the forecast's thread.
Suggestions tried(Forecasts& forecasts, Told& told, const forecast::JobForecast& shown,
                  forecast::RemedySettings settings, Instant until) {
  Suggestions suggestions;
  const std::size_t at = told.present.find(shown.job);
  auto maker = forecasts.maker_of(told.policy);
  if (at >= told.present.jobs.size() || !maker.ok()) return suggestions;
  const auto prospects =
      forecast::prospects_of(told.present, forecasts.known().facts_of(told), forecasts.known().lengths());
  settings.make_policy = std::move(*maker);
  settings.continue_present = forecasts.continue_present();
  settings.stop = [&] { return forecasts.is_ending() || forecasts.now() >= until; };
  for (Remedy& remedy : forecast::remedies(told.present, prospects, at, settings)) {
    measure_against(shown, told.present.now, remedy);
    if (remedy.finish.p50 >= remedy.finish_before.p50) continue;
    suggestions.items.push_back(view_of(remedy, told, shown.job));
  }
  if (suggestions.items.empty() && forecasts.now() >= until) suggestions.note = no_time;
  return suggestions;
}

// The job waits for GPUs, or some member of the group does, and it is known until when.
bool can_be_helped(const Core& core, JobIndex index, const forecast::JobForecast& known) {
  const Job& job = core.job(index);
  if (job.on_hold) return false;
  if (!job.group) return job.is_waiting() && known.start;
  const ReasonCode why = core.explain(index);
  const bool members_wait = job.state == JobState::pending && why != ReasonCode::none;
  return members_wait && why != ReasonCode::dependency && why != ReasonCode::not_before && known.finish;
}

// Whether its command would run as one training on two servers.
bool may_spread(const wire::JobSpec& spec) {
  const bool meets = spec.launch == "torchrun" || spec.launch == "ranks" || spec.launch == "mpi";
  return meets && wire::validate(wire::changed(spec, {.servers = 2})).ok();
}

// Calls `done` on the core's thread.
void try_changes(Forecasts& forecasts, const Logic& logic, const JobEntry& entry, const forecast::JobForecast& known,
                 std::size_t draws, Instant now, Instant until, std::function<void(const Suggestions&)> done) {
  const forecast::RemedySettings settings{
      .is_elastic = logic.policies().info().elastic, .may_spread = may_spread(spec_of(entry)), .draws = draws};
  const auto told = std::make_shared<Told>(forecasts.tell_present(now));
  forecasts.ask([=](Forecasts& self) {
    self.learn(*told);
    self.post([done, found = tried(self, *told, known, settings, until)] { done(found); });
  });
}

std::string as_it_is(const JobEntry& entry) { return fmt::format("{} {}", entry.row.priority, entry.row.spec_json); }

}  // namespace

void Suggester::suggest(JobId job, Instant now, Instant until, std::function<void(Suggestions)> done) {
  std::erase_if(found_, [now](const auto& item) { return now >= item.second.at + found_kept_for; });
  const auto latest = forecasts_.outlook().latest();
  const JobEntry* entry = logic_.book().find(job);
  const JobIndex index = logic_.core().find(job);
  const forecast::JobForecast* known = latest ? latest->forecast.find(job) : nullptr;
  if (!entry || !index.valid() || !known || !can_be_helped(logic_.core(), index, *known)) return done({});
  const double per_draw_s =
      latest->took.to_seconds() / static_cast<double>(std::max<std::size_t>(1, latest->forecast.draws));
  const double affordable = (until - now).to_seconds() / (per_draw_s * changes_typical + 1e-9);
  const bool is_slow = affordable < static_cast<double>(draws_few);
  if (const Found* before = is_slow ? found_before(*entry) : nullptr) {
    const bool is_new = now < before->at + found_renewed_after;
    std::exchange(done, [](const Suggestions&) {})(before->suggestions);
    if (is_new) return;
  }
  if (forecasts_.is_full() || (is_slow && tried_now_.valid()))
    return done({{}, tried_now_ == job ? being_tried : others_first});
  // Whatever comes first, what is found or the end of the time.
  const auto answer = [waiting =
                           std::make_shared<std::function<void(Suggestions)>>(std::move(done))](Suggestions found) {
    if (const auto once = std::exchange(*waiting, nullptr)) once(std::move(found));
  };
  forecasts_.at(until, [answer] { answer({{}, being_tried}); });
  if (!is_slow) {
    const auto draws = static_cast<std::size_t>(std::min(affordable, static_cast<double>(draws_most)));
    return try_changes(forecasts_, logic_, *entry, *known, draws, now, until, answer);
  }
  tried_now_ = job;
  try_changes(forecasts_, logic_, *entry, *known, draws_most, now, now + slow_time_most,
              [this, job, answer, as_it_was = as_it_is(*entry),
               since_us = logic_.policies().in_force().since_us](const Suggestions& found) {
                tried_now_ = {};
                found_[job] = {forecasts_.now(), as_it_was, since_us, found};
                answer(found);
              });
}

const Suggester::Found* Suggester::found_before(const JobEntry& entry) const {
  const auto at = found_.find(JobId(entry.row.id));
  if (at == found_.end()) return nullptr;
  const Found& found = at->second;
  if (found.job_as_it_was != as_it_is(entry)) return nullptr;
  return found.policy_since_us == logic_.policies().in_force().since_us ? &found : nullptr;
}

}  // namespace sl::controller
