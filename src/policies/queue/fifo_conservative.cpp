#include "policies/queue/fifo_conservative.h"

#include <algorithm>
#include <boost/container/flat_map.hpp>
#include <charconv>
#include <optional>
#include <sstream>

#include "policy/future_gpus.h"
#include "policy/placer.h"
#include "policy/queue_policy.h"

namespace sl {
namespace {

constexpr const char* promises_version = "fifo_conservative-1";

using Promises = boost::container::flat_map<JobId, Booking>;

void append(std::string& text, char before, std::int64_t number) {
  constexpr std::size_t digits_max = 20;
  const std::size_t size = text.size();
  text.resize(size + 1 + digits_max);
  text[size] = before;
  const auto [end, error] = std::to_chars(&text[size + 1], text.data() + text.size(), number);
  text.resize(static_cast<std::size_t>(end - text.data()));
}

// One line per job: id, start and length in microseconds, server:count for each server.
std::string to_text(const Promises& promises) {
  std::string text = promises_version;
  for (const auto& [id, booking] : promises) {
    append(text, '\n', id.value);
    append(text, ' ', booking.from.us);
    append(text, ' ', booking.length.us);
    for (const ServerCount& part : booking.on) {
      append(text, ' ', part.server.value);
      append(text, ':', part.gpus);
    }
  }
  return text;
}

Promises parse(const std::string& text) {
  Promises promises;
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != promises_version) return promises;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    JobId id;
    Booking booking;
    words >> id.value >> booking.from.us >> booking.length.us;
    ServerCount part;
    for (char colon = 0; words >> part.server.value >> colon >> part.gpus;) booking.on.push_back(part);
    if (!booking.on.empty()) promises.emplace(id, std::move(booking));
  }
  return promises;
}

// A job that moves to an earlier time may let others move. Each round moves a job to an earlier time, so this ends; the
// limit is a safeguard.
constexpr int rounds_max = 32;

class FifoConservative : public ArrivalPolicy {
 public:
  FifoConservative(const ReservationSettings& settings, int depth) : settings_(settings), depth_(depth) {}

  void attach(const Snapshot& snapshot) override {
    ArrivalPolicy::attach(snapshot);
    room_.reset();
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    ArrivalPolicy::notice(snapshot, kind, job);
    const bool may_be_other = kind == NoticeKind::waiting && recalled_.contains(snapshot.job(job).request.id);
    if (may_be_other || kind == NoticeKind::edited) room_.reset();  // it may ask for less than when it was promised
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (lines_.empty()) return;
    gather(snapshot, recall(snapshot.memory.blob));
    if (snapshot.free.total() == 0 &&
        std::ranges::all_of(entries_, [](const Entry& entry) { return entry.booked.has_value(); }))
      return;  // all promises hold
    const std::vector<Holding> held = holdings(snapshot, settings_);
    FutureGpus future(snapshot, held);
    const bool same_lengths = book_promises(future);
    freed_.clear();
    const auto more =
        same_lengths && room_ ? future.more_than(*room_) : std::vector<Instant>(future.servers(), snapshot.now);
    for (std::uint32_t server = 0; server < more.size(); ++server)
      if (!more[server].is_never()) freed_.push_back({ServerIndex(server), more[server]});
    int round = 0;
    while (round < rounds_max && move_up(future)) ++round;
    const Instant at = std::min(first_end(held), start(snapshot, plan));
    if (future.free_now() > 0 && !at.is_never()) plan.wake_at(at);  // else no job can start before the next event
    room_.reset();
    if (round < rounds_max) room_ = std::move(future).take_room();
    if (Promises made = promises(); made != recalled_) {
      recalled_ = std::move(made);
      recalled_text_ = to_text(recalled_);
    }
    if (recalled_text_ != snapshot.memory.blob) plan.remember(recalled_text_);
  }

  std::vector<Reservation> reservations(const View& view) const override {
    const Promises promised = parse(view.memory.blob);
    std::vector<Reservation> kept;
    for (const JobIndex index : view.waiting) {
      const auto promise = promised.find(view.job(index).request.id);
      if (promise == promised.end() || promise->second.from < view.now) continue;
      kept.push_back({index, promise->second.from, {promise->second.on.begin(), promise->second.on.end()}});
    }
    return kept;
  }

 protected:
  bool has_line_per_shape() const override { return false; }

 private:
  struct Entry {
    JobIndex job;
    const JobRequest* request;
    Duration length;
    std::optional<Booking> booked;
    bool has_missed_its_time = false;
    std::size_t looked_at = 0;  // as many of `freed_` were there when an earlier time was last looked for
  };

  // Reads the text only if it is not what this policy wrote last.
  const Promises& recall(const std::string& text) {
    if (text != recalled_text_) {
      recalled_ = parse(text);
      recalled_text_ = text;
    }
    return recalled_;
  }

  void gather(const Snapshot& snapshot, const Promises& promised) {
    entries_.clear();
    for (Walk walk(lines_); !walk.done() && entries_.size() < depth_; walk.next()) {
      const Job& job = snapshot.job(walk.job());
      Entry entry{walk.job(), &job.request, run_bound(snapshot, job, job.request.gpus, settings_)};
      const auto at = promised.find(job.request.id);
      if (at != promised.end() && at->second.from >= snapshot.now) entry.booked = at->second;
      // One that asks for more than GPUs may only lack that.
      entry.has_missed_its_time = at != promised.end() && !entry.booked && needs_only_gpus(job.request);
      entries_.push_back(std::move(entry));
    }
  }

