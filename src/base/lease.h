// A lease is how long a server's attempts may rely on the last contact with the controller. When it expires, attempts
// that may be started elsewhere are asked to end, and killed after the grace period; the controller waits for both
// before it starts them elsewhere.
#pragma once

#include "base/time.h"

namespace sl {

inline constexpr Duration fence_grace = Duration::whole_seconds(10);

}  // namespace sl
