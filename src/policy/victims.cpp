#include "policy/victims.h"

#include <algorithm>
#include <limits>

#include "policy/placer.h"

namespace sl {

void Victims::clear() {
  kept_.clear();
  is_touched_.clear();
  known_.clear();
  by_rank_.clear();
  offers_.clear();
  plain_.clear();
  demanding_.clear();
  touched_.clear();
  lowered_.clear();
}

void Victims::expect_higher_ranks() {
  for (const ServerIndex server : lowered_) touch(server);
  lowered_.clear();
}

void Victims::place(JobIndex job, const Allocation& gpus) {
  auto& [where, rank] = known(job);
  if (where == gpus) return;
  if (rank) leave(job);
  touch(where);
  const bool moves = !where.empty();
  where = gpus;
  if (rank) enter(job);
  if (moves) touch(where);
}

// Adds the job to the candidates of its servers.
void Victims::enter(JobIndex job) {
  const auto& [where, rank] = known_[job];
  for (const ServerGpus& part : where.parts())
    insert(kept_on(part.server), {rank->rank, rank->id, job, part.gpus.count()});
}

void Victims::leave(JobIndex job) {
  for (const ServerGpus& part : known_[job].where.parts()) {
    Candidates& kept = kept_on(part.server);
    kept.erase(std::find_if(kept.begin(), kept.end(), [&](const Candidate& one) { return one.job == job; }));
  }
}

void Victims::touch_all() {
  for (Offers& offers : offers_) offers.known = false;
  plain_.clear();
  demanding_.clear();
}

void Victims::insert(Candidates& sorted, const Candidate& candidate) {
  sorted.push_back(candidate);
  std::size_t at = sorted.size() - 1;
  for (; at > 0 && candidate < sorted[at - 1]; --at) sorted[at] = sorted[at - 1];
  sorted[at] = candidate;
}

// The jobs on a server that may be stopped for one of rank `than`, and perhaps others behind them; least urgent first.
const Victims::Candidates& Victims::candidates_on(const Context& context, ServerIndex server, const Rank& than) {
  const Candidates& kept = kept_on(server);
  if (!context.rank_now) return kept;
  now_.clear();
  for (const Candidate& one : kept) {
    if (one.rank <= than) break;  // so are those behind it, and they are no less urgent now
    insert(now_, {context.rank_now(one.job), one.id, one.job, one.gpus});
  }
  return now_;
}

// An offer that is remembered may not be worse than one that is worked out later.
const Victims::Candidates& Victims::to_remember(const Context& context, ServerIndex server) {
  return context.ranks_rise ? kept_on(server) : candidates_on(context, server, Rank::most_urgent());
}

namespace {

// What would be free on a server without some of its jobs.
struct Room {
  GpuSet barred;  // by the memory of frozen jobs
  int gpus;
  ResourceVector resources;
  Room(const Victims::Context& context, const Shape& shape, ServerIndex server)
      : barred(barred_to(shape, context.snapshot.servers[server])),
        gpus((context.free.on(server) - barred).count()),
        resources(context.free.resources(server)) {}
  static GpuSet barred_to(const Shape& shape, const Server& server) {
    const bool is_there = !shape.gpu_memory_bytes || !shape.frozen_on.empty();
    return is_there ? GpuSet() : server.without_memory(*shape.gpu_memory_bytes);
  }
  void add(const Job& job, ServerIndex server) {
    gpus += (job.allocation.on(server) - barred).count();
    if (!job.request.demand.is_zero()) resources += Demand(job.request).on(job.allocation, server);
  }
  bool holds(const Shape& shape) const {
    return gpus >= shape.gpus && (shape.demand.is_zero() || shape.demand.fits_in(resources));
  }
};

}  // namespace

Rank Victims::work_out(const Context& context, const Shape& shape, ServerIndex server,
                       const Candidates& candidates) const {
  const Server& at = context.snapshot.servers[server];
  if (!context.free.is_open(server) || at.description.gpus < shape.gpus ||
      !is_eligible(at, shape.gpu_types, shape.gpu_memory_bytes, shape.needs_containers, shape.servers_chosen))
    return Rank::most_urgent();
  Room room(context, shape, server);
  for (const Candidate& candidate : candidates) {
    room.add(context.snapshot.job(candidate.job), server);
    if (room.holds(shape)) return candidate.rank;
  }
  return Rank::most_urgent();
}

// For shapes that ask only for GPUs, all at once: each gets what work_out would return.
void Victims::work_out_plain(const Context& context, ServerIndex server, const Candidates& candidates) {
  auto next = plain_.begin();
  const auto offer_up_to = [&](int gpus, const Rank& rank) {
    for (; next != plain_.end() && next->gpus <= gpus; ++next) set(offers_[next->shape], server, rank);
  };
  if (context.free.is_open(server)) {
    int room = context.free.count(server);
    for (const Candidate& candidate : candidates) offer_up_to(room += candidate.gpus, candidate.rank);
  }
  offer_up_to(std::numeric_limits<int>::max(), Rank::most_urgent());
}

void Victims::find_best(Offers& offers) {
  const auto at = std::max_element(offers.by_server.begin(), offers.by_server.end());  // the first among equals
  offers.best = ServerIndex(static_cast<std::uint32_t>(at - offers.by_server.begin()));
}

void Victims::set(Offers& offers, ServerIndex server, const Rank& rank) {
  Rank& here = offers.by_server[server.value];
  const bool falls = rank < here;
  here = rank;
  if (!offers.best.valid()) return;
  if (server == offers.best) {
    if (falls) offers.best = ServerIndex::none();
    return;
  }
  const Rank& best = offers.by_server[offers.best.value];
  if (best < rank || (best == rank && server < offers.best)) offers.best = server;
}

void Victims::settle(const Context& context) {
  for (const ServerIndex server : touched_) {
    is_touched_[server] = 0;
    const Candidates& candidates = to_remember(context, server);
    work_out_plain(context, server, candidates);
    for (const std::uint32_t shape : demanding_)
      set(offers_[shape], server, work_out(context, context.shapes[shape], server, candidates));
  }
  touched_.clear();
}

void Victims::list(const Shapes& shapes, std::uint32_t shape) {
  SL_CHECK(shapes[shape].servers_max == 1, "an offer is for one server");
  if (!shapes[shape].is_plain()) return demanding_.push_back(shape);
  const Plain plain{shapes[shape].gpus, shape};
  plain_.insert(std::lower_bound(plain_.begin(), plain_.end(), plain), plain);
}

ServerIndex Victims::best(const Context& context, std::uint32_t shape, const Rank& than) {
  settle(context);
  if (context.shapes[shape].gpus > context.free.gpus_per_server_max()) return ServerIndex::none();
  if (offers_.size() <= shape) offers_.resize(shape + 1);
  Offers& offers = offers_[shape];
  if (!offers.known) {
    offers.known = true;
    list(context.shapes, shape);
    offers.best = ServerIndex::none();
    offers.by_server.clear();
    for (std::uint32_t s = 0; s < context.snapshot.servers.size(); ++s) {
      const ServerIndex server(s);
      offers.by_server.push_back(work_out(context, context.shapes[shape], server, to_remember(context, server)));
    }
  }
  while (!offers.by_server.empty()) {
    if (!offers.best.valid()) find_best(offers);
    const ServerIndex server = offers.best;
    const Rank before = offers.by_server[server.value];
    if (before <= than) break;
    if (!context.rank_now) return server;
    // What was reported may be too good, because jobs have become more urgent since; it is never too bad.
    const Rank now =
        std::max(than, work_out(context, context.shapes[shape], server, candidates_on(context, server, than)));
    set(offers, server, now);
    if (context.ranks_rise) lowered_.push_back(server);
    if (now == before) return server;
  }
  return ServerIndex::none();
}

Victims::Jobs Victims::on_server(const Context& context, std::uint32_t shape, ServerIndex server, const Rank& than) {
  Jobs jobs;
  Room room(context, context.shapes[shape], server);
  for (const Candidate& candidate : candidates_on(context, server, than)) {
    if (room.holds(context.shapes[shape])) break;
    room.add(context.snapshot.job(candidate.job), server);
    jobs.push_back(candidate.job);
  }
  return jobs;
}

void Victims::change_rank(JobIndex job, const std::optional<RankKey>& rank) {
  auto& [where, kept] = known(job);
  if (kept == rank) return;
  if (kept) by_rank_.erase(job, {*kept}), leave(job);
  kept = rank;
  if (kept) by_rank_.insert(job, {*kept}), enter(job);
  touch(where);
}

Victims::Jobs Victims::anywhere(const Context& context, const Shape& shape, const Rank& than) const {
  int missing = shape.gpus - context.free.total();
  boost::container::small_vector<Candidate, 64> candidates;
  for (const auto& [least, job] : by_rank_) {
    if (least.key.rank <= than) break;  // no job behind it is less urgent: ranks only fall
    const Rank rank = context.rank_now ? context.rank_now(job) : least.key.rank;
    if (rank <= than) continue;
    candidates.push_back({rank, least.key.id, job, 0});
    for (const ServerGpus& part : known_[job].where.parts()) {
      if (context.free.is_open(part.server)) missing -= part.gpus.count();
    }
    if (missing <= 0 && shape.is_plain() && shape.spread != Spread::fewest && !context.rank_now) break;
  }
  Jobs jobs;
  if (missing > 0) return jobs;
  std::sort(candidates.begin(), candidates.end());
  for (const Candidate& candidate : candidates) jobs.push_back(candidate.job);
  return jobs;
}

}  // namespace sl
