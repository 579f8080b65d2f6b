// From an order to the running program: what can be checked before there is a process, and what a new process does
// until it becomes the program.
#pragma once

#include <sys/resource.h>

#include <string>

#include "agent/cgroups.h"
#include "agent/journal.h"
#include "agent/launcher_wire.h"
#include "base/result.h"

namespace sl::agent {

struct Surroundings {
  std::string mark;  // in its environment (process_trees.h)
  int journal = -1;  // where it records its own start; -1: it is no attempt's first process
  rlimit files{};    // how many files it may have open
  CgroupVersion cgroups = CgroupVersion::none;
};

// It could not write its start to the journal.
Error cannot_record(int error);

// `started` is what is known before: all but the process and its time, which are filled in. Its group is emptied when it
// could not be joined; those that limit it must be. The error is what the user reads; then no process is left. Its code is the kind of failure:
// "setup" for what the job asks for, "server_setup" for what the server should have.
Result<Started> start_process(const LaunchOrder& order, Started started, const Surroundings& surroundings);

}  // namespace sl::agent
