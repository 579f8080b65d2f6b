#include "policy/waiting_lines.h"

#include <algorithm>
#include <bit>

namespace sl {
namespace {

std::span<const Role> roles_apart(const JobRequest& request) {
  return request.single_server() ? std::span<const Role>() : roles_of(request);
}

bool demands_match(const Shape& shape, const JobRequest& request, int gpus) {
  if (roles_of(request).empty()) return shape.demand == request.demand && shape.roles.empty();
  return shape.demand == Demand(request).on(gpus) && std::ranges::equal(shape.roles, roles_apart(request));
}

std::size_t hash_of(const JobRequest& request, int gpus, Spread spread, const Allocation& frozen_on) {
  auto hash = static_cast<std::uint64_t>(gpus) * 64 + static_cast<std::uint64_t>(std::min(request.servers_max, 63));
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL + (hash >> 29); };
  if (request.gpu_memory_bytes) mix(static_cast<std::uint64_t>(*request.gpu_memory_bytes));
  if (!request.demand.is_zero()) {
    for (const double amount : Demand(request).on(gpus).amount) mix(std::bit_cast<std::uint64_t>(amount));
  }
  for (const GpuTypeIndex type : request.gpu_types) mix(type.value);
  if (request.needs_containers) mix(1);
  if (!request.servers_chosen.is_any()) mix(request.servers_chosen.hash());
  if (spread != Spread::few) mix(static_cast<std::uint64_t>(spread));
  for (const ServerGpus& part : frozen_on.parts()) mix(part.server.value), mix(part.gpus.bits);
  return static_cast<std::size_t>(hash);
}

bool matches(const Shape& shape, const JobRequest& request, int gpus, Spread spread, const Allocation& frozen_on) {
  return shape.gpus == gpus && shape.spread == spread && shape.servers_max == request.servers_max &&
         shape.gpu_memory_bytes == request.gpu_memory_bytes && demands_match(shape, request, gpus) &&
         shape.gpu_types == request.gpu_types && shape.needs_containers == request.needs_containers &&
         shape.servers_chosen == request.servers_chosen && shape.frozen_on == frozen_on;
}

}  // namespace

Shape Shape::of(const JobRequest& request, int gpus, Spread spread) {
  const std::span<const Role> roles = roles_apart(request);
  return {gpus,
          request.servers_max,
          spread,
          request.gpu_memory_bytes,
          Demand(request).on(gpus),
          request.gpu_types,
          request.needs_containers,
          request.servers_chosen,
          std::vector<Role>(roles.begin(), roles.end())};
}

std::uint32_t Shapes::look_up(const JobRequest& request, int gpus, Spread spread, const Allocation& frozen_on) {
  // moves on if another shape has the slot
  for (std::size_t hash = hash_of(request, gpus, spread, frozen_on);; ++hash) {
    const auto [at, is_new] = by_hash_.try_emplace(hash, static_cast<std::uint32_t>(shapes_.size()));
    if (is_new) shapes_.push_back(Shape::of(request, gpus, spread)), shapes_.back().frozen_on = frozen_on;
    if (is_new || matches(shapes_[at->second], request, gpus, spread, frozen_on)) return at->second;
  }
}

}  // namespace sl
