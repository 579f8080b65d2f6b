#include "cli/submit_commands.h"

#include <algorithm>

#include "cli/people.h"
#include "wire/training.h"

namespace sl::cli {

namespace {

// An unset variable in a script must not mean that the flag is not given.
CLI::Option* never_empty(CLI::Option* flag) {
  return flag->check(
      [](const std::string& value) { return value.empty() ? "it is empty; is a variable not set?" : std::string(); });
}

// After what a job starts and where, and how many there are of it.
void add_starting_flags(CLI::App& command, std::map<std::string, std::string>& keys, std::vector<std::string>& matrix) {
  const auto key = [&](const char* flag, const char* name, const char* help) {
    return never_empty(command.add_option(flag, keys[name], help));
  };
  // Given several times these add up.
  const auto list = [&](const char* flag, const char* name, const char* help) { key(flag, name, help)->join(','); };
  list("--after", "after", "start when these jobs have succeeded: 5,7 or names");
  list("--after-any", "after_any", "start when these jobs have ended, however");
  key("--not-before", "not_before", "start at this time or later: 21:00, 2h, 2026-11-23T21:00:00Z");
  list("--on", "resources.on", "only on these servers, by name or label: gpu4,rack=a");
  list("--not-on", "resources.not_on", "on none of these servers: gpu5,rack=b");
  key("--array", "array", "one job for each of these numbers, {index} in its command: 0-99");
  command.add_option("--matrix", matrix, "one job for each combination of values, {lr} in its command: lr=0.1,0.01");
  key("--max-running", "max_running", "so many members of the array or matrix at once");
}

}  // namespace

void SubmitCommands::add_to(CLI::App& app) {
  add(app, "submit", false);
  add(app, "run", true);
}

void SubmitCommands::add(CLI::App& app, const std::string& name, bool run) {
  const std::string examples = "  schedulearn " + name + " --gpus 1 -- python train.py --epochs 10\n  schedulearn " +
                               name + " job.toml\n  schedulearn " + name + " --gpus 2 --launch torchrun -- train.py\n";
  CLI::App* c = command_(app, name, run ? "Submit a job, follow its output and exit with its code." : "Submit a job.",
                         examples, [this, run] {
                           SubmitOptions options = submit_;
                           options.command = words_;
                           for (const auto& [key, text] : flags_) {
                             if (!text.empty() || key == empty_key_) options.keys[key] = text;
                           }
                           if (run) options.follow = options.wait = options.cancel_on_interrupt = true;
                           const Context asked = context_();
                           const int status = submit(asked, options);
                           if (!run) print_announcements(asked);
                           return status;
                         });
  c->add_option("file", submit_.file, "job file (TOML or JSON), - for standard input");
  const auto key = [&](const char* flag, const char* name_of_key, const char* help) {
    never_empty(c->add_option(flag, flags_[name_of_key], help));
  };
  key("--name", "name", "name of the job");
  key("--gpus", "gpus", "number of GPUs, a range, or the numbers it may have: 2, 1..4, 1,2,4; 0: CPUs and memory only");
  key("--servers", "servers", "on how many servers the GPUs may be (1)");
  key("--gpu-type", "resources.gpu_type", "run only on GPUs of this type");
  key("--gpu-memory", "resources.gpu_memory", "memory of each GPU: 10GiB");
  key("--cpus", "resources.cpus", "processor cores");
  key("--memory", "resources.memory", "main memory: 64GiB");
  key("--processes", "resources.processes", "processes and threads it may have on a server (16384)");
  key("--shm", "resources.shm", "shared memory of its container: 8GiB (1GiB)");
  key("--image", "image", "run it in a container made from this image: docker.io/library/python:3.11");
  c->add_option("--mount", submit_.mounts,
                "folder of the server that its container sees: /data, /data:/inside, /data:/inside:rw");
  key("--launch", "launch", "none, torchrun, ranks, mpi or horovod");
  key("--setup", "setup", "a line for the shell that runs before the command, on each server of the job");
  key("--framework", "framework", "pytorch, tensorflow, ...");
  key("--snapshot", "snapshot", "run the code as it is now: git (the repository), copy (the folder) or none");
  key("-C,--workdir", "workdir", "working directory (default: here; with an image: the one that it names)");
  key("--time-limit", "time.limit", "stop it after running this long: 2h");
  key("--estimate", "time.estimate", "your estimate of its run time");
  key("--deadline", "time.deadline", "by when it should have ended, from its submission on: 8h (some policies: edf)");
  key("--priority", "priority", "higher goes first");
  key("--weight", "weight", "your share relative to other users' (1)");
  c->add_option_function<std::string>(
      "--checkpoint-dir",
      [this](const std::string& dir) {
        constexpr const char* key_of_dir = "checkpoint.dir";
        if (dir.empty()) empty_key_ = key_of_dir;
        flags_[key_of_dir] = dir;
      },
      "where the job saves its state, so that it can be stopped and resumed; '': a folder of its own");
  key("--checkpoint-signal", "checkpoint.signal", "signal that asks the job to save its state (TERM)");
  key("--grace", "checkpoint.grace", "how long it may take to save");
  key("--checkpoint-every", "checkpoint.every", "how often it is to save by itself, which it is told: 10m");
  key("--retry", "retry.max", "start it again at most this often if it fails");
  key("--retry-backoff", "retry.backoff", "time before the first retry, before each further one twice as long: 1m");
  for (const wire::TrainingKey& fact : wire::training_keys()) {
    std::string flag = "--" + std::string(fact.name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    never_empty(c->add_option(flag, flags_["training." + std::string(fact.name)], std::string(fact.meaning)))
        ->group("Training");
  }
  c->add_option("--secret", submit_.secrets, "a stored secret as a file, or NAME=SECRET as a variable too");
  c->add_option("--notify", submit_.notify,
                "a channel to be told through when it ends, or failed,preempted=CHANNEL (schedulearn notify)");
  c->add_option("-e,--env", submit_.env, "NAME=VALUE, or NAME to pass on your own value");
  c->add_option("--env-file", submit_.env_files, "a file of lines NAME=VALUE, or NAME to pass on your own value");
  c->add_option("--label", submit_.labels, "KEY=VALUE, to find it by (ls --label)")->allow_extra_args(false);
  c->add_flag("--clean-env", submit_.clean_env, "leave out your PATH, virtual environment and library paths");
  c->add_option("--set", submit_.set, "any key of the job file: --set time.limit=2h");
  c->add_flag_callback(
      "--share", [this] { flags_["resources.share"] = "true"; }, "share its GPUs with other jobs that allow it");
  if (run)
    c->add_flag("-t,--pty", submit_.pty, "at this terminal, as if it ran here; Ctrl-] twice leaves it, and it runs on");
  c->add_flag_callback(
      "--pin-cpus", [this] { flags_["resources.pin_cpus"] = "true"; }, "CPUs of its own, as many as --cpus says");
  add_starting_flags(*c, flags_, submit_.matrix);
  c->add_flag_callback(
      "--hold", [this] { flags_["hold"] = "true"; }, "hold it until: schedulearn resume ID");
  c->add_flag_callback(
      "--freeze", [this] { flags_["freeze"] = "true"; }, "it may be stopped where it runs and continued there");
  key("--resize", "resize", "how it comes to other numbers of GPUs: restart or in_place");
  c->add_flag_callback(
      "--no-preempt", [this] { flags_["preemptible"] = "false"; }, "never interrupt it");
  c->add_flag_callback(
      "--no-migrate", [this] { flags_["migratable"] = "false"; }, "never move it");
  if (!run) {
    c->add_flag("-f,--follow", submit_.follow, "follow the output");
    c->add_flag("--wait", submit_.wait, "wait until it ends");
    c->add_flag("-n,--dry-run", submit_.dry_run, "only show what would happen");
  }
}

}  // namespace sl::cli
