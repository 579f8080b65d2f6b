#include "policy/future_gpus.h"

#include <algorithm>
#include <cmath>

#include "policy/placer.h"

namespace sl {

FutureGpus::FutureGpus(const Snapshot& snapshot, const std::vector<Holding>& holdings) : snapshot_(snapshot) {
  const FreeGpus& free = snapshot.free;
  for (std::uint32_t s = 0; s < free.servers(); ++s) {
    const ServerIndex server(s);
    resources_.push_back(free.resources(server));
    steps_.push_back({{snapshot.now, 0}});
    sizes_.push_back(0);
    if (snapshot.servers[server].description.in_pool && !first_of_pool_.valid()) first_of_pool_ = server;
    if (!free.is_open(server)) continue;
    steps_[stands_for(server).value].front().free += free.count(server);
    sizes_[stands_for(server).value] += snapshot.servers[server].description.gpus;
  }
  std::vector<GpuSet> coming(steps_.size());  // a GPU with several tenants becomes free once
  for (const Holding& holding : holdings) {
    for (const ServerGpus& part : holding.gpus.parts()) {
      const Server& server = snapshot.servers[part.server];
      GpuSet gpus = part.gpus - free.on(part.server) - server.outside - server.unavailable - coming[part.server.value];
      if (!free.is_open(part.server) || gpus.empty()) continue;
      coming[part.server.value] |= gpus;
      add(steps_[stands_for(part.server).value], holding.end, Instant::never(), gpus.count());
    }
  }
}

void FutureGpus::add(Steps& steps, Instant from, Instant to, int gpus) {
  const auto cut = [&](Instant at) {  // index of the step that begins at `at`
    const auto after =
        std::upper_bound(steps.begin(), steps.end(), at, [](Instant t, const Step& step) { return t < step.from; });
    const auto index = static_cast<std::size_t>(after - steps.begin());
    if (index > 0 && steps[index - 1].from == at) return index - 1;
    steps.insert(after, {at, index == 0 ? 0 : steps[index - 1].free});
    return index;
  };
  const std::size_t first = cut(from);
  const std::size_t last = to.is_never() ? steps.size() : cut(to);
  for (std::size_t i = first; i < last; ++i) steps[i].free += gpus;
}

int FutureGpus::least(const Steps& steps, Instant from, Instant to) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), from, [](Instant t, const Step& step) { return t < step.from; });
  if (after == steps.begin()) return 0;
  int least = (after - 1)->free;
  for (auto at = after; at != steps.end() && at->from < to; ++at) least = std::min(least, at->free);
  return least;
}

// The earliest start of a window of that length with at least `gpus` free throughout; nothing if none starts before
// `before`.
std::optional<Instant> FutureGpus::first_with(const Steps& steps, int gpus, Duration length, Instant before) {
  std::optional<Instant> since;
  for (const Step& step : steps) {
    if (since && step.from >= *since + length) break;
    if (!since && step.from >= before) return std::nullopt;
    if (step.free < gpus) {
      since.reset();
    } else if (!since) {
      since = step.from;
    }
  }
  return since;
}

std::vector<Instant> FutureGpus::more_than(const Room& before) const {
  if (before.generation != snapshot_.free.generation() || before.steps.size() != steps_.size())
    return std::vector<Instant>(steps_.size(), snapshot_.now);
  const auto exceeds_from = [](const Steps& steps, const Steps& old) {
    std::size_t then = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Instant to = i + 1 < steps.size() ? steps[i + 1].from : Instant::never();
      while (then + 1 < old.size() && old[then + 1].from <= steps[i].from) ++then;
      for (std::size_t at = then; at < old.size() && old[at].from < to; ++at) {
        if (steps[i].free > old[at].free) return std::max(steps[i].from, old[at].from);
      }
    }
    return Instant::never();
  };
  std::vector<Instant> more;
  for (std::size_t s = 0; s < steps_.size(); ++s) more.push_back(exceeds_from(steps_[s], before.steps[s]));
  return more;
}

int FutureGpus::free_now() const {
  int free = 0;
  for (const Steps& steps : steps_) free += steps.front().free;
  return free;
}

