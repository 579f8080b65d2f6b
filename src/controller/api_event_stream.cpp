// GET /api/v1/events/stream: what happens, as it happens. Events are read from the database, so that a reader sees only
// what is durable and may continue after any number; readers that have seen the same share one read.
#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>

#include "base/whole_number.h"
#include "controller/api.h"
#include "controller/views.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr std::int64_t events_behind_max = 10'000;  // a reader further behind begins anew
constexpr std::size_t events_per_read = 500;
constexpr std::size_t watchers_max = 1'000;
constexpr Duration watch_every = Duration::milliseconds(50);  // between two reads for one reader
constexpr Duration speak_every = Duration::whole_seconds(5);  // measurements change without an event
constexpr Duration watcher_patience = Duration::whole_seconds(30);

std::string frame(std::string_view event, std::optional<std::int64_t> id, const json::value& data) {
  return fmt::format("{}event: {}\ndata: {}\n\n", id ? fmt::format("id: {}\n", *id) : "", event, wire::json_text(data));
}

}  // namespace

struct Api::Watcher {
  std::int64_t seen = 0;  // the last event it was sent
  std::shared_ptr<net::Stream> stream;
  Instant spoke, looked, stalled;      // `stalled`: since when it has not read; not set while it reads
  Instant commit_seen;                 // the last commit whose events it has looked for
  bool is_behind = false;              // there is more to read for it
  std::set<std::int64_t> simulations;  // of which there is something new, which it will be told
};

void Api::stream_events(Call call) {
  const std::int64_t newest = logic_.recorder().next_event() - 1;
  const auto since = call.number("since", newest, 0, std::numeric_limits<std::int64_t>::max());
  if (!since.ok()) return call.fail(since.error());
  std::erase_if(watchers_, [](const auto& watcher) { return watcher->stream->closed(); });
  if (watchers_.size() >= watchers_max)
    return call.fail(unavailable("too-many-streams", "too many readers follow the events of this controller"));
  auto watcher = std::make_shared<Watcher>();
  watcher->seen = parse_whole_number(call.request.header("last-event-id").value_or("")).value_or(*since);
  // Numbers from the future come from before a restored backup.
  const bool is_reset = watcher->seen > newest || newest - watcher->seen > events_behind_max;
  if (is_reset) watcher->seen = newest;
  watcher->is_behind = watcher->seen < newest;
  watcher->spoke = call.now;
  watcher->stream = call.reply->stream({200,
                                        "text/event-stream",
                                        {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}},
                                        frame(is_reset ? "reset" : "begin", watcher->seen,
                                              json::object{{"seq", watcher->seen},
                                                           {"version", logic_.settings().version},
                                                           {"started_at", rfc3339(logic_.started().us)}})});
  end_with_identity(call, watcher->stream, true);
  watchers_.push_back(std::move(watcher));
}

void Api::tend_watchers(Instant now) {
  std::erase_if(watchers_, [&](const std::shared_ptr<Watcher>& watcher) {
    if (watcher->stalled.happened() && now >= watcher->stalled + watcher_patience) watcher->stream->close();
    return watcher->stream->closed();
  });
  const std::int64_t newest = logic_.recorder().next_event() - 1;
  const Instant commit = logic_.recorder().committed_at();
  std::map<std::int64_t, Watchers> together;
  for (const auto& watcher : watchers_) {
    if (watcher->stalled.happened()) continue;
    if (!watcher->simulations.empty()) {
      tell_simulations(*watcher, now);
      continue;
    }
    const bool may_have_more = watcher->seen < newest && (watcher->is_behind || watcher->commit_seen != commit);
    if (may_have_more && !(watcher->looked.happened() && now < watcher->looked + watch_every)) {
      together[watcher->seen].push_back(watcher);
    } else if (now >= watcher->spoke + speak_every) {
      tell(*watcher, frame("sample", std::nullopt, json::object{{"at", rfc3339(now.us)}}), now);
    }
  }
  for (auto& [seen, watchers] : together) read_for(std::move(watchers), seen, now);
}

// The news of a simulation is no event that is kept: whoever connects again reads what there is.
void Api::on_simulation_changed(std::int64_t id) {
  for (const auto& watcher : watchers_) watcher->simulations.insert(id);
}

void Api::tell_simulations(Watcher& watcher, Instant now) {
  std::string text;
  for (const std::int64_t id : watcher.simulations) text += frame("simulation", std::nullopt, json::object{{"id", id}});
  watcher.simulations.clear();
  tell(watcher, std::move(text), now);
}

void Api::read_for(Watchers watchers, std::int64_t seen, Instant now) {
  for (const auto& watcher : watchers) {
    watcher->looked = watcher->stalled = now;  // until the answer is there
    watcher->commit_seen = logic_.recorder().committed_at();
  }
  struct Events {
    std::string text;
    std::int64_t last;
    bool is_all;
  };
  history_.ask<Events>(
      [seen](store::Reader& reader) -> Result<Events> {
        const auto rows = reader.events({.after = seen, .limit = events_per_read});
        if (!rows.ok()) return rows.error();
        Events events{"", seen, rows->size() < events_per_read};
        for (const store::EventRow& row : *rows) {
          events.text += frame("event", row.seq, wire::to_value(event_view(row)));
          events.last = row.seq;
        }
        return events;
      },
      [this, watchers = std::move(watchers)](const Result<Events>& events) {
        for (const auto& watcher : watchers) {
          watcher->stalled = Instant();
          if (!events.ok()) {  // too many reads: again on a later turn
            watcher->is_behind = true;
            continue;
          }
          watcher->seen = events->last;
          watcher->is_behind = !events->is_all;
          if (!events->text.empty()) tell(*watcher, events->text, clock_());
        }
      });
}

// A reader that has not read what it was sent gets nothing more until it has.
void Api::tell(Watcher& watcher, std::string text, Instant now) {
  watcher.spoke = now;
  watcher.stream->write(std::move(text));
  if (watcher.stream->unsent_bytes() == 0) return;
  watcher.stalled = now;
  const auto found = std::ranges::find_if(watchers_, [&](const auto& other) { return other.get() == &watcher; });
  if (found == watchers_.end()) return;
  when_read(watcher.stream, [weak = std::weak_ptr(*found)] {
    if (const auto kept = weak.lock()) kept->stalled = Instant();
  });
}

}  // namespace sl::controller
