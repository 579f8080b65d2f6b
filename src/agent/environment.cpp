#include "agent/environment.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "agent/launcher_wire.h"
#include "agent/ranks.h"
#include "model/demand.h"
#include "wire/torchrun_command.h"

extern char** environ;

namespace sl::agent {
namespace {

using Environment = std::map<std::string, std::string>;

std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

std::string as_line(const wire::CommandLine& command) {
  if (const auto* line = std::get_if<std::string>(&command)) return *line;
  std::string text;
  for (const std::string& word : std::get<std::vector<std::string>>(command))
    text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

// Signals go to the whole process group. The shell lets its command handle them, then ends with that command's status.
std::vector<std::string> shell(const std::string& line) {
  return {"/bin/bash", "-c", "trap 'exit $?' HUP INT QUIT TERM USR1 USR2\nset -o pipefail\n" + line};
}

// A torchrun of our own (python/schedulearn_torchrun.py), with what it needs to know of this attempt.
std::string torchrun(const wire::StartAttempt& order, const AttemptPaths& paths) {
  return shell_quoted(paths.torchrun) + " --nnodes 1 --nproc_per_node " + std::to_string(order.placement.gpus.size()) +
         " --rdzv_id " + std::to_string(order.incarnation.job) + " --master_addr 127.0.0.1 --master_port " +
         std::to_string(paths.port) + " --monitor_interval 0.2";
}

// NVIDIA GPUs by UUID: an index may mean another GPU once one has fallen off the bus. Simulated GPUs go by index: no
// driver would know their UUIDs.
std::vector<std::string> devices(const wire::Placement& placement) {
  const bool are_known =
      !placement.gpu_uuids.empty() &&
      std::ranges::all_of(placement.gpu_uuids, [](const std::string& uuid) { return uuid.starts_with("GPU-"); });
  if (are_known) return placement.gpu_uuids;
  std::vector<std::string> indexes;
  for (const int gpu : placement.gpus) indexes.push_back(std::to_string(gpu));
  return indexes;
}

// Plain ranks, one per GPU; with roles the members that these GPUs are for, in order of roles.
std::vector<Member> members_of(const wire::StartAttempt& order) {
  const std::vector<Role> roles = wire::to_model(order.spec.roles);
  if (roles.empty()) return std::vector<Member>(order.placement.gpus.size());
  const std::vector<int> counts = member_counts(roles, static_cast<int>(order.placement.gpus.size()));
  std::vector<Member> members;
  const std::vector<std::string> names = devices(order.placement);
  auto gpu = names.begin();
  for (std::size_t i = 0; i < roles.size(); ++i) {
    for (int n = 0; n < counts[i]; ++n)
      members.push_back({roles[i].name, n, counts[i], roles[i].gpus > 0 ? *gpu++ : ""});
  }
  return members;
}

// Starts the launcher once more (ranks.h).
std::vector<std::string> ranks(const wire::StartAttempt& order) {
  std::vector<std::string> arguments = {"/proc/self/exe", "ranks", to_text(members_of(order))};
  for (std::string& argument : shell(as_line(order.spec.command))) arguments.push_back(std::move(argument));
  return arguments;
}

void pass_on(const std::vector<std::string>& own, Environment& environment) {
  static const std::set<std::string> wanted = {"PATH",   "HOME",  "USER",   "LOGNAME", "LANG",
                                               "LC_ALL", "SHELL", "TMPDIR", "TZ",      "LD_LIBRARY_PATH"};
  for (const std::string& entry : own) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos && wanted.count(entry.substr(0, equals)) != 0)
      environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
}

std::string visible_devices(const wire::Placement& placement) {
  std::string text;
  for (const std::string& device : devices(placement)) text += (text.empty() ? "" : ",") + device;
  return text;
}

void add_ours(const wire::StartAttempt& order, const AttemptPaths& paths, Environment& environment) {
  const wire::JobSpec& spec = order.spec;
  const std::string gpus = std::to_string(order.placement.gpus.size());
  const auto set = [&](const char* name, const std::string& value) {
    environment[std::string("SCHEDULEARN_") + name] = value;
  };
  set("JOB_ID", std::to_string(order.incarnation.job));
  set("JOB_NAME", spec.name);
  set("ATTEMPT", std::to_string(order.incarnation.attempt));
  set("RESUME", order.resume ? "1" : "0");
  set("NUM_GPUS", gpus);
  set("GPUS_PER_SERVER", gpus);
  set("NUM_SERVERS", "1");
  set("SERVER_RANK", std::to_string(order.placement.rank));
  set("SERVER_IPS", "127.0.0.1");
  set("CHECKPOINT_DIR", checkpoint_folder(order, paths));
  set("OUTPUT_DIR", paths.job_dir + "/output");
  set("TMP_DIR", paths.attempt_dir + "/tmp");
  set("NOTICE_FILE", paths.attempt_dir + "/notice");
  set("METRICS_FILE", paths.attempt_dir + "/metrics.jsonl");
  set("ERROR_FILE", paths.attempt_dir + "/error");
  set("URL", paths.controller_url);
  environment["CUDA_VISIBLE_DEVICES"] = visible_devices(order.placement);
  environment["NVIDIA_VISIBLE_DEVICES"] = visible_devices(order.placement);
  environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  environment["PYTHONUNBUFFERED"] = "1";
  std::string& python_path = environment["PYTHONPATH"];
  python_path += (python_path.empty() ? "" : ":") + paths.python;
  if (spec.launch == "none") return;
  environment["MASTER_ADDR"] = "127.0.0.1";
  environment["MASTER_PORT"] = std::to_string(paths.port);
  if (spec.launch == "ranks") environment["WORLD_SIZE"] = std::to_string(members_of(order).size());
}

}  // namespace

std::string first_program(const std::string& line) {
  static const std::set<std::string> built_in = {
      ".",      ":",       "[",       "[[",      "alias",   "bg",        "bind",     "break",    "builtin", "caller",
      "case",   "cd",      "command", "compgen", "compopt", "complete",  "continue", "coproc",   "declare", "dirs",
      "disown", "do",      "done",    "echo",    "elif",    "else",      "enable",   "esac",     "eval",    "exec",
      "exit",   "export",  "false",   "fc",      "fg",      "fi",        "for",      "function", "getopts", "hash",
      "help",   "history", "if",      "in",      "jobs",    "kill",      "let",      "local",    "logout",  "mapfile",
      "popd",   "printf",  "pushd",   "pwd",     "read",    "readarray", "readonly", "return",   "select",  "set",
      "shift",  "shopt",   "source",  "suspend", "test",    "then",      "time",     "times",    "trap",    "true",
      "type",   "typeset", "ulimit",  "umask",   "unalias", "unset",     "until",    "wait",     "while"};
  const std::size_t begin = line.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  const std::string command = line.substr(begin, line.find_last_not_of(" \t\r\n") + 1 - begin);
  for (std::size_t i = 0; (i = command.find_first_of(";&|\n", i)) != std::string::npos; ++i) {
    const std::string_view two = std::string_view(command).substr(i, 2);
    if (command[i] == '|' && two != "||") continue;  // the line runs with pipefail
    if (two == "&>" || (command[i] == '&' && i > 0 && command[i - 1] == '>')) continue;
    if (two != "&&") return "";  // the shell goes on to what follows
    ++i;
  }
  const std::string word = command.substr(0, command.find_first_of(" \t\r&|<>()"));
  const bool plain = !word.empty() && word.find_first_of("$`'\"\\={}*?[]~#!") == std::string::npos;
  return plain && built_in.count(word) == 0 ? word : "";
}

std::string checkpoint_folder(const wire::StartAttempt& order, const AttemptPaths& paths) {
  const std::string folder = order.spec.checkpoint.dir.value_or("");
  if (folder.empty()) return paths.job_dir + "/checkpoints";
  return folder[0] == '/' ? folder : order.spec.workdir + "/" + folder;
}

std::string missing_python_environment(const wire::JobSpec& spec) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto at = spec.env.find(name);
    if (at == spec.env.end() || at->second.empty()) continue;
    const std::string python = at->second + "/bin/python";
    if (::access(python.c_str(), X_OK) != 0) return python;
  }
  return "";
}