const FutureGpus::Steps& FutureGpus::total() const {
  if (!total_.empty()) return total_;
  for (const Steps& steps : steps_) {  // first by how much it changes at each step
    for (std::size_t i = 0; i < steps.size(); ++i)
      total_.push_back({steps[i].from, steps[i].free - (i == 0 ? 0 : steps[i - 1].free)});
  }
  std::ranges::sort(total_, {}, &Step::from);
  std::size_t last = 0;
  for (std::size_t i = 1; i < total_.size(); ++i) {
    if (total_[i].from == total_[last].from) {
      total_[last].free += total_[i].free;
    } else {
      total_[last + 1] = {total_[i].from, total_[last].free + total_[i].free};
      ++last;
    }
  }
  total_.resize(last + 1);
  return total_;
}

bool FutureGpus::takes(ServerIndex server, const JobRequest& request) const {
  return sizes_[server.value] > 0 && is_eligible(snapshot_.servers[server], request);
}

int FutureGpus::without_memory(ServerIndex server, const JobRequest& request) const {
  const Server& at = snapshot_.servers[server];
  return (at.all() - roomy(at, at.all(), request.gpu_memory_bytes)).count();
}

std::optional<Booking> FutureGpus::earliest_on_one(const JobRequest& request, int gpus, Duration length, Instant before,
                                                   const Marked* only) const {
  std::optional<Booking> best;
  int best_free = 0;
  for (std::uint32_t s = 0; s < steps_.size(); ++s) {
    const ServerIndex server(s);
    if ((only && !(*only)[s]) || sizes_[s] < gpus || !takes(server, request)) continue;
    const Instant bound = best ? best->from + Duration{1} : before;
    const auto at = first_with(steps_[s], gpus + without_memory(server, request), length, bound);
    if (!at) continue;
    if (*at == snapshot_.now && !has_resources(request, {{server, gpus}})) continue;
    const int free = least(steps_[s], *at, *at + Duration{1});
    if (best && (*at > best->from || (*at == best->from && free >= best_free))) continue;
    best = Booking{*at, length, {{server, gpus}}};
    best_free = free;
  }
  return best;
}

// Fullest servers first, the remainder where it fits best; empty if the free GPUs do not suffice.
ServerCounts FutureGpus::spread(const JobRequest& request, int gpus, Instant from, Instant to) const {
  std::vector<ServerCount> free;
  for (std::uint32_t s = 0; s < steps_.size(); ++s) {
    if (!takes(ServerIndex(s), request)) continue;
    const int count = least(steps_[s], from, to) - without_memory(ServerIndex(s), request);
    if (count > 0) free.push_back({ServerIndex(s), count});
  }
  std::stable_sort(free.begin(), free.end(), [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
  ServerCounts taken;
  for (std::size_t i = 0; i < free.size() && gpus > 0; ++i) {
    std::size_t pick = i;
    if (free[i].gpus >= gpus) {  // the remainder: the tightest server that suffices
      while (pick + 1 < free.size() && free[pick + 1].gpus >= gpus) ++pick;
    }
    const int part = std::min(gpus, free[pick].gpus);
    taken.push_back({free[pick].server, part});
    gpus -= part;
  }
  if (gpus > 0) taken.clear();
  std::sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) { return a.server < b.server; });
  return taken;
}

namespace {

// Of what is unlimited nothing is missing.
ResourceVector difference(ResourceVector all, const ResourceVector& left) {
  for (std::size_t d = 0; d < resource_count; ++d)
    all.amount[d] = std::isinf(all.amount[d]) ? 0 : all.amount[d] - left.amount[d];
  return all;
}

}  // namespace

std::optional<Booking> FutureGpus::now_on_many(const JobRequest& request, int gpus, Duration length) const {
  if (first_of_pool_.valid()) return std::nullopt;
  const FreeGpus& free = snapshot_.free;
  Trial left(snapshot_.free);  // by what begins now
  for (std::uint32_t s = 0; s < steps_.size(); ++s) {
    const ServerIndex server(s);
    const int booked = free.is_open(server) ? free.count(server) - steps_[s].front().free : 0;
    if (booked <= 0) continue;
    left.take(server, free.on(server).lowest(booked), difference(free.resources(server), resources_[s]));
  }
  const auto placed = place_consolidated(left.free(), snapshot_.servers, request, gpus);
  if (!placed) return std::nullopt;
  Booking booking{snapshot_.now, length, {}};
  for (const ServerGpus& part : placed->parts()) booking.on.push_back({part.server, part.gpus.count()});
  return is_possible(request, booking) ? std::optional(std::move(booking)) : std::nullopt;
}

