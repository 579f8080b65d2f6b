// A normalised submission: job files, flags and POST /api/v1/jobs are all converted to it, and the store keeps it as
// JSON. Keys and their meaning: docs/guide/jobs.md. Quantities carry their unit in the name.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "wire/notify.h"
#include "wire/roles.h"
#include "wire/training.h"

namespace sl::wire {

// A string runs as `bash -c` with pipefail; an array is executed directly.
using CommandLine = std::variant<std::string, std::vector<std::string>>;

// In files: 2, "2", "1..4", [1, 2, 4], "1,2,4".
struct GpuRange {
  int min;
  int max;
  std::vector<int> allowed;  // ascending, from min to max: it runs only on these numbers of GPUs; empty: on any number
  GpuRange(int least = 1, int most = 1) : min(least), max(most) {}
};
BOOST_DESCRIBE_STRUCT(GpuRange, (), (min, max, allowed))

struct ResourceSpec {
  std::optional<int> cpus;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> gpu_memory_bytes;  // of each GPU
  std::vector<std::string> gpu_type;
  std::optional<std::int64_t> shm_bytes;
  std::optional<int> processes;  // and threads, at most, on each server; empty: processes_default
  bool pin_cpus = false;         // its processes run on as many processors as `cpus` says, and on no others
  bool share = false;            // it may share its GPUs with other jobs that allow it
  // Names and labels of servers, "gpu4", "rack=a": it runs on these only (empty: on any), and on none of those.
  std::vector<std::string> on, not_on;
};
BOOST_DESCRIBE_STRUCT(ResourceSpec, (),
                      (cpus, memory_bytes, gpu_memory_bytes, gpu_type, shm_bytes, processes, pin_cpus, share, on,
                       not_on))
inline constexpr int processes_default = 16'384;

struct CheckpointSpec {
  std::optional<std::string> dir;  // set: the job can be stopped, moved and resized
  std::string signal = "TERM";
  double grace_s = 120;
  std::optional<double> every_s;  // how often the training is to save by itself; it is told
};
BOOST_DESCRIBE_STRUCT(CheckpointSpec, (), (dir, signal, grace_s, every_s))

struct RetrySpec {
  int max = 0;
  std::vector<std::string> on = {"any"};  // kinds of failures; a lost server or GPU uses up no retry
  double backoff_s = 0;                   // how long the first retry waits; each further one twice as long, up to a day
};
BOOST_DESCRIBE_STRUCT(RetrySpec, (), (max, on, backoff_s))

// How its output tells how far it is (wire/progress.h).
struct ProgressSpec {
  std::string pattern;          // "epoch {done}/{total}"
  std::optional<double> total;  // where the pattern has none
};
BOOST_DESCRIBE_STRUCT(ProgressSpec, (), (pattern, total))

// The code of a job, kept as it was when it was submitted (src/archive). The archive and the diff are sent to the
// controller before the job, each under its digest.
constexpr std::int64_t snapshot_diff_bytes_max = 1 << 20;
struct SnapshotSpec {
  std::string kind;                  // "git": the repository that workdir is in; "copy": workdir
  std::string id;                    // SHA-256 of the archive, hexadecimal; empty: it has not been made
  std::string commit;                // abbreviated; empty: none
  std::vector<std::string> changed;  // files that differ from the commit, the first hundred of them
  int dirty_files = 0;               // all of them
  std::string diff;                  // SHA-256 of what they differ in, as `git diff` prints it; empty: it is not kept
  std::string subfolder;             // workdir in the archive; empty: its top
  int files = 0;
  std::int64_t bytes = 0;  // of the files
};
BOOST_DESCRIBE_STRUCT(SnapshotSpec, (), (kind, id, commit, changed, dirty_files, diff, subfolder, files, bytes))

// A port that a job listens on, reached through the controller's (docs/guide/shell_and_ports.md).
struct PortSpec {
  int port = 0;            // 0: one that is free on its server, which the job finds in its environment
  bool keep_path = false;  // the job sees whole paths, /jobs/5/proxy/NAME/tree; else what follows its name: /tree
  friend bool operator==(const PortSpec&, const PortSpec&) = default;
};
BOOST_DESCRIBE_STRUCT(PortSpec, (), (port, keep_path))

struct JobSpec {
  std::string name;
  std::string user;
  CommandLine command;
  std::optional<std::string> image;  // set: it runs in a container made from this image
  std::optional<std::string> framework;
  std::string launch = "none";  // none torchrun horovod mpi ranks
  GpuRange gpus;
  int servers = 1;
  ResourceSpec resources;
  std::string workdir;  // absolute; empty: with an image, the folder that the image names
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> labels;
  int priority = 0;
  double weight = 1;  // of its user's share, relative to other users'
  bool hold = false;
  std::optional<double> time_limit_s;
  std::optional<double> estimate_s;
  std::optional<double> deadline_s;  // after submission
  CheckpointSpec checkpoint;
  RetrySpec retry;
  bool preemptible = true;
  bool migratable = true;
  bool freeze = false;  // its processes may be stopped where they are, and continued
  // How it comes to other numbers of GPUs: "restart", or "in_place": it is told, and acknowledges.
  std::string resize = "restart";
  // If its server is cut off from the controller: "continue" there, or "stop" there and start elsewhere.
  std::string on_partition = "continue";
  std::optional<std::int64_t> output_limit_bytes;  // per attempt; beyond it the middle is dropped. Default: the agent's
  TrainingSpec training;
  // What must have happened before it starts: jobs have succeeded, jobs have ended, a time has come (RFC 3339, UTC).
  std::vector<std::int64_t> after, after_any;
  std::optional<std::string> not_before;
  // It stands for several jobs (wire/members.h), of which at most `max_running` run at once; 0: any number.
  std::optional<std::string> array;  // the numbers of its members: "0-99"
  std::map<std::string, std::vector<std::string>> matrix;
  int max_running = 0;
  // Empty: one process per GPU, or as `launch` says. Otherwise gpus and resources follow from the roles.
  std::vector<RoleSpec> roles;
  // Folders of the server that its container sees: "/data", "/data:/inside", "/data:/inside:rw". Default: read only.
  std::vector<std::string> mounts;
  std::vector<std::string> secrets;  // stored by its user: "wandb", "WANDB_API_KEY=wandb" (wire/secrets.h)
  std::vector<NotifySpec> notify;
  std::map<std::string, PortSpec> ports;  // by name
  std::optional<SnapshotSpec> snapshot;   // absent: it runs in workdir as that is when it starts
  std::vector<std::string> setup;         // lines for the shell, run before the command in the same place
  std::optional<ProgressSpec> progress;   // absent: it reports by itself, if at all
  bool pty = false;                       // its command runs at a terminal, to which its user connects (src/terminal)
};
BOOST_DESCRIBE_STRUCT(JobSpec, (),
                      (name, user, command, image, framework, launch, gpus, servers, resources, workdir, env, labels,
                       priority, weight, hold, time_limit_s, estimate_s, deadline_s, checkpoint, retry, preemptible,
                       migratable, freeze, resize, on_partition, output_limit_bytes, training, after, after_any,
                       not_before, array, matrix, max_running, roles, mounts, secrets, notify, ports, snapshot, setup,
                       progress, pty))

// What a user changes of a job that has been submitted. Absent: it stays as it is.
struct JobChange {
  std::optional<int> priority;
  std::optional<GpuRange> gpus;
  std::optional<int> servers;  // while it waits, like `gpus`
  std::optional<double> time_limit_s;
  std::optional<std::string> name;
  std::map<std::string, std::optional<std::string>> labels;  // empty value: the label is removed
  std::optional<bool> hold;                                  // while it waits
  bool first = false;                                        // a priority above that of all others that wait
  // A priority above that of this job, which waits; jobs in front of that one get higher ones if they need them.
  std::optional<std::int64_t> before;
  std::vector<NotifySpec> notify;  // each in place of the one with the same `to`; nothing in `on`: that one is removed
  std::optional<int> max_running;  // of an array or a matrix; 0: any number of its members at once
  bool is_empty() const {
    return !priority && !gpus && !servers && !time_limit_s && !name && labels.empty() && !hold && !first && !before &&
           notify.empty() && !max_running;
  }
};
BOOST_DESCRIBE_STRUCT(JobChange, (),
                      (priority, gpus, servers, time_limit_s, name, labels, hold, first, before, notify, max_running))
// More than how it is called and who is told of it.
bool concerns_its_run(JobChange change);
// Reads these keys as they are in a job file; any other is refused.
Result<JobChange> parse_job_change(std::string_view json);
// What the change makes of a submission; whether it is held, and what `first` means, is not part of that.
JobSpec changed(JobSpec spec, const JobChange& change);

// Parse the documents that users write. Errors name the key (JSON pointer) or line and column (TOML); unknown keys get
// a suggestion. `base_dir` makes relative paths absolute: the file's folder, or the client's working directory; empty:
// there is none, and they stay as they are.
Result<JobSpec> parse_job_toml(std::string_view text, const std::string& base_dir);
Result<JobSpec> parse_job_json(std::string_view text, const std::string& base_dir);

// Checks the values independently of the cluster: names with control characters, counts below 0 or absurdly large,
// empty command, unsupported image or launch.
Status validate(const JobSpec& spec);

// Whether a word can be the name of a server or a label, KEY=VALUE.
bool names_servers(const std::string& word);

// One of JobSpec::mounts. Nothing if it is malformed.
struct Mount {
  std::string from, to;  // absolute
  bool writable = false;
};
std::optional<Mount> parse_mount(std::string_view text);

// "90s" "15m" "1h30m" "2d" "HH:MM:SS"; "16GiB" "4GB" "2G" (GiB); "2" "1..4" "1,2,4".
Result<double> parse_duration_s(std::string_view text);
Result<std::int64_t> parse_bytes(std::string_view text);
Result<GpuRange> parse_gpus(std::string_view text);
// A time with its offset from UTC: "2026-11-23T21:00:00Z", "2026-11-23 21:00+01:00". In microseconds since 1970.
Result<std::int64_t> parse_time_us(std::string_view text);
std::string time_text(std::int64_t us);  // UTC, milliseconds: 2026-11-20T22:15:03.120Z

}  // namespace sl::wire
