// Commands of this program in processes of their own (controller/simulator.h).
#pragma once

#include "controller/simulator.h"

namespace sl::app {

// The thread that calls it must live as long as the command: commands die with it. So they do with this process.
Result<std::string> run_own_command(const std::vector<std::string>& arguments, const std::string& folder,
                                    const controller::CommandLimits& limits,
                                    const std::function<bool(std::string_view)>& hear);

}  // namespace sl::app
