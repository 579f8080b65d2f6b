// The commands, each in its own file. They return the process's exit status (docs/guide/cli.md).
#pragma once

#include <map>

#include "cli/context.h"
#include "wire/job_spec.h"

namespace sl::cli {

struct SubmitOptions {
  std::string file;                         // job file, "-" for standard input
  std::vector<std::string> command;         // after --
  std::vector<std::string> set;             // key=value of the job file
  std::map<std::string, std::string> keys;  // flags that stand for a key of the job file: "gpus" -> "2"
  std::vector<std::string> env;
  bool follow = false;
  bool wait = false;
  bool dry_run = false;
  bool cancel_on_interrupt = false;  // `run`
};
int submit(const Context& context, const SubmitOptions& options);
// What it would hand in. Errors are those of the job file.
Result<wire::JobSpec> job_to_submit(const Context& context, const SubmitOptions& options);

struct ListOptions {
  std::string state, user, word;
  bool all = false;  // finished ones too, without limit
  int limit = 30;
};
int list_jobs(const Context& context, const ListOptions& options);

int show_job(const Context& context, const std::vector<std::string>& selectors);

struct LogsOptions {
  std::vector<std::string> selectors;
  bool follow = false;
  int tail = -1;    // lines; -1: all
  int attempt = 0;  // 0: the last
};
int logs(const Context& context, const LogsOptions& options);
// Follows until the job has ended or the user interrupts. Returns whether it ended.
Result<bool> follow_output(const Context& context, std::int64_t job, int attempt, std::int64_t offset);

struct WaitOptions {
  std::vector<std::string> selectors;
  double timeout_s = 0;  // 0: as long as it takes
};
int wait_jobs(const Context& context, const WaitOptions& options);
// A finished job's own exit status: its code, 128 + signal, 125 when it never started.
int status_of_job(const json::value& job);
// One line about how a job ended.
std::string ending_text(const Context& context, const json::value& job);

int cancel_jobs(const Context& context, const std::vector<std::string>& selectors);
int why(const Context& context, const std::string& selector);
int cluster_status(const Context& context);
int list_gpus(const Context& context);
int list_events(const Context& context, int limit);
int list_policies(const Context& context);
int declare_server_lost(const Context& context, const std::string& name);
int show_policy(const Context& context, const std::string& name);  // empty: the one in force
int set_policy(const Context& context, const std::string& name, const std::vector<std::string>& parameters);
int check_policy(const Context& context, const std::string& path, const std::vector<std::string>& parameters);
int policy_history(const Context& context);
int undo_policy(const Context& context);

// Set by Ctrl-C while a command follows or waits: how often.
int interrupts();
void catch_interrupts();

}  // namespace sl::cli
