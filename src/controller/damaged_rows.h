// A row of the database that cannot be read does not keep the controller from starting: it is skipped, the others are
// loaded, and an event says which row it is and why, and keeps its contents. Jobs: restart.h.
#pragma once

#include <string>

#include "base/time.h"
#include "store/store.h"

namespace sl::controller {

// `what`: of which thing, as people call it: "server gpu4". `content`: what could not be read.
store::EventRow row_set_aside(const std::string& what, const std::string& why, const std::string& content, Instant now);

}  // namespace sl::controller
