// What is right and wrong with the controller and its servers, as far as the controller can tell, each with what to do:
// REST's `doctor`, which the command line and the page show.
#pragma once

#include <string>
#include <vector>

#include "controller/answers.h"
#include "controller/logic.h"

namespace sl::controller {

// `url`: where agents reach the controller. The findings of a server name it.
std::vector<answers::Finding> findings(const Logic& logic, const std::string& url, Instant now);

}  // namespace sl::controller
