// The schema as numbered steps; step n makes version n. Each runs in one transaction. Statements end with ";\n".
#pragma once

#include <vector>

namespace sl::store {

const std::vector<const char*>& migrations();

}  // namespace sl::store
