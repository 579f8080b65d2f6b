// Turns an order to start into what the launcher runs: arguments and environment (docs/guide/jobs.md). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/published_ports.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// A file of the folder python/, which travels inside the binary.
struct PythonFile {
  const char* path;  // below that folder
  const char* text;
};
extern const std::vector<PythonFile> python_files;  // schedulearn_torchrun.py, and what jobs import

// What only the agent knows.
struct AttemptPlace {
  std::string attempt_dir;  // output, metrics, notice files of this attempt
  std::string job_dir;      // kept across attempts: checkpoints, results
  std::string torchrun;     // path of schedulearn_torchrun.py
  std::string python;       // folder that `import schedulearn` finds
  std::string controller_url;
  int port = 0;             // free on this server, for processes to meet on
  std::string python_path;  // with an image: PYTHONPATH as the image sets it
  std::string interface;    // the network interface by which the other servers reach this one; empty: unknown
  std::string secrets_dir;  // in memory; empty: it has none
  PublishedPorts ports;
  std::string time_limit_at;  // RFC 3339; empty: it has no limit
  std::string code_dir;       // in job_dir: its code as it was submitted; empty: it has no snapshot
};

// Where the job's shell says which line of the set-up has failed, and with which exit code: "2 1".
std::string failed_setup_file(const std::string& attempt_dir);

// The servers of an attempt and how many processes each is for, one a line: "10.0.0.4 slots=2".
std::string host_lines(const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts);

struct Execution {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=value
  std::string workdir;
  std::string required;  // a program that must exist besides arguments[0]; empty: none
};

// CUDA_VISIBLE_DEVICES: UUIDs of real GPUs, indexes of simulated ones.
std::string visible_devices(const wire::Placement& placement);

// Where the job keeps its checkpoints: as in its job file, else in its own folder.
std::string checkpoint_folder(const wire::StartAttempt& order, const AttemptPlace& place);

// The name of the job's folder in a checkpoint folder that jobs share. Numbers of jobs occur again in another database, or
// in one that was restored: `first`, the number of the job's first incarnation, does not. 0: as older versions named it.
std::string job_subfolder(std::int64_t job, std::int64_t first);
bool is_job_subfolder(std::string_view name);  // of whichever job, but not as older versions named it

// Paths of plain jobs that begin at home, with "~" or because no working directory is named. `own`: as NAME=VALUE.
void settle_home(wire::JobSpec& spec, const std::vector<std::string>& own);

// The interpreter of the virtual or conda environment that the job was submitted from, if it does not exist on this
// server; empty otherwise. Without this check another Python on PATH would run the training.
std::string missing_python_environment(const wire::JobSpec& spec);

// This process's, as NAME=value.
std::vector<std::string> own_environment();

// `parts`: of an attempt on several servers, with addresses that this server can reach; empty: it has this one only.
// `own` is the agent's environment; only what every program needs is passed on.
Execution make_execution(const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts,
                         const AttemptPlace& place, const std::vector<std::string>& own);

// The same as one would type it: the folder, the variables by which its processes find their GPUs and each other, and the
// words. No other variables: among them may be what only the job may read.
std::string command_text(const Execution& execution);

// The program without which a shell line fails at once, if that is clear without a shell. Empty for built-ins, variables
// and brackets, and for a line that goes on without its first program: "nvidia-smi; python train.py".
std::string first_program(const std::string& line);

}  // namespace sl::agent
