// From an order to start to what the launcher runs: argument vector and environment (docs/guide/jobs.md). Pure.
#pragma once

#include <string>
#include <vector>

#include "wire/agent_protocol.h"

namespace sl::agent {

extern const char* const torchrun_text;  // python/schedulearn_torchrun.py

// What only the agent knows.
struct AttemptPaths {
  std::string attempt_dir;  // output, metrics, notice files of this attempt
  std::string job_dir;      // kept over attempts: checkpoints, results
  std::string torchrun;     // path of schedulearn_torchrun.py
  std::string controller_url;
  int port = 0;  // free on this server, for ranks that must meet
};

struct Execution {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=value
  std::string workdir;
  std::string required;  // a program that must exist beside arguments[0]; empty: none
};

// `own` is the agent's environment, of which only what every program needs is passed on.
Execution make_execution(const wire::StartAttempt& order, const AttemptPaths& paths,
                         const std::vector<std::string>& own);

// The program a shell line begins with, when that can be told without a shell; empty for built-ins, variables,
// brackets.
std::string first_program(const std::string& line);

}  // namespace sl::agent
