// A training whose processes torchrun starts: its command as the user wrote it, with torchrun put in.
#pragma once

#include <optional>
#include <string>

#include "wire/job_spec.h"

namespace sl::wire {

// The shell line that runs `command` under torchrun. `torchrun` (its script and options, ready for a shell) is inserted
// behind the interpreter and its options, where the line last starts Python or a .py file:
//
//   cd work && python -u train.py --lr 1   →   cd work && python -u TORCHRUN train.py --lr 1
//   ./train.py                             →   python3 TORCHRUN ./train.py
//
// The interpreter stays the one that the user named and that the job's PATH finds. Nothing if the command starts neither.
std::optional<std::string> with_torchrun(const CommandLine& command, const std::string& torchrun);

}  // namespace sl::wire
