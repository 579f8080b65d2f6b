#include "policies/elastic/elastic_edf.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "model/gpu_counts.h"
#include "policy/deadlines.h"
#include "policy/place_members.h"
#include "policy/placer.h"
#include "policy/resizing_policy.h"

namespace sl {
namespace {

enum Class { in_time, without_deadline, late };

// The remaining work of a job that ran on several numbers of GPUs was rounded on the way.
constexpr Duration tolerance{1000};

struct ElasticEdfSettings {
  ElasticSettings resizing;
  bool rejects_late = false;
};

// A job and what it gets. Its GPUs and its demand are taken in the trial.
struct Part {
  JobIndex job;
  RankKey key;
  Allocation had;  // running: what it holds now
  Allocation gpus;
  int firm = 0;  // GPUs that rules 2 to 4 give it

  bool runs() const { return !had.empty(); }
  // It continues where it runs, with more or fewer GPUs.
  bool stays() const {
    return runs() && !gpus.empty() && (difference(had, gpus).empty() || difference(gpus, had).empty());
  }
};

// The free ones among the GPUs that a job held.
Allocation still_free(const FreeGpus& free, const Allocation& had) {
  Allocation result;
  for (const ServerGpus& part : had.parts()) result.add(part.server, part.gpus & free.on(part.server));
  return result;
}

// The waiting jobs by rank, of each shape no more than all servers together could run. A line can be closed; opened
// again, it goes on behind the jobs whose turn is past.
class OpenLines {
 public:
  using Lines = WaitingLines<RankKey>;

  OpenLines(const Snapshot& snapshot, const Lines& lines) : snapshot_(snapshot) {
    for (const Server& server : snapshot.servers) gpus_of_all_ += server.description.gpus;
    for (const Lines::View& view : lines.views()) {
      Cursor cursor{view.at, view.shape};
      if (counts(cursor)) open_.push_back(cursor);
    }
    std::ranges::make_heap(open_, behind);
  }

  bool done() const { return open_.empty(); }
  JobIndex job() const { return open_.front().at->job; }
  const RankKey& key() const { return open_.front().at->key; }
  std::uint32_t line() const { return open_.front().line; }
  void next() {
    Cursor cursor = taken_out();
    if (++cursor.at != Iterator() && counts(cursor)) put_in(cursor);
  }
  void close_line() { closed_.push_back(taken_out()); }
  void open_all(const RankKey& last) {
    for (Cursor cursor : closed_) {
      bool is_left = true;
      while (is_left && !(last < cursor.at->key)) is_left = ++cursor.at != Iterator() && counts(cursor);
      if (is_left) put_in(cursor);
    }
    closed_.clear();
  }

 private:
  using Iterator = OrderedJobs<RankKey>::Iterator;
  struct Cursor {
    Iterator at;
    std::uint32_t line;
    int gpus = 0;  // the minimums of its jobs so far
  };
  static bool behind(const Cursor& a, const Cursor& b) { return b.at->key < a.at->key; }
  bool counts(Cursor& cursor) const {
    cursor.gpus += snapshot_.job(cursor.at->job).request.gpus_min;
    return cursor.gpus <= gpus_of_all_;
  }
  Cursor taken_out() {
    std::ranges::pop_heap(open_, behind);
    const Cursor cursor = open_.back();
    open_.pop_back();
    return cursor;
  }
  void put_in(const Cursor& cursor) {
    open_.push_back(cursor);
    std::ranges::push_heap(open_, behind);
  }

  const Snapshot& snapshot_;
  int gpus_of_all_ = 0;
  std::vector<Cursor> open_, closed_;  // open_: a heap
};

// From when on a waiting job is late.
struct LateKey {
  Instant from;
  JobId id;
  friend auto operator<=>(const LateKey&, const LateKey&) = default;
};

class ElasticEdf : public ResizingPolicy {
 public:
  explicit ElasticEdf(const ElasticEdfSettings& settings) : ResizingPolicy(settings.resizing), settings_(settings) {}

  void attach(const Snapshot& snapshot) override {
    ResizingPolicy::attach(snapshot);
    note_when_late(snapshot);
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    ResizingPolicy::notice(snapshot, kind, job);
    if (kind == NoticeKind::waiting) note_when_late(snapshot, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) late_from_.erase(job);
  }

