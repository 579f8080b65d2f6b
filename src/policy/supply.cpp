#include "policy/supply.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <utility>

#include "policy/placer.h"

namespace sl {
namespace {

constexpr std::size_t choices_max = 1000, kinds_max = 64;  // kinds are bits of a word
constexpr int kinds_exact_max = 6;

bool any_server_will_do(const Shape& shape) {
  return shape.gpu_types.empty() && !shape.gpu_memory_bytes && !shape.needs_containers && shape.servers_chosen.is_any();
}

bool choose_alike(const Shape& a, const Shape& b) {
  return a.gpu_types == b.gpu_types && a.gpu_memory_bytes == b.gpu_memory_bytes &&
         a.needs_containers == b.needs_containers && a.servers_chosen == b.servers_chosen;
}

bool is_within(KindSet some, KindSet all) { return (some & ~all) == 0; }

}  // namespace

void ServerKinds::update(const Snapshot& snapshot, const Shapes& shapes) {
  const bool has_new_choice = list_choices(shapes);
  if (!has_new_choice && generation_ == snapshot.free.generation()) return;
  generation_ = snapshot.free.generation();
  const bool any_will_do =
      std::ranges::all_of(chosen_, [&](const Choice& c) { return any_server_will_do(shapes[c.shape]); });
  are_alike_ = any_will_do || !sort_servers(snapshot, shapes);
}

// Of shapes that are new. Returns whether any of them is unlike all before. There may be as many shapes as jobs, but
// they choose servers in few ways.
bool ServerKinds::list_choices(const Shapes& shapes) {
  const std::size_t known = chosen_.size();
  while (choice_of_.size() < shapes.size()) {
    const auto shape = static_cast<std::uint32_t>(choice_of_.size());
    auto same = chosen_.size() > choices_max ? std::prev(chosen_.end())  // too many
                                             : std::ranges::find_if(chosen_, [&](const Choice& choice) {
                                                 return choose_alike(shapes[choice.shape], shapes[shape]);
                                               });
    if (same == chosen_.end()) same = chosen_.insert(same, {shape});
    choice_of_.push_back(static_cast<std::uint32_t>(same - chosen_.begin()));
  }
  return chosen_.size() > known;
}

// False: there are no differences, or too many to be told apart.
bool ServerKinds::sort_servers(const Snapshot& snapshot, const Shapes& shapes) {
  if (chosen_.size() > choices_max) return false;
  for (Choice& choice : chosen_) choice.kinds = 0, choice.servers = 0;
  std::map<std::vector<bool>, KindSet> kind_of;  // by the choices that a server meets
  bool all_are_used = true;
  by_server_.clear();
  for (const Server& server : snapshot.servers) {
    std::vector<bool> meets;
    for (Choice& choice : chosen_) {
      const Shape& shape = shapes[choice.shape];
      meets.push_back(
          is_eligible(server, shape.gpu_types, shape.gpu_memory_bytes, shape.needs_containers, shape.servers_chosen));
      choice.servers += meets.back() ? 1 : 0;
    }
    KindSet kind = 0;
    if (std::ranges::find(meets, true) == meets.end()) {
      all_are_used = false;
    } else if (const auto known = kind_of.find(meets); known != kind_of.end()) {
      kind = known->second;
    } else {
      if (kind_of.size() == kinds_max) return false;
      kind = KindSet{1} << kind_of.size();
      for (std::size_t c = 0; c < chosen_.size(); ++c) {
        if (meets[c]) chosen_[c].kinds |= kind;
      }
      kind_of.emplace(std::move(meets), kind);
    }
    by_server_.push_back(kind);
  }
  count_ = static_cast<int>(kind_of.size());
  const bool all_find_some = std::ranges::none_of(chosen_, [](const Choice& choice) { return choice.kinds == 0; });
  return count_ != 1 || !all_are_used || !all_find_some;
}

std::vector<KindSet> ServerKinds::sets() const {
  std::vector<KindSet> sets;
  for (const Choice& choice : chosen_) sets.push_back(choice.kinds);
  return sets;
}

Supply::Supply(int kinds, std::vector<KindSet> sets) {
  const KindSet all = kinds == static_cast<int>(kinds_max) ? ~KindSet{0} : (KindSet{1} << kinds) - 1;
  if (kinds <= kinds_exact_max) {
    for (KindSet some = 1; some < all; ++some) bounds_.push_back({some, 0});
  } else {
    for (int kind = 0; kind < kinds; ++kind) sets.push_back(KindSet{1} << kind);
    std::ranges::sort(sets);
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    for (const KindSet set : sets) {
      if (set != 0 && set != all) bounds_.push_back({set, 0});
    }
  }
  bounds_.push_back({all, 0});
}

Supply Supply::of_free(const Snapshot& snapshot, const ServerKinds& kinds) {
  if (kinds.are_alike()) return Supply(snapshot.free.total());
  Supply supply(kinds.count(), kinds.sets());
  std::array<int, kinds_max> free{};
  for (ServerIndex server{0}; server.value < snapshot.free.servers(); ++server.value) {
    const KindSet kind = kinds.of(server);
    if (kind != 0 && snapshot.free.is_open(server))
      free[static_cast<std::size_t>(std::countr_zero(kind))] += snapshot.free.count(server);
  }
  for (int kind = 0; kind < kinds.count(); ++kind) supply.add(KindSet{1} << kind, free[static_cast<std::size_t>(kind)]);
  return supply;
}

void Supply::add(KindSet kind, int gpus) {
  if (kind == 0) return;
  for (Bound& bound : bounds_) {
    if ((kind & bound.kinds) != 0) bound.left += gpus;
  }
}

int Supply::left(KindSet kinds) const {
  if (kinds == 0) return 0;
  int least = total();
  for (const Bound& bound : bounds_) {
    if (is_within(kinds, bound.kinds)) least = std::min(least, bound.left);
  }
  return std::max(0, least);
}

void Supply::give(Share& share, int gpus) {
  share.gpus += gpus;
  take(share.may_use, gpus);
}

bool Supply::give_one(Share& share) {
  if (left_for(share) == 0) return false;
  give(share, 1);
  return true;
}

void Supply::take(KindSet kinds, int gpus) {
  if (gpus == 0) return;
  for (Bound& bound : bounds_) {
    if (is_within(kinds, bound.kinds)) bound.left -= gpus;
  }
}

}  // namespace sl
