// What GPUs and the queue did over time.
#include "controller/api.h"
#include "controller/outlook.h"
#include "controller/usage.h"
#include "controller/views.h"
#include "wire/members.h"

namespace sl::controller {
namespace {

constexpr std::int64_t hours_max = 24;

Error nothing_measured() { return conflict("not-running", "only a running controller measures"); }

answers::SeriesDocument series_view(const Series::Piece& piece) {
  answers::SeriesDocument view{{piece.from_us}, {piece.to_us}, static_cast<double>(piece.step_s), {}};
  for (const Series::Line& line : piece.lines) view.series.push_back({line.name, line.labels, line.values});
  return view;
}

answers::SeriesDocument held_view(const Core& core, const Prospects& prospects, Duration ahead) {
  const forecast::GpusHeld& held = prospects.forecast.held;
  const auto is_within = [&](Instant at) { return at <= held.at.front() + ahead; };
  const auto count = static_cast<std::ptrdiff_t>(std::ranges::count_if(held.at, is_within));
  const double step_s = held.at.size() < 2 ? 0 : (held.at[1] - held.at[0]).to_seconds();
  answers::SeriesDocument view{{held.at.front().us}, {held.at[static_cast<std::size_t>(count - 1)].us}, step_s, {}};
  for (const auto& [quantile, share] : {std::pair{"0.1", &forecast::GpusHeld::Share::p10},
                                        {"0.5", &forecast::GpusHeld::Share::p50},
                                        {"0.9", &forecast::GpusHeld::Share::p90}}) {
    answers::SeriesLine& line =
        view.series.emplace_back(answers::SeriesLine{"gpus_held", {{"quantile", quantile}}, {}});
    for (std::ptrdiff_t i = 0; i < count; ++i) line.values.emplace_back(held.all[static_cast<std::size_t>(i)].*share);
  }
  for (std::size_t s = 0; s < std::min(held.server.size(), prospects.servers.size()); ++s) {
    const ServerIndex index = core.find_server(prospects.servers[s]);
    if (!index.valid() || core.servers()[index].state == ServerState::removed) continue;
    view.series.push_back(
        {"gpus_held",
         {{"server", prospects.servers[s]}, {"gpus", std::to_string(core.servers()[index].description.gpus)}},
         {held.server[s].begin(), held.server[s].begin() + count}});
  }
  return view;
}

}  // namespace

void Api::cluster_series(Call call) {
  if (!series_) return call.fail(nothing_measured());
  const auto hours = call.number("hours", 1, 1, hours_max);
  if (!hours.ok()) return call.fail(hours.error());
  const auto by = call.request.parameter("by");
  if (by && *by != "server") return call.fail(invalid("bad-parameter", "by is server, or left out; not " + *by));
  call.send(200, series_view(by ? series_->servers(call.now, *hours) : series_->cluster(call.now, *hours)));
}

// GPUs that jobs will hold: of all servers the range of 8 of 10 futures, of each one the mean.
void Api::cluster_forecast(Call call) {
  const auto hours = call.number("hours", hours_max, 1, hours_max);
  if (!hours.ok()) return call.fail(hours.error());
  with_forecast(call, Duration::milliseconds(500), [this, call, hours = *hours] {
    const auto prospects = logic_.outlook() ? logic_.outlook()->latest() : nullptr;
    if (!prospects || prospects->forecast.held.at.empty())
      return call.fail(
          prospects && prospects->forecast.failure
              ? *prospects->forecast.failure
              : unavailable("no-forecasts", "no forecast has been made yet").hint("try again in a moment"));
    call.send(200, held_view(logic_.core(), *prospects, Duration::whole_seconds(3600 * hours)));
  });
}

void Api::server_series(Call call) {
  if (!series_) return call.fail(nothing_measured());
  const auto hours = call.number("hours", 1, 1, hours_max);
  if (!hours.ok()) return call.fail(hours.error());
  const std::string& name = call.captured.front();
  const ServerIndex index = logic_.core().find_server(name);
  if (!index.valid() || logic_.core().servers()[index].state == ServerState::removed)
    return call.fail(not_found("server-not-found", "there is no server " + name).hint("schedulearn servers ls"));
  call.send(200, series_view(series_->server(name, call.now, *hours)));
}

void Api::job_series(Call call) {
  if (!series_) return call.fail(nothing_measured());
  const auto hours = call.number("hours", 1, 1, hours_max);
  if (!hours.ok()) return call.fail(hours.error());
  with_job(std::move(call), [this, hours = *hours](const Call& asked, const JobEntry& entry) {
    asked.send(200, series_view(series_->job(entry, asked.now, hours)));
  });
}

void Api::job_usage(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    if (is_group(entry.row)) return group_usage(asked, entry);
    constexpr std::size_t events_max = 100'000;
    history_.ask<std::vector<store::EventRow>>(
        [id = entry.row.id](store::Reader& reader) {
          return reader.events({.job = id, .after = 0, .limit = events_max});
        },
        [this, asked](const Result<std::vector<store::EventRow>>& events) {
          if (!events.ok()) return asked.fail(events.error());
          with_job(asked, [this, events = *events](const Call& again, const JobEntry& now) {
            again.send(200, usage_view(logic_.core(), now, events, series_, again.now));
          });
        });
  });
}

void Api::group_usage(const Call& call, const JobEntry& group) {
  history_.ask<std::vector<store::JobRow>>(
      [id = group.row.id](store::Reader& reader) {
        return reader.finished_jobs({.group = id, .limit = wire::members_max});
      },
      [this, call](const Result<std::vector<store::JobRow>>& ended) {
        if (!ended.ok()) return call.fail(ended.error());
        with_job(call, [this, ended = *ended](const Call& again, const JobEntry& now) {
          again.send(200, group_usage_view(logic_, now, ended, again.now));
        });
      });
}

}  // namespace sl::controller
