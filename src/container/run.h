// The program that is an attempt's process while the attempt runs in a container: creates and starts it, passes on
// signals, waits for its end, removes it, and ends as the job did.
//
// That no container runs twice, or longer than it should, rests on the kernel and not on the engine:
//
// - The first process of every container carries the mark of its attempt in its environment (src/agent/process_trees.h),
//   so the launcher sees it, ends it and waits for its end as it does with every other process of the attempt.
// - That process looks for the lock that this program holds for as long as it lives, and ends at once without it. So a
//   start that an engine carries out late, after this program was killed, runs nothing.
// - It starts the job only when this program has seen its mark and says so. So an attempt that is frozen or killed
//   while its container is being made does not run either.
//
// What is left in the engine then is a container that does not run; sweep() removes it. The decisions: run_logic.h.
#pragma once

#include <string>

#include "base/result.h"

namespace sl::container {

// `folder`: see order.h. Returns the exit status; may end by the signal that ended the job.
int run(const std::string& folder);

// Removes the containers of the agent that no living program runs. An error: some may be left.
class Engine;
Status sweep(const Engine& engine, const std::string& agent);

}  // namespace sl::container
