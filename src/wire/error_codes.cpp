#include "wire/error_codes.h"

#include <algorithm>

namespace sl::wire {
namespace {

constexpr ErrorCode codes[] = {
#include "wire/error_codes.inc"
};

}  // namespace

std::span<const ErrorCode> error_codes() { return codes; }

const ErrorCode* find_error_code(std::string_view code) {
  const auto* found = std::ranges::find(codes, code, &ErrorCode::code);
  return found == std::end(codes) ? nullptr : found;
}

}  // namespace sl::wire