std::vector<std::string> own_environment() {
  std::vector<std::string> own;
  for (char** entry = environ; *entry; ++entry) own.emplace_back(*entry);
  return own;
}

Execution make_execution(const wire::StartAttempt& order, const AttemptPaths& paths,
                         const std::vector<std::string>& own) {
  Execution execution;
  const wire::CommandLine& command = order.spec.command;
  if (order.spec.launch == "torchrun") {
    const std::string line = wire::with_torchrun(command, torchrun(order, paths)).value_or(as_line(command));
    execution.arguments = shell(line);
    execution.required = first_program(line);
  } else if (order.spec.launch == "ranks") {
    execution.arguments = ranks(order);
  } else if (const auto* line = std::get_if<std::string>(&command)) {
    execution.arguments = shell(*line);
    execution.required = first_program(*line);
  } else {
    execution.arguments = std::get<std::vector<std::string>>(command);
  }
  Environment environment;
  pass_on(own, environment);
  environment["OMP_NUM_THREADS"] = "1";  // one thread unless the job asks for more; also makes results repeatable
  for (const auto& [name, value] : order.spec.env) environment[name] = value;
  add_ours(order, paths, environment);
  const std::string home = environment.count("HOME") != 0 ? environment["HOME"] : "/";
  execution.workdir = order.spec.workdir;
  if (!execution.workdir.empty() && execution.workdir[0] == '~') execution.workdir = home + execution.workdir.substr(1);
  if (execution.workdir.empty()) execution.workdir = home;
  environment["PWD"] = execution.workdir;
  for (const auto& [name, value] : environment) execution.environment.push_back(name + "=" + value);
  return execution;
}

}  // namespace sl::agent