  std::string standing(const View& view, JobIndex index) const override {
    return due_text(view, view.job(index)) + "; " + ResizingPolicy::standing(view, index);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (settings_.rejects_late) reject_late(snapshot, plan);
    demote_late(snapshot);
    {
      Trial trial(snapshot.free);
      gather(snapshot, trial);
      serve_by_deadline(snapshot, trial);
      widen_to_meet_deadlines(snapshot, trial);
      keep_what_they_had(snapshot, trial, false);
      run_on_fewer(snapshot, trial);
      keep_what_they_had(snapshot, trial, true);
      grow(snapshot, trial);
    }
    keep_to_allowed_counts(snapshot);
    carry_out(plan);
    wake(snapshot, plan);
  }

 protected:
  Rank rank_of(const Snapshot& snapshot, const Job& job) override {
    if (job.request.deadline.is_never()) return {.major = without_deadline};
    const bool is_late = counts_as_late_from(snapshot, job) <= snapshot.now;
    return {.major = is_late ? late : in_time, .minor = job.request.deadline.us};
  }
  int gpus_of(const Job& job) const override { return job.request.gpus; }
  int gpus_least(const Job& job) const override { return job.request.gpus_min; }

  Instant wake_besides(const Snapshot& snapshot) override {
    if (!knows_when_late_) return next_late(snapshot, run_times_, tolerance);
    return late_from_.empty() ? Instant::never() : late_from_[0].begin()->key.from;
  }

 private:
  // ---- jobs become late as time passes ----
  void note_when_late(const Snapshot& snapshot, JobIndex index) {
    const Job& job = snapshot.job(index);
    if (job.request.deadline.is_never()) return;
    const Instant from = counts_as_late_from(snapshot, job);
    if (from > snapshot.now) late_from_.insert_into(0, index, {from, job.request.id});
  }
  void note_when_late(const Snapshot& snapshot) {
    late_from_.clear();
    for (const JobIndex job : snapshot.waiting) note_when_late(snapshot, job);
    knows_when_late_ = true;
  }
  Instant counts_as_late_from(const Snapshot& snapshot, const Job& job) {
    return late_from(snapshot, job, run_times_) + tolerance + Duration{1};
  }

  // Ranks anew those that have become late; all that wait, if what is left of them is a guess.
  void demote_late(const Snapshot& snapshot) {
    const bool are_known = !run_times_.has_guessed();
    if (!are_known || !knows_when_late_) rekey_all(snapshot);
    if (are_known && !knows_when_late_) note_when_late(snapshot);
    knows_when_late_ = are_known;
    while (are_known && !late_from_.empty() && late_from_[0].begin()->key.from <= snapshot.now) {
      const JobIndex job = late_from_[0].begin()->job;
      late_from_.erase(job);
      lines_.rekey(job, key_of(snapshot, snapshot.job(job)));
    }
  }

  void reject_late(const Snapshot& snapshot, Plan& plan) {
    for (const JobIndex index : snapshot.waiting) {
      if (reject_if_late(snapshot, index, run_times_, plan)) lines_.erase(index);
    }
  }

  // ---- the running jobs, by rank ----
  void gather(const Snapshot& snapshot, Trial& trial) {
    by_rank_.clear();
    for (const JobIndex index : snapshot.active) {
      // A running job whose roles need more than GPUs keeps what it has: its needs change with its size.
      if (may_interrupt(snapshot, index) && !has_unlike_members(snapshot.job(index).request))
        by_rank_.emplace_back(key_of(snapshot, snapshot.job(index)), index);
    }
    std::ranges::sort(by_rank_);
    parts_.clear();
    for (const auto& [key, job] : by_rank_) parts_.push_back({job, key, snapshot.job(job).allocation, {}});
    for (Part& part : parts_) {
      const JobRequest& request = snapshot.job(part.job).request;
      const bool is_whole = part.runs() && part.had.count() >= request.gpus;
      if (is_whole) part.gpus = first_of(part.had, request.gpus);
      trial.give(difference(part.had, part.gpus), is_whole ? Demand() : Demand(request));
    }
  }

  // Waiting jobs that start take their places among the others.
  void join(std::vector<Part>& starting) {
    const std::ptrdiff_t before = std::ssize(parts_);
    std::ranges::move(starting, std::back_inserter(parts_));
    std::ranges::inplace_merge(parts_, parts_.begin() + before, {}, &Part::key);  // both parts are in order
  }

  static void take(const Snapshot& snapshot, Part& part, Allocation gpus, Trial& trial) {
    trial.take(gpus, snapshot.job(part.job).request);
    part.gpus = std::move(gpus);
  }