  // Books the promises that can still be kept, up to the first one that cannot: those after it rest on it, and jobs that
  // kept them would pass it. Returns whether they are as long as when they were made.
  bool book_promises(FutureGpus& future) {
    bool same_lengths = true, is_broken = false;
    for (Entry& entry : entries_) {
      is_broken = is_broken || entry.has_missed_its_time;
      if (!entry.booked) continue;
      same_lengths = same_lengths && entry.booked->length == entry.length;
      entry.booked->length = entry.length;
      is_broken = is_broken || !future.is_possible(*entry.request, *entry.booked);
      if (is_broken) {
        entry.booked.reset();
      } else {
        future.book(*entry.request, *entry.booked);
      }
    }
    return same_lengths;
  }

  // Each job in turn moves to the earliest time that the others leave. That is looked for where GPUs have become free since
  // it was last looked for, and everywhere by jobs that have no place, or whose other needs may be met now. Returns whether
  // any moved.
  bool move_up(FutureGpus& future) {
    bool moved = false;
    for (Entry& entry : entries_) {
      const bool looks_everywhere = !entry.booked || !needs_only_gpus(*entry.request);
      if (looks_everywhere || mark_freed(entry, future.servers()))
        moved = move(entry, looks_everywhere ? nullptr : &marked_, future) || moved;
      entry.looked_at = freed_.size();
    }
    return moved;
  }

  // Moves the job to an earlier time, if there is one; all on one server: on a marked one, if `only` is given.
  bool move(Entry& entry, const FutureGpus::Marked* only, FutureGpus& future) {
    const JobRequest& request = *entry.request;
    const bool is_in_its_own_way = entry.booked && (!only || !request.single_server() || is_on(*only, *entry.booked));
    if (is_in_its_own_way) future.unbook(request, *entry.booked);
    auto earliest = future.earliest(request, request.gpus, entry.length,
                                    entry.booked ? entry.booked->from : Instant::never(), only);
    const bool moves = earliest.has_value();
    if (moves && entry.booked) {
      if (!is_in_its_own_way) future.unbook(request, *entry.booked);
      for (const ServerCount& part : entry.booked->on) freed_.push_back({part.server, entry.booked->from});
    }
    if (moves) entry.booked = std::move(earliest);
    if (moves || is_in_its_own_way) future.book(request, *entry.booked);
    return moves;
  }

  // Marks the servers on which the job might begin earlier because of what has become free since it looked last; whether
  // there is any.
  bool mark_freed(const Entry& entry, std::size_t servers) {
    if (entry.looked_at == freed_.size()) return false;
    marked_.assign(servers, false);
    const Instant end = entry.booked->from + entry.length;
    bool any = false;
    for (std::size_t i = entry.looked_at; i < freed_.size(); ++i) {
      if (freed_[i].from >= end) continue;
      marked_[freed_[i].server.value] = true;
      any = true;
    }
    return any;
  }

  static bool is_on(const FutureGpus::Marked& servers, const Booking& booking) {
    return std::ranges::any_of(booking.on, [&](const ServerCount& part) { return servers[part.server.value]; });
  }

  // Returns when the first of the jobs it starts will end.
  Instant start(const Snapshot& snapshot, Plan& plan) {
    Instant first = Instant::never();
    Trial trial(snapshot.free);
    for (Entry& entry : entries_) {
      if (!entry.booked || entry.booked->from != snapshot.now) continue;
      auto gpus = free_gpus_of(snapshot.servers, trial.free(), *entry.request, *entry.booked);
      if (const Job& job = snapshot.job(entry.job); is_frozen(job))  // at the promised time, but on its own server
        gpus = place(trial.free(), snapshot.servers, job, entry.request->gpus).value_or(Allocation());
      if (gpus.count() != entry.request->gpus || !trial.free().fits(gpus, *entry.request)) continue;
      trial.take(gpus, *entry.request);
      plan.start(entry.job, std::move(gpus));
      entry.booked.reset();
      first = std::min(first, snapshot.now + entry.length);
    }
    return first;
  }

  static bool needs_only_gpus(const JobRequest& request) {
    return request.demand.is_zero() && !request.gpu_memory_bytes;
  }

  Promises promises() const {
    Promises kept;
    for (const Entry& entry : entries_) {
      if (entry.booked) kept.emplace(entry.request->id, *entry.booked);
    }
    return kept;
  }

  ReservationSettings settings_;
  std::size_t depth_;
  std::vector<Entry> entries_;
  Promises recalled_;
  std::string recalled_text_;
  std::optional<FutureGpus::Room> room_;  // as the last decision left it, if no job could move any more
  // Within a decision:
  struct Freed {
    ServerIndex server;
    Instant from;
  };
  std::vector<Freed> freed_;  // GPUs that have become free since the last decision, and those of jobs that have moved
  FutureGpus::Marked marked_;
};

}  // namespace

PolicyEntry fifo_conservative_entry() {
  PolicyInfo info;
  info.name = "fifo_conservative";
  info.title = "Conservative Backfill";
  info.summary =
      "Every job near the head of the line has a reserved time and place; later jobs may start first only where they "
      "delay none of them.";
  info.good_for = "start times that can be told to users and are kept";
  info.weak_for = "unknown run times; fewer jobs pass than under EASY";
  info.needs = {run_time_or_default()};
  info.aliases = {"conservative"};
  info.parameters = ReservationSettings::parameters("2");  // a promise is worked out anew at each expected end
  info.parameters.push_back(
      {"depth", ParameterType::integer, "jobs", "100", 1, 100000, {}, "how many jobs in line have a reservation"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<FifoConservative>(ReservationSettings::of(given), given.integer("depth"));
          }};
}

}  // namespace sl
