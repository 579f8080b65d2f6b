// The identities of the model. A JobId is what users see and never changes meaning; a JobIndex is the slot of an
// unfinished job in the core's table and is used again after the job has ended.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace sl {

using JobId = Id<struct JobIdTag, std::int64_t>;
using JobIndex = Id<struct JobIndexTag, std::uint32_t>;
using ServerIndex = Id<struct ServerIndexTag, std::uint32_t>;
// Names that many jobs share are interned by the core (Names): comparing two users is comparing two integers.
using UserIndex = Id<struct UserIndexTag, std::uint32_t>;
using FamilyIndex =
    Id<struct FamilyIndexTag, std::uint32_t>;  // jobs that resemble one another: same name or same model
using GpuTypeIndex = Id<struct GpuTypeIndexTag, std::uint32_t>;

}  // namespace sl
