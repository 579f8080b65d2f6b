#include "policy/waiting_lines.h"

#include <bit>

namespace sl {
namespace {

std::size_t hash_of(const JobRequest& request, int gpus) {
  auto hash = static_cast<std::uint64_t>(gpus) * 2 + (request.single_server ? 1 : 0);
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL + (hash >> 29); };
  mix(static_cast<std::uint64_t>(request.gpu_memory_bytes.value_or(-1)));
  if (!request.demand.is_zero()) {
    for (const double amount : request.demand.amount) mix(std::bit_cast<std::uint64_t>(amount));
  }
  for (const GpuTypeIndex type : request.gpu_types) mix(type.value);
  return static_cast<std::size_t>(hash);
}

bool matches(const Shape& shape, const JobRequest& request, int gpus) {
  return shape.gpus == gpus && shape.single_server == request.single_server &&
         shape.gpu_memory_bytes == request.gpu_memory_bytes && shape.demand == request.demand &&
         shape.gpu_types == request.gpu_types;
}

}  // namespace

Shape Shape::of(const JobRequest& request, int gpus) {
  return {gpus, request.single_server, request.gpu_memory_bytes, request.demand, request.gpu_types};
}

std::uint32_t Shapes::intern(const JobRequest& request, int gpus) {
  if (latest_ < shapes_.size() && matches(shapes_[latest_], request, gpus)) return latest_;
  for (std::size_t hash = hash_of(request, gpus);; ++hash) {  // onwards where another shape has it
    const auto [at, is_new] = by_hash_.try_emplace(hash, static_cast<std::uint32_t>(shapes_.size()));
    if (is_new) shapes_.push_back(Shape::of(request, gpus));
    if (is_new || matches(shapes_[at->second], request, gpus)) return latest_ = at->second;
  }
}

}  // namespace sl
