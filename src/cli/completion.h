// What the shell offers when a user presses Tab: commands, flags, and what the controller knows (jobs with their names,
// servers, policies, families). `schedulearn completion bash` prints the shell's half, which asks the hidden command
// __complete.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/context.h"

namespace sl::cli {

struct Candidate {
  std::string word, help;
};

// `words`: those after the program's name, the last one being the one to complete. Candidates begin with it. A
// controller that does not answer at once has nothing to offer.
std::vector<Candidate> complete(const CLI::App& root, const std::vector<std::string>& words, Context context);

// For bash, zsh or fish; nullptr for other shells.
const char* completion_script(const std::string& shell);

}  // namespace sl::cli
