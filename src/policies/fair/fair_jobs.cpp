#include "policies/fair/fair_jobs.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace sl {

namespace {

constexpr std::size_t classes_max = 96;  // keeps the program small; jobs beyond the limit count as equally fast on all
                                         // types

// Whether all of a waiting job's time is known to have been on one type or another.
bool is_time_known(const Job& job) {
  double known_s = 0;
  if (job.run_by_gpu_type) {
    for (const GpuTypeTime& time : *job.run_by_gpu_type) known_s += time.run.to_seconds();
  }
  return job.run.to_seconds() - known_s < 1e-3;
}

}  // namespace

// ---- who there is ----

void FairJobs::attach(const View& view) { read_all(view); }

void FairJobs::notice(const View& view, NoticeKind kind, JobIndex job) {
  const bool is_edited = kind == NoticeKind::edited && knows(job);
  if (is_edited) jobs_[job].has_class = false;
  if (kind == NoticeKind::waiting || kind == NoticeKind::active || is_edited) {
    enter(view, job, is_edited ? jobs_[job].place != Place::active : kind == NoticeKind::waiting);
  } else if (kind == NoticeKind::ended && jobs_.contains(job)) {
    leave(job);
    jobs_[job].has_class = false;  // it comes back edited, or its slot becomes another job's
  }
}

void FairJobs::read_all(const View& view) {
  generation_ = view.free.generation();
  find_types(view);
  classes_.clear();
  class_at_.clear();
  speeds_differ_ = false;
  fair_.clear();
  jobs_.clear();
  others_.clear();
  // In an order that depends on the jobs alone: the first that are unlike become classes.
  std::vector<JobIndex> jobs(view.waiting.begin(), view.waiting.end());
  jobs.insert(jobs.end(), view.active.begin(), view.active.end());
  std::ranges::sort(jobs, {}, [&](JobIndex job) { return SubmissionKey::of(view.job(job)); });
  for (const JobIndex job : jobs) enter(view, job, view.job(job).is_waiting());
}

void FairJobs::find_types(const View& view) {
  types_.clear();
  type_at_.clear();
  gpus_by_type_.clear();
  for (const Server& server : view.servers) {
    if (server.state != ServerState::up || server.description.gpus == 0) continue;
    const auto [at, is_new] = types_.try_emplace(server.description.gpu_type, types_.size());
    if (is_new) {
      gpus_by_type_.push_back(0);
      type_at_.push_back(server.description.gpu_type);
    }
    gpus_by_type_[at->second] += (server.all() - server.outside - server.unavailable).count();
  }
}

// Classes depend on the servers and, with several types, on the speeds that jobs report. Which jobs become classes when
// there are too many of them depends on all jobs.
void FairJobs::refresh(const View& view) {
  if (generation_ != view.free.generation()) return read_all(view);
  if (types_.size() < 2) return;
  if (is_full()) return read_all(view);
  const auto look_at = [&](const std::vector<JobIndex>& jobs, bool wait) {
    for (const JobIndex job : jobs) {
      if (view.job(job).telemetry) enter(view, job, wait);
    }
  };
  look_at(std::vector<JobIndex>(others_), true);  // enter() changes it
  look_at(view.active, false);
  if (is_full()) read_all(view);
}
bool FairJobs::is_full() const { return speeds_differ_ && classes_.size() >= classes_max; }

void FairJobs::enter(const View& view, JobIndex index, bool waits) {
  if (!jobs_.contains(index)) jobs_.resize(index.value + 1);
  Known& known = jobs_[index];
  const Job& job = view.job(index);
  const bool keeps_class = known.has_class && (types_.size() == 1 || !job.telemetry);
  const std::uint32_t of_class = keeps_class ? known.of_class : class_of(view, job);
  const bool was_there = knows(index) && known.of_class == of_class;
  leave(index, was_there);
  known = {place_of(job, of_class, waits), true, known.entry + 1, of_class, SubmissionKey::of(job)};
  Class& all = classes_[of_class];
  if (!was_there) all.jobs.insert(index, known.key);
  if (known.place == Place::fresh) all.fresh.insert(index, known.key);
  if (known.place == Place::served) enter_served(view, index, known);
  if (known.place == Place::others) others_.push_back(index);
}

FairJobs::Place FairJobs::place_of(const Job& job, std::size_t of_class, bool waits) const {
  if (!waits) return Place::active;
  if (!is_plain(job)) return Place::others;
  if (job.attempt == 0 && job.run.us == 0) return Place::fresh;
  if (types_.size() == 1) return Place::served;
  return fits_one_type(of_class) && is_time_known(job) ? Place::served : Place::others;
}

void FairJobs::enter_served(const View& view, JobIndex index, const Known& known) {
  std::vector<ServedJobs>& served = classes_[known.of_class].served;
  const Job& job = view.job(index);
  const auto add = [&](std::size_t type, double had_s) {
    served[type].add({index, known.entry, known.key.submitted, known.key.id, had_s}, view.now);
  };
  if (types_.size() == 1) return add(0, job.run.to_seconds());
  const std::vector<double> had_s = time_by_type(view, job, {});
  for (std::size_t j = 0; j < types_.size(); ++j) {
    if (may_run_on(known.of_class, j)) add(j, had_s[j]);
  }
}

