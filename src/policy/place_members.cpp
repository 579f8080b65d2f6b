#include "policy/place_members.h"

#include <algorithm>
#include <functional>

#include "policy/placer.h"

namespace sl {
namespace {

struct Place {
  ServerIndex server;
  int gpus;  // how many may be taken of it
};

std::vector<ServerIndex> sorted_by_free(const FreeGpus& free, const std::function<bool(int, int)>& before) {
  std::vector<ServerIndex> order;
  for (std::uint32_t s = 0; s < free.servers(); ++s) {
    if (free.is_open(ServerIndex(s)) && free.count(ServerIndex(s)) > 0) order.push_back(ServerIndex(s));
  }
  std::ranges::stable_sort(order, [&](ServerIndex a, ServerIndex b) { return before(free.count(a), free.count(b)); });
  return order;
}

// In each dimension the least that any member with a GPU asks for.
ResourceVector least_of_a_member(const JobRequest& request, int count) {
  if (request.demand.is_zero()) return {};
  if (roles_of(request).empty()) return Demand(request).of_ranks(0, 1, count);
  std::optional<ResourceVector> least;
  for (const Role& role : roles_of(request)) {
    if (role.gpus == 0) continue;
    if (!least) least = role.demand;
    for (std::size_t d = 0; d < resource_count; ++d)
      least->amount[d] = std::min(least->amount[d], role.demand.amount[d]);
  }
  return least.value_or(ResourceVector{});
}

// The servers on which members could be placed, each with an upper bound of their number.
std::vector<Place> places_for(const FreeGpus& free, const ServerTable& servers, const JobRequest& request, int count,
                              const std::vector<ServerIndex>& order) {
  const ResourceVector member = least_of_a_member(request, count);
  std::vector<Place> places;
  for (const ServerIndex server : order) {
    if (!is_eligible(servers[server], request)) continue;
    int gpus = free_for(free, servers, request, server).count();
    while (gpus > 0 && !free.fits(server, member * gpus)) --gpus;
    if (gpus > 0) places.push_back({server, gpus});
  }
  return places;
}

Allocation taken(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                 const std::vector<Place>& places, int count) {
  const bool in_order = has_unlike_members(request);
  Allocation gpus;
  for (const Place& place : places) {
    const int here = std::min(place.gpus, count);
    if (here == 0) continue;
    const GpuSet there = lowest(servers[place.server], free_for(free, servers, request, place.server), here);
    in_order ? gpus.append(place.server, there) : gpus.add(place.server, there);
    count -= here;
  }
  return gpus;
}

// The first server that lacks resources for the members that would be there; none: all have enough.
ServerIndex overloaded(const FreeGpus& free, const Allocation& gpus, Demand demand) {
  ServerIndex found;
  for_each_share(gpus, demand, [&](const ServerGpus& part, const ResourceVector& share) {
    if (!found.valid() && !free.fits(part.server, share)) found = part.server;
  });
  return found;
}

std::optional<Allocation> place_in_order(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                         int count, std::vector<Place> places) {
  int total = 0;
  for (const Place& place : places) total += place.gpus;
  while (total >= count) {
    Allocation gpus = taken(free, servers, request, places, count);
    const ServerIndex full = overloaded(free, gpus, request);
    if (!full.valid()) return request.may_spread_over(gpus) ? std::optional(std::move(gpus)) : std::nullopt;
    const auto at = std::ranges::find(places, full, &Place::server);
    total -= at->gpus;
    at->gpus = gpus.on(full).count() - 1;
    total += at->gpus;
    if (at == places.begin() && at->gpus == 0) return std::nullopt;  // another server must be the first
  }
  return std::nullopt;
}

// Divides the ranks over servers in any order and any numbers, as many on each as it holds first.
class Divisions {
 public:
  Divisions(const FreeGpus& free, const ServerTable& servers, const JobRequest& request, int count)
      : free_(free), servers_(servers), request_(request), demand_(request), count_(count) {}

  std::optional<Allocation> find(const std::vector<Place>& places) {
    for (const Place& place : places) add(place);
    if (!divide(0)) return std::nullopt;
    Allocation gpus;
    for (const auto& [server, here] : chosen_)
      gpus.append(server, lowest(servers_[server], free_for(free_, servers_, request_, server), here));
    return gpus;
  }

 private:
  struct Kind {  // servers with the same room: which of them is taken makes no difference
    int gpus;
    ResourceVector room;
    std::vector<ServerIndex> servers;
    std::size_t taken = 0;
  };
  static constexpr std::size_t kinds_most = 16;

  void add(const Place& place) {
    const ResourceVector room = free_.resources(place.server);
    auto kind =
        std::ranges::find_if(kinds_, [&](const Kind& other) { return other.gpus == place.gpus && other.room == room; });
    if (kind == kinds_.end()) {
      if (kinds_.size() == kinds_most) return;
      kind = kinds_.insert(kind, {place.gpus, room, {}});
    }
    if (std::cmp_less(kind->servers.size(), count_)) kind->servers.push_back(place.server);
  }
  bool divide(int first) {
    if (first == count_) return true;
    if (std::cmp_greater_equal(chosen_.size(), request_.servers_max)) return false;
    for (Kind& kind : kinds_) {
      if (kind.taken == kind.servers.size()) continue;
      for (int here = std::min(kind.gpus, count_ - first); here > 0; --here) {
        if (tries_left_-- <= 0) return false;
        if (!free_.fits(kind.servers[kind.taken], demand_.of_ranks(first, here, count_))) continue;
        chosen_.push_back({kind.servers[kind.taken++], here});
        if (divide(first + here)) return true;
        chosen_.pop_back();
        --kind.taken;
      }
    }
    return false;
  }

  const FreeGpus& free_;
  const ServerTable& servers_;
  const JobRequest& request_;
  Demand demand_;
  int count_;
  int tries_left_ = 300;  // enough for all random gangs of satisfiable_test.cpp, and soon over
  std::vector<Kind> kinds_;
  std::vector<Place> chosen_;
};

}  // namespace

std::vector<ServerIndex> fullest_first(const FreeGpus& free) { return sorted_by_free(free, std::greater()); }
std::vector<ServerIndex> emptiest_first(const FreeGpus& free) { return sorted_by_free(free, std::less()); }

std::optional<Allocation> place_members(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                        int count, const std::vector<ServerIndex>& order) {
  const std::vector<Place> places = places_for(free, servers, request, count, order);
  const Demand demand(request);
  for (std::size_t first = 0; first < places.size(); ++first) {
    if (!demand.is_zero() && !free.fits(places[first].server, demand.of_ranks(0, 1, count))) continue;
    std::vector<Place> turned = places;
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(first),
                turned.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    if (auto gpus = place_in_order(free, servers, request, count, std::move(turned))) return gpus;
    if (!has_unlike_members(request)) return std::nullopt;  // which server is first makes no difference
  }
  if (!has_unlike_members(request)) return std::nullopt;
  return Divisions(free, servers, request, count).find(places);
}

std::optional<Allocation> place_on_fewest(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                          int count) {
  std::vector<Place> places = places_for(free, servers, request, count, fullest_first(free));
  std::ranges::stable_sort(places, std::greater(), &Place::gpus);
  Allocation gpus = taken(free, servers, request, places, count);
  return gpus.count() == count && request.may_spread_over(gpus) ? std::optional(std::move(gpus)) : std::nullopt;
}

}  // namespace sl