  // ---- like edf ----
  void serve_by_deadline(const Snapshot& snapshot, Trial& trial) {
    OpenLines waiting(snapshot, lines_);
    std::vector<Part> starting;
    bool deadline_waits = false;
    for (std::size_t next = 0; next < parts_.size() || !waiting.done();) {
      const bool runs = waiting.done() || (next < parts_.size() && parts_[next].key < waiting.key());
      if (runs && !parts_[next].gpus.empty()) {
        ++next;
        continue;
      }
      Part fresh = runs ? Part{} : Part{waiting.job(), waiting.key(), {}, {}};
      Part& part = runs ? parts_[next++] : fresh;
      const bool would_block = part.key.rank.major != in_time && deadline_waits && !can_stop(snapshot, part);
      auto found = would_block ? std::nullopt : find_place(snapshot, part, trial);
      const bool makes_room = !found && !would_block && (found = make_room(snapshot, part, next, trial));
      deadline_waits = deadline_waits || (!found && part.key.rank.major == in_time);
      if (found) take(snapshot, part, std::move(*found), trial);
      if (!runs) found ? waiting.next() : waiting.close_line();
      if (makes_room) waiting.open_all(part.key);  // more may be free now than the job needs
      if (!runs && found) starting.push_back(std::move(part));
    }
    join(starting);
  }

  static bool can_stop(const Snapshot& snapshot, const Part& part) {
    const JobRequest& request = snapshot.job(part.job).request;
    return request.preemptible && request.capability == Capability::checkpoint;
  }

  // A place for the GPUs it asks for; a job that runs on fewer looks on its own servers first.
  static std::optional<Allocation> find_place(const Snapshot& snapshot, const Part& part, Trial& trial) {
    const Job& job = snapshot.job(part.job);
    if (trial.free().total() < job.request.gpus) return std::nullopt;
    if (part.runs() && still_free(trial.free(), part.had) == part.had && trial.free().fits(part.had, job.request)) {
      const std::size_t before = trial.mark();
      Part wider = part;
      take(snapshot, wider, part.had, trial);
      const bool fits = widen(snapshot, wider, job.request.gpus - part.had.count(), trial);
      trial.rewind(before);
      if (fits) return wider.gpus;
    }
    return place(trial.free(), snapshot.servers, job, job.request.gpus);
  }