void FairJobs::leave(JobIndex index, bool stays_in_class) {
  if (!knows(index)) return;
  Known& known = jobs_[index];
  const Place place = std::exchange(known.place, Place::nowhere);
  Class& of_class = classes_[known.of_class];
  if (!stays_in_class) of_class.jobs.erase(index, known.key);
  if (place == Place::fresh) of_class.fresh.erase(index, known.key);
  if (place == Place::others) std::erase(others_, index);
}

// ---- what each job is due ----

FairClass FairJobs::make_class(const View& view, const Job& job, const std::vector<int>& speeds) const {
  FairClass made{0, static_cast<double>(job.request.gpus), std::max(1e-6, job.request.user_weight), {}};
  made.speed.assign(types_.size(), 0);
  for (const Server& server : view.servers) {
    const std::size_t type = column_of(server.description.gpu_type);
    if (type < types_.size() && is_eligible(server, job.request)) made.speed[type] = speeds[type];
  }
  return made;
}

std::uint32_t FairJobs::class_of(const View& view, const Job& job) {
  const JobRequest& request = job.request;
  std::vector<int> speeds = types_.size() > 1 ? speeds_by_type(job, types_) : std::vector<int>(types_.size(), 100);
  speeds_differ_ = speeds_differ_ || std::ranges::any_of(speeds, [](int speed) { return speed != 100; });
  if (classes_.size() >= classes_max) speeds.assign(types_.size(), 100);
  ClassKey key{request.gpus,
               request.user_weight,
               request.servers_max,
               request.gpu_types,
               request.gpu_memory_bytes.value_or(-1),
               request.needs_containers,
               request.servers_chosen,
               speeds};
  const auto [at, is_new] = class_at_.try_emplace(std::move(key), static_cast<std::uint32_t>(classes_.size()));
  if (is_new) {
    Class& made = classes_.emplace_back();
    made.fair = make_class(view, job, speeds);
    for (const double speed : made.fair.speed) made.may_use.push_back(speed > 0);
    made.served.resize(types_.size());
  }
  return at->second;
}

void FairJobs::work_out_fractions() {
  std::vector<Class*> classes;  // in order of their first jobs: rounding makes sums depend on the order
  for (Class& of_class : classes_) {
    of_class.fair.jobs = static_cast<double>(of_class.jobs.size());
    if (!of_class.jobs.empty()) classes.push_back(&of_class);
  }
  std::ranges::sort(classes, {}, [](const Class* of_class) { return of_class->jobs.begin()->key; });
  std::vector<FairClass> fair;
  for (const Class* of_class : classes) fair.push_back(of_class->fair);
  if (fair.empty() || types_.empty()) return;
  if (fair != fair_) fractions_ = max_min_fractions(fair, gpus_by_type_);
  fair_ = std::move(fair);
  for (std::size_t c = 0; c < classes.size(); ++c) classes[c]->x = fractions_[c];
}

bool FairJobs::fits_one_type(std::size_t of_class) const {
  for (std::size_t j = 0; j < types_.size(); ++j) {
    if (may_run_on(of_class, j)) return true;
  }
  return false;
}

FairJobs::Entry FairJobs::entry_of(JobIndex job, std::uint32_t type, double due, double had_s, Instant now) const {
  const Known& known = jobs_[job];
  return entry_of({job, known.entry, known.key.submitted, known.key.id, had_s}, known.of_class, type, due, now);
}
FairJobs::Entry FairJobs::entry_of(const ServedJobs::Served& job, std::uint32_t of_class, std::uint32_t type,
                                   double due, Instant now) {
  const double life_s = job.life_s(now), had_s = job.had_s;
  const double priority = had_s <= 0 || life_s <= 0 ? due * ServedJobs::never_run : due / (had_s / life_s);
  return {job.job, of_class, type, due, priority, due * life_s - had_s, {job.submitted, job.id}};
}