std::optional<Booking> FutureGpus::earliest_on_many(const JobRequest& request, int gpus, Duration length,
                                                    Instant before) const {
  const Steps& all = total();
  for (std::size_t i = 0; i < all.size() && all[i].from < before; ++i) {
    if (all[i].free < gpus) continue;
    const Instant from = all[i].from;
    if (least(all, from, from + length) < gpus) continue;
    ServerCounts on = spread(request, gpus, from, from + length);
    if (from == snapshot_.now && !has_resources(request, on)) {
      if (auto booking = now_on_many(request, gpus, length)) return booking;
      continue;
    }
    if (on.empty() || std::cmp_greater(on.size(), request.servers_max)) continue;
    return Booking{from, length, std::move(on)};
  }
  return std::nullopt;
}

std::optional<Booking> FutureGpus::earliest(const JobRequest& request, int gpus, Duration length, Instant before,
                                            const Marked* only) const {
  auto on_one = earliest_on_one(request, gpus, length, before, only);
  if (request.single_server() || (on_one && on_one->from == snapshot_.now)) return on_one;
  auto on_many = earliest_on_many(request, gpus, length, on_one ? on_one->from : before);
  if (!on_one || (on_many && on_many->from < on_one->from)) return on_many;
  return on_one;
}

bool FutureGpus::is_possible(const JobRequest& request, const Booking& booking) const {
  if (booking.from < snapshot_.now) return false;
  if (booking.from == snapshot_.now && !has_resources(request, booking.on)) return false;
  return std::all_of(booking.on.begin(), booking.on.end(), [&](const ServerCount& part) {
    return part.server.value < steps_.size() && takes(part.server, request) &&
           least(steps_[part.server.value], booking.from, booking.from + booking.length) >=
               part.gpus + without_memory(part.server, request);
  });
}

namespace {

// visit(part, what the job needs there) for every server of a booking, as Demand divides it.
template <typename Visit>
void for_each_share(const ServerCounts& on, Demand demand, Visit visit) {
  int whole = 0, first = 0;
  for (const ServerCount& part : on) whole += part.gpus;
  for (const ServerCount& part : on) {
    visit(part, demand.is_zero() ? ResourceVector{} : demand.of_ranks(first, part.gpus, whole));
    first += part.gpus;
  }
}

}  // namespace

bool FutureGpus::has_resources(const JobRequest& request, const ServerCounts& on) const {
  if (request.demand.is_zero()) return true;
  bool fit = true;
  for_each_share(on, request, [&](const ServerCount& part, const ResourceVector& share) {
    fit = fit && share.fits_in(resources_[part.server.value]);
  });
  return fit;
}

void FutureGpus::change(const JobRequest& request, const Booking& booking, int sign) {
  const Instant to = booking.from + booking.length;
  for_each_share(booking.on, request, [&](const ServerCount& part, const ResourceVector& share) {
    add(steps_[part.server.value], booking.from, to, sign * part.gpus);
    if (!total_.empty()) add(total_, booking.from, to, sign * part.gpus);
    if (booking.from == snapshot_.now && !request.demand.is_zero()) resources_[part.server.value] += share * sign;
  });
}

Allocation free_gpus_of(const ServerTable& servers, const FreeGpus& free, const JobRequest& request,
                        const Booking& booking) {
  Allocation gpus;
  const auto take = [&](ServerIndex server, int most) {
    const GpuSet there = free_for(free, servers, request, server);
    const int count = free.is_open(server) ? std::min(most, there.count()) : 0;
    if (count > 0) gpus.add(server, lowest(servers[server], there, count));
    return count;
  };
  for (const ServerCount& part : booking.on) {
    if (!servers[part.server].description.in_pool) {
      take(part.server, part.gpus);
      continue;
    }
    int rest = part.gpus;
    for (std::uint32_t s = part.server.value; rest > 0 && s < free.servers(); ++s) {
      if (servers[ServerIndex(s)].description.in_pool) rest -= take(ServerIndex(s), rest);
    }
  }
  return gpus;
}

}  // namespace sl
