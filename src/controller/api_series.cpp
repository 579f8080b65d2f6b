// What GPUs and the queue did over time.
#include "controller/api.h"
#include "controller/views.h"

namespace sl::controller {
namespace {

constexpr std::int64_t hours_max = 24;

Error nothing_measured() { return conflict("not-running", "only a running controller measures"); }

answers::SeriesDocument series_view(const Series::Piece& piece) {
  answers::SeriesDocument view{{piece.from_us}, {piece.to_us}, piece.step_s, {}};
  for (const Series::Line& line : piece.lines) view.series.push_back({line.name, line.labels, line.values});
  return view;
}

}  // namespace

void Api::cluster_series(Call call) {
  if (!series_) return call.fail(nothing_measured());
  const auto hours = call.number("hours", 1, 1, hours_max);
  hours.ok() ? call.send(200, series_view(series_->cluster(call.now, *hours))) : call.fail(hours.error());
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

}  // namespace sl::controller