double FairJobs::sum(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// Seconds the job has run on each type. Time on an unknown type (the controller was restarted, or there was only one
// type) counts as divided the way it should have been.
std::vector<double> FairJobs::time_by_type(const View& view, const Job& job, const std::vector<double>& x) const {
  std::vector<double> had_s(types_.size(), 0);
  double known_s = 0;
  const auto count = [&](GpuTypeIndex type, double seconds) {
    known_s += seconds;
    if (const std::size_t column = column_of(type); column < types_.size()) had_s[column] += seconds;
  };
  if (job.run_by_gpu_type) {
    for (const GpuTypeTime& time : *job.run_by_gpu_type) count(time.gpu_type, time.run.to_seconds());
  }
  const double since_s = job.is_accruing() ? (view.now - job.accounted).to_seconds() : 0;
  for (const ServerGpus& part : job.allocation.parts()) {
    count(view.servers[part.server].description.gpu_type, since_s * part.gpus.count() / job.allocation.count());
  }
  const double all_x = sum(x);
  const double unknown_s = job.run_at(view.now).to_seconds() - known_s;
  if (unknown_s < 1e-3 || all_x <= 0) return had_s;
  for (std::size_t j = 0; j < x.size(); ++j) had_s[j] += unknown_s * x[j] / all_x;
  return had_s;
}

// ---- in which order ----

FairJobs::Line::Line(FairJobs& jobs, const View& view, bool waiting_only) : jobs_(jobs), view_(view) {
  const auto put_alone = [&](const Entry& entry) { add(entry, alone); };
  for (const JobIndex job : jobs.others_) jobs.for_each_entry(view, job, put_alone);
  if (!waiting_only) {
    for (const JobIndex job : view.active) jobs.for_each_entry(view, job, put_alone);
  }
  std::ranges::make_heap(heap_, later());
  for (std::uint32_t c = 0; c < jobs.classes_.size(); ++c) put_class(c);
  settle();
}

void FairJobs::Line::next() {
  Source source = taken_out();
  Jobs::Iterator& fresh = origins_[source.origin].fresh;
  if (fresh != Jobs::Iterator() && ++fresh != Jobs::Iterator()) {
    const std::uint32_t type = source.entry.type;
    jobs_.for_each_entry(view_, fresh->job, [&](const Entry& entry) {
      if (entry.type == type) source.entry = entry;
    });
    put(source.entry, source.origin);
  }
  settle();
}

void FairJobs::Line::close() {
  const Source source = taken_out();
  if (source.origin != alone) closed_.insert({source.entry.of_class, source.entry.type});
  settle();
}

void FairJobs::Line::put_class(std::uint32_t of_class) {
  Class& all = jobs_.classes_[of_class];
  if (all.jobs.empty()) return;
  if (!all.fresh.empty()) {
    const Jobs::Iterator first = all.fresh.begin();
    jobs_.for_each_entry(view_, first->job, [&](const Entry& entry) {
      origins_.push_back({first, {}});
      put(entry, static_cast<std::uint32_t>(origins_.size() - 1));
    });
  }
  const auto still_waits = [&](const ServedJobs::Served& job) { return jobs_.still_waits(job); };
  for (std::uint32_t j = 0; j < all.served.size(); ++j) {
    if (all.served[j].empty()) continue;
    std::vector<Chunk>& heap = origins_.emplace_back().heap;
    for (ServedJobs::Chunk& jobs : all.served[j].chunks(view_.now, still_waits))
      heap.push_back(chunk_of(of_class, j, jobs));
    std::make_heap(heap.begin(), heap.end());
    put_chunks(static_cast<std::uint32_t>(origins_.size() - 1));
  }
}

FairJobs::Line::Chunk FairJobs::Line::chunk_of(std::uint32_t of_class, std::uint32_t type,
                                               ServedJobs::Chunk& jobs) const {
  const double due = jobs_.classes_[of_class].x[type];
  if (const ServedJobs::Served* first = jobs.first()) return {entry_of(*first, of_class, type, due, view_.now), &jobs};
  const double priority = due * jobs.at_most(view_.now) * (1 + 1e-9);  // rounded in other steps than theirs
  return {{{}, of_class, type, due, priority, std::numeric_limits<double>::infinity(), {}}, &jobs};
}

// Chunks in the place of their jobs, if any are left.
void FairJobs::Line::put_chunks(std::uint32_t origin) {
  if (!origins_[origin].heap.empty()) put(origins_[origin].heap.front().first, origin);
}

void FairJobs::Line::add(const Entry& entry, std::uint32_t origin) {
  heap_.push_back({entry.priority, static_cast<std::uint32_t>(sources_.size())});
  sources_.push_back({entry, origin});
}
void FairJobs::Line::put(const Entry& entry, std::uint32_t origin) {
  add(entry, origin);
  std::ranges::push_heap(heap_, later());
}
FairJobs::Line::Source FairJobs::Line::taken_out() {
  std::ranges::pop_heap(heap_, later());
  const Node node = heap_.back();
  heap_.pop_back();
  return sources_[node.source];
}

// Drops what is closed, and opens chunks until none may hold the next job.
void FairJobs::Line::settle() {
  while (!heap_.empty()) {
    const Source& first = sources_[heap_.front().source];
    if (first.origin != alone && closed_.contains({first.entry.of_class, first.entry.type})) {
      taken_out();
    } else if (!origins_[first.origin].heap.empty()) {
      open(taken_out());
    } else {
      return;
    }
  }
}

// Puts the jobs of the first of these chunks in its place.
void FairJobs::Line::open(const Source& source) {
  const auto [entry, origin] = source;
  std::vector<Chunk>& heap = origins_[origin].heap;
  std::pop_heap(heap.begin(), heap.end());
  ServedJobs::Chunk& chunk = *heap.back().jobs;
  heap.pop_back();
  const auto still_waits = [&](const ServedJobs::Served& job) { return jobs_.still_waits(job); };
  jobs_.classes_[entry.of_class].served[entry.type].visit(
      chunk, view_.now, still_waits, [&](const ServedJobs::Served& job) {
        put(entry_of(job, entry.of_class, entry.type, entry.x, view_.now), alike);
      });
  put_chunks(origin);
}

}  // namespace sl
