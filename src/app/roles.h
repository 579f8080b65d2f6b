// What the roles of the program have in common, and the largest of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "cli/cli.h"
#include "controller/controller.h"
#include "net/event_loop.h"

namespace sl::app {

// Prints it; returns the exit status.
int fail(const Error& error);

// Lets this process open as many files as it may. Returns how many it could open before.
std::uint64_t raise_file_limit();

// The token in this file, whenever it is asked for; empty: there is none.
std::function<std::string()> token_in(const std::string& file);

// With what all agents of this program have in common. Raises the limit of open files, but not that of jobs.
agent::AgentSettings agent_settings();

agent::ContainerSettings container_settings(const cli::ContainerOptions& options);

Result<std::unique_ptr<controller::Controller>> start_controller(net::EventLoop& loop,
                                                                 const cli::ControllerOptions& options);

// The folders of the agents whose controller has this data folder, if `up` runs or ran them: there is one per server.
std::string agent_folder(const std::string& data);
std::string agent_folder(const std::string& data, const std::string& simulated_server);
std::vector<std::string> agent_folders(const std::string& data);  // those that exist

// Answers questions about a data folder in which no daemon runs. Errors: those of controller::Past::open.
Result<cli::Fetch> open_past(const std::string& data);

// `schedulearn db`: the database as files of this machine (store/backup.h).
Result<boost::json::value> database_role(const cli::DatabaseOptions& options);

// `schedulearn up`: controller and agents in one process, which begin and end together (up.cpp).
int up_role(const cli::UpOptions& options);

}  // namespace sl::app
