// The commands, each in its own file. They return the process's exit status (docs/guide/jobs.md).
#pragma once

#include <map>
#include <optional>

#include "cli/context.h"
#include "cli/output_filter.h"
#include "wire/intervention.h"
#include "wire/job_spec.h"

namespace sl::cli {

struct SubmitOptions {
  std::string file;                         // job file, "-" for standard input
  std::vector<std::string> command;         // after --
  std::vector<std::string> set;             // key=value pairs for the job file
  std::map<std::string, std::string> keys;  // flags that stand for keys of the job file: "gpus" -> "2"
  std::vector<std::string> env;
  std::vector<std::string> mounts;
  std::vector<std::string> notify;   // "team", "failed,preempted=team"
  std::vector<std::string> secrets;  // "wandb", "WANDB_API_KEY=wandb"
  std::vector<std::string> matrix;   // "lr=0.1,0.01"
  std::vector<std::string> labels;   // "project=vision"
  std::vector<std::string> env_files;
  bool clean_env = false;  // nothing of the environment it is submitted from
  bool follow = false;
  bool wait = false;
  bool dry_run = false;
  bool cancel_on_interrupt = false;  // `run`
  bool pty = false;                  // `run`: at this terminal
};
int submit(const Context& context, const SubmitOptions& options);
// The job that would be submitted. Errors are those of the job file.
Result<wire::JobSpec> job_to_submit(const Context& context, const SubmitOptions& options);

struct ListOptions {
  std::string state, user, word, label;
  std::string
      sort;  // one of list_orders() (job_order.h); empty: those that run, those that wait, those that have ended
  bool all = false;          // without limit
  std::optional<int> limit;  // nothing: all that wait or run, and with those that have ended 30 if these are fewer
  std::int64_t group = 0;    // only its members; 0: all jobs
  bool members = false;      // also members of groups, one by one
  std::int64_t before = 0;   // only jobs with smaller numbers; 0: all
};
int list_jobs(const Context& context, const ListOptions& options);

int show_job(const Context& context, const std::vector<std::string>& selectors);
// What the code of the jobs differs in from its commit. Off a terminal the bytes as they were submitted, for `git apply`.
int show_diff(const Context& context, const std::vector<std::string>& selectors);

struct LogsOptions {
  std::vector<std::string> selectors;
  bool follow = false;
  int tail = -1;    // lines; -1: all
  int attempt = 0;  // 0: the last
  int rank = 0;     // of the server, among those of the attempt
  LineChoice lines;
  bool raw = false;   // the bytes as they were written, nothing put in or replaced
  std::string since;  // as people write a time (starting.h); empty: from the beginning
};
// Status 1: no line is what the choice asks for.
int logs(const Context& context, const LogsOptions& options);
// Follows until the job has ended or the user interrupts. Returns whether it ended.
Result<bool> follow_output(const Context& context, std::int64_t job, const LogsOptions& options = {});

struct WaitOptions {
  std::vector<std::string> selectors;
  double timeout_s = 0;  // 0: without limit
};
int wait_jobs(const Context& context, const WaitOptions& options);
// A finished job's own exit status: its code, 128 + signal, 125 if its command was never run.
int status_of_job(const json::value& job);
// One line about how a job ended.
std::string ending_text(const Context& context, const json::value& job);

int cancel_jobs(const Context& context, const std::vector<std::string>& selectors,
                const wire::Cancellation& wanted = {});
// `at`: a moment of the past (time_meant()); empty: now.
int why(const Context& context, const std::string& selector, const std::string& at);
int show_estimates(const Context& context);  // how often the ranges held that were shown
int cluster_status(const Context& context);
int list_servers(const Context& context);
int list_gpus(const Context& context);
struct EventsAsked {
  std::string selector;       // of one job; empty: all events
  std::string about, server;  // only about this (wire/event_subjects.h), only of this server; empty: any
  bool progress = false;      // also how far jobs have come
  int limit = 30;
  bool follow = false;  // and what happens from then on, until Ctrl-C
};
int list_events(const Context& context, const EventsAsked& asked);
// Simulations that a controller was asked for.
int list_simulations(const Context& context);
int show_simulation(const Context& context, std::int64_t id);
int remove_simulation(const Context& context, std::int64_t id);
// trace ls --uploaded, upload, rm. `name`: what the trace is called there; empty: as the file, without .csv and .gz.
int list_uploaded_traces(const Context& context);
int upload_trace(const Context& context, const std::string& file, std::string name);
int remove_trace(const Context& context, const std::string& name);
int list_policies(const Context& context);
int remove_server(const Context& context, const std::string& name);  // one that is down, from the cluster
struct DrainOptions {
  bool migrate = false, dry_run = false;
  std::string deadline, reason;
};
int drain_server(const Context& context, const std::string& name, const DrainOptions& options);
int undrain_server(const Context& context, const std::string& name);
int release_server(const Context& context, const std::string& name);  // from its quarantine
int declare_server_lost(const Context& context, const std::string& name);
int show_policy(const Context& context, const std::string& name);  // empty: the current policy
// `at`: a time as people write it (starting.h); empty: at once. `try_first`: shows a trial, then asks.
int set_policy(const Context& context, const std::string& name, const std::vector<std::string>& parameters,
               const std::string& at, bool try_first);
int call_off_policy(const Context& context);  // what was to happen later
int check_policy(const Context& context, const std::string& path, const std::vector<std::string>& parameters);
// Continues up to four policies from the present, to compare.
int try_policies(const Context& context, const std::vector<std::string>& names, bool with_arrivals,
                 const std::string& horizon);
int show_trial(const Context& context, const json::object& body);  // of POST /policy/try
// The policy that follows without deciding.
int show_shadow(const Context& context);
int follow_policy(const Context& context, const std::string& name, const std::vector<std::string>& parameters);
int end_shadow(const Context& context);
// As REST reads it. Errors: "bad-flag" for what is not name=value; those of reading a file with a policy.
Result<boost::json::object> policy_body(const std::string& name, const std::vector<std::string>& parameters);
int policy_history(const Context& context);
int undo_policy(const Context& context);

// The number of times Ctrl-C was pressed while a command follows or waits; `also_endings`: or its terminal closed, or
// SIGTERM came.
int interrupts();
void catch_interrupts(bool also_endings = false);

}  // namespace sl::cli