  // A place for the GPUs that the job asks for after stopping less urgent running jobs: the least urgent, as few as
  // suffice. `behind`: the first job of parts_ behind it.
  std::optional<Allocation> make_room(const Snapshot& snapshot, const Part& part, std::size_t behind, Trial& trial) {
    const Job& job = snapshot.job(part.job);
    const auto demand_of = [&](std::size_t j) { return Demand(snapshot.job(parts_[j].job).request); };
    const auto find = [&] { return place(trial.free(), snapshot.servers, job, job.request.gpus); };
    const std::size_t before = trial.mark();
    std::optional<Allocation> found;
    std::vector<std::size_t> stopped;
    for (std::size_t j = parts_.size(); !found && j-- > behind && part.key.rank < parts_[j].key.rank;) {
      if (parts_[j].gpus.empty()) continue;
      trial.give(parts_[j].gpus, demand_of(j));
      stopped.push_back(j);
      found = find();
    }
    if (!found) {
      trial.rewind(before);
      return found;
    }
    for (std::size_t k = stopped.size() - 1; k-- > 0;) {  // without the last one it would not have fitted
      const std::size_t mark = trial.mark();
      trial.take(parts_[stopped[k]].gpus, demand_of(stopped[k]));
      if (auto without = find()) {
        found = std::move(without);
        stopped.erase(stopped.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        trial.rewind(mark);
      }
    }
    std::vector<Allocation> left;
    for (const std::size_t j : stopped) left.push_back(std::exchange(parts_[j].gpus, {}));
    if (!job.request.demand.is_zero() && !is_frozen(job))
      found = rather_on(left, trial.free(), snapshot.servers, job.request, *found);
    return found;
  }

  // ---- more and fewer GPUs than asked for ----
  // The fewest GPUs, from `from` to `to`, on which the job meets its deadline; nothing: none do.
  std::optional<int> fewest_in_time(const Snapshot& snapshot, JobIndex index, int from, int to) {
    const Job& job = snapshot.job(index);
    for (int gpus = from; gpus <= to; ++gpus) {
      if (snapshot.now + run_times_.remaining(snapshot, job, gpus) <= job.request.deadline) return gpus;
    }
    return std::nullopt;
  }

  void widen_to_meet_deadlines(const Snapshot& snapshot, Trial& trial) {
    for (Part& part : parts_) {
      if (part.gpus.empty() || part.key.rank.major != in_time) continue;
      const int has = part.gpus.count(), most = snapshot.job(part.job).request.gpus_max;
      if (const auto needed = fewest_in_time(snapshot, part.job, has, most))
        widen(snapshot, part, *needed - has, trial);
    }
  }

  // Widens the job by `gpus` GPUs on its servers: first those it had, others only next to all of those. False: there
  // are too few.
  static bool widen(const Snapshot& snapshot, Part& part, int gpus, Trial& trial) {
    if (part.runs() && !part.stays()) return false;
    const Job& job = snapshot.job(part.job);
    const JobRequest& request = job.request;
    if (has_unlike_members(request) || is_frozen(job)) return false;
    const std::size_t before = trial.mark();
    Allocation more = first_of(still_free(trial.free(), part.had), gpus);
    trial.take(more);
    if (const int rest = gpus - more.count(); rest > 0) {
      const bool has_all = part.gpus.count() + more.count() >= part.had.count();
      const ServerIndex here = part.gpus.parts().front().server;
      auto others = !has_all                   ? std::nullopt
                    : request.single_server()  ? place_on(trial.free(), snapshot.servers, request, rest, here)
                    : request.demand.is_zero() ? place(trial.free(), snapshot.servers, request, rest)
                                               : std::nullopt;
      if (!others) {
        trial.rewind(before);
        return false;
      }
      trial.take(*others);
      more.add(*others);
    }
    Allocation widened = part.gpus;
    widened.add(more);
    if (!request.may_spread_over(widened)) {
      trial.rewind(before);
      return false;
    }
    part.gpus = std::move(widened);
    return true;
  }

  // For jobs that (re)started a while ago, or for those that have not.
  void keep_what_they_had(const Snapshot& snapshot, Trial& trial, bool are_settled) {
    for (Part& part : parts_) {
      const int missing = part.had.count() - part.gpus.count();
      if (part.gpus.empty() || missing <= 0 || is_settled(snapshot, snapshot.job(part.job)) != are_settled) continue;
      widen(snapshot, part, std::min(missing, still_free(trial.free(), part.had).count()), trial);
    }
  }

  void run_on_fewer(const Snapshot& snapshot, Trial& trial) {
    if (trial.free().total() == 0) return;
    OpenLines waiting(snapshot, lines_);
    std::vector<int> too_many(lines_.lines(), nothing_tried);
    std::vector<Part> starting;
    for (std::size_t next = 0; next < parts_.size() || !waiting.done();) {
      if (trial.free().total() == 0) break;
      if (waiting.done() || (next < parts_.size() && !(waiting.key() < parts_[next].key))) {
        Part& part = parts_[next++];
        if (!waiting.done() && waiting.key() == part.key) waiting.next();  // it starts
        if (!part.gpus.empty() || !can_stop(snapshot, part)) continue;
        if (auto kept = find_what_is_left(snapshot, part, trial)) take(snapshot, part, std::move(*kept), trial);
        continue;
      }
      Part part{waiting.job(), waiting.key(), {}, {}};
      int& limit = too_many[waiting.line()];
      auto found = can_stop(snapshot, part) ? find_smaller_place(snapshot, part, trial, limit) : std::nullopt;
      limit <= 1 ? waiting.close_line() : waiting.next();
      if (!found) continue;
      take(snapshot, part, std::move(*found), trial);
      starting.push_back(std::move(part));
    }
    join(starting);
  }

  static std::optional<Allocation> find_what_is_left(const Snapshot& snapshot, const Part& part, const Trial& trial) {
    const JobRequest& request = snapshot.job(part.job).request;
    Allocation kept = first_of(still_free(trial.free(), part.had), request.gpus - 1);
    const bool suffices = kept.count() >= request.gpus_min && trial.free().fits(kept, request);
    return suffices ? std::optional(std::move(kept)) : std::nullopt;
  }

  // `too_many`: so many GPUs find no place for any job of its line.
  std::optional<Allocation> find_smaller_place(const Snapshot& snapshot, const Part& part, const Trial& trial,
                                               int& too_many) {
    const Job& job = snapshot.job(part.job);
    const auto find = [&](int gpus) { return place(trial.free(), snapshot.servers, job, gpus); };
    const bool speaks_for_line = speaks_for_its_shape(job.request);
    if (too_many == nothing_tried) too_many = speaks_for_line && !find(1) ? 1 : any_number;
    const int least = job.request.gpus_min, most = job.request.gpus - 1;
    int gpus = part.key.rank.major == in_time ? fewest_in_time(snapshot, part.job, least, most).value_or(most) : least;
    for (gpus = std::min({gpus, trial.free().total(), too_many - 1}); gpus >= least; --gpus) {
      if (auto found = find(gpus)) return found;
      if (speaks_for_line) too_many = gpus;
    }
    return std::nullopt;
  }
  static constexpr int any_number = std::numeric_limits<int>::max(), nothing_tried = any_number - 1;

  struct Step {
    double gain;
    Part* part;
    friend bool operator<(const Step& a, const Step& b) {
      if (a.gain != b.gain) return a.gain < b.gain;
      const RankKey &x = a.part->key, &y = b.part->key;
      return std::tie(y.rank.major, y.submitted, y.id) < std::tie(x.rank.major, x.submitted, x.id);
    }
  };

  void grow(const Snapshot& snapshot, Trial& trial) {
    std::priority_queue<Step> steps;
    const auto offer = [&](Part& part) {
      const int has = part.gpus.count();
      if (has == 0 || has >= snapshot.job(part.job).request.gpus_max) return;
      const double gain = speedup_of(snapshot, part.job, has + 1) - speedup_of(snapshot, part.job, has);
      if (gain > 0) steps.push({gain, &part});
    };
    for (Part& part : parts_) {
      part.firm = part.gpus.count();
      if (!part.runs() || is_settled(snapshot, snapshot.job(part.job))) offer(part);
    }
    while (trial.free().total() > 0 && !steps.empty()) {
      Part& part = *steps.top().part;
      steps.pop();
      if (widen(snapshot, part, 1, trial)) offer(part);
    }
    for (Part& part : parts_) {
      const bool only_grows = part.runs() && part.firm == part.had.count() && part.gpus.count() > part.firm;
      if (only_grows && !worth_resizing(snapshot, part.job, part.gpus.count())) part.gpus = part.had;
    }
  }

  // Reduces a number of GPUs that a job does not allow to the next lower one that it does.
  void keep_to_allowed_counts(const Snapshot& snapshot) {
    for (Part& part : parts_) {
      if (part.gpus.empty()) continue;
      const JobRequest& request = snapshot.job(part.job).request;
      const int has = part.gpus.count(), had = part.had.count();
      const bool grows = part.stays() && has >= had;
      const int allowed = allowed_gpus(request, has);
      if (allowed == has) continue;
      if (grows) {
        const Allocation more = difference(part.gpus, part.had);
        part.gpus = part.had;
        part.gpus.add(first_of(more, allowed - had));
      } else {
        part.gpus = first_of(part.gpus, allowed);
      }
    }
  }

  // A running job that gets a place elsewhere is stopped now; it starts there as soon as its GPUs are free for the jobs
  // that got them.
  void carry_out(Plan& plan) const {
    for (const Part& part : parts_) {
      if (part.gpus == part.had) continue;
      if (!part.runs()) {
        plan.start(part.job, part.gpus);
      } else if (part.stays()) {
        plan.resize(part.job, part.gpus);
      } else {
        plan.preempt(part.job);
      }
    }
  }

  ElasticEdfSettings settings_;
  std::vector<std::pair<RankKey, JobIndex>> by_rank_;  // the running jobs that may change
  std::vector<Part> parts_;          // by rank: the running jobs that may change, and the waiting ones that get GPUs
  WaitingLines<LateKey> late_from_;  // of the waiting jobs that will be late, all in one line
  bool knows_when_late_ = false;     // else late_from_ is not up to date
};

}  // namespace

PolicyEntry elastic_edf_entry() {
  PolicyInfo info;
  info.name = "elastic_edf";
  info.title = "Elastic Earliest Deadline First";
  info.summary =
      "The job with the earliest deadline that can still be met goes first; GPUs that this leaves unused speed up jobs "
      "or "
      "let others run on fewer than they ask for.";
  info.good_for = "deadlines and short completion times, with jobs that can change size";
  info.weak_for = "overload; bad estimates; jobs that are costly to interrupt";
  info.needs = {{Fact::deadline, "they go last, before those that can no longer meet theirs"},
                run_time_or_history(),
                speedup_or_linear(),
                resizable_or_rigid()};
  info.aliases = {"elasticflow"};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ResizingPolicy::parameters();
  info.parameters.push_back({"late_mode",
                             ParameterType::choice,
                             "",
                             "demote",
                             0,
                             0,
                             {"demote", "reject"},
                             "jobs that can no longer meet their deadline: behind all others, or rejected"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<ElasticEdf>(
                ElasticEdfSettings{ResizingPolicy::settings(given), given.text("late_mode") == "reject"});
          }};
}

}  // namespace sl
