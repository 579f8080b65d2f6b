#include "agent/environment.h"

#include <algorithm>
#include <map>
#include <set>

namespace sl::agent {
namespace {

using Environment = std::map<std::string, std::string>;

std::string join(const std::vector<int>& numbers) {
  std::string text;
  for (const int n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

bool is_python(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

// "train.py" with or without a Python in front: the interpreter and the rest. A plain name means Debian's Python.
std::pair<std::string, std::string> split_interpreter(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  const std::size_t end = line.find_first_of(" \t", begin);
  const std::string word = line.substr(begin, end - begin);
  if (!is_python(word)) return {"/usr/bin/python3", line.substr(begin)};
  const std::string rest = end == std::string::npos ? "" : line.substr(line.find_first_not_of(" \t", end));
  return {word.find('/') == std::string::npos ? "/usr/bin/" + word : word, rest};
}

std::string as_line(const wire::CommandLine& command) {
  if (const auto* line = std::get_if<std::string>(&command)) return *line;
  std::string text;
  for (const std::string& word : std::get<std::vector<std::string>>(command))
    text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

// Signals go to the whole process group. The shell lets its command answer them, then ends as that did.
std::vector<std::string> shell(const std::string& line) {
  return {"/bin/bash", "-c", "trap 'exit $?' HUP INT QUIT TERM USR1 USR2\nset -o pipefail\n" + line};
}

std::string torchrun_line(const wire::StartAttempt& order, const AttemptPaths& paths) {
  auto [python, rest] = split_interpreter(as_line(order.spec.command));
  if (!std::holds_alternative<std::string>(order.spec.command)) {
    std::vector<std::string> words = std::get<std::vector<std::string>>(order.spec.command);
    python = is_python(words.front()) ? words.front() : "/usr/bin/python3";
    if (is_python(words.front())) words.erase(words.begin());
    rest = as_line(words);
  }
  return "exec " + quoted(python) + " " + quoted(paths.torchrun) + " --nnodes 1 --nproc_per_node " +
         std::to_string(order.gpus.size()) + " --rdzv_id " + std::to_string(order.job_id) +
         " --master_addr 127.0.0.1 --master_port " + std::to_string(paths.port) + " --monitor_interval 0.2 " + rest;
}

// What starts is the launcher, once more (ranks.h).
std::vector<std::string> ranks(const wire::StartAttempt& order) {
  std::vector<std::string> arguments = {"/proc/self/exe", "ranks", std::to_string(order.gpus.size())};
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

void add_ours(const wire::StartAttempt& order, const AttemptPaths& paths, Environment& environment) {
  const wire::JobSpec& spec = order.spec;
  const std::string gpus = std::to_string(order.gpus.size());
  const auto set = [&](const char* name, const std::string& value) {
    environment[std::string("SCHEDULEARN_") + name] = value;
  };
  set("JOB_ID", std::to_string(order.job_id));
  set("JOB_NAME", spec.name);
  set("ATTEMPT", std::to_string(order.attempt));
  set("RESUME", order.resume ? "1" : "0");
  set("NUM_GPUS", gpus);
  set("GPUS_PER_SERVER", gpus);
  set("NUM_SERVERS", "1");
  set("SERVER_RANK", "0");
  set("SERVER_IPS", "127.0.0.1");
  const std::string checkpoints = spec.checkpoint.dir.value_or("");
  set("CHECKPOINT_DIR", checkpoints.empty()     ? paths.job_dir + "/checkpoints"
                        : checkpoints[0] == '/' ? checkpoints
                                                : spec.workdir + "/" + checkpoints);
  set("OUTPUT_DIR", paths.job_dir + "/output");
  set("TMP_DIR", paths.attempt_dir + "/tmp");
  set("NOTICE_FILE", paths.attempt_dir + "/notice");
  set("METRICS_FILE", paths.attempt_dir + "/metrics.jsonl");
  set("ERROR_FILE", paths.attempt_dir + "/error");
  set("URL", paths.controller_url);
  environment["CUDA_VISIBLE_DEVICES"] = join(order.gpus);
  environment["NVIDIA_VISIBLE_DEVICES"] = join(order.gpus);
  environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  environment["PYTHONUNBUFFERED"] = "1";
  if (spec.launch == "none") return;
  environment["MASTER_ADDR"] = "127.0.0.1";
  environment["MASTER_PORT"] = std::to_string(paths.port);
  if (spec.launch == "ranks") environment["WORLD_SIZE"] = gpus;
}

}  // namespace

std::string first_program(const std::string& line) {
  static const std::set<std::string> built_in = {
      ".",        ":",       "[",       "[[",     "alias", "bg",    "break",  "builtin", "case",  "cd",     "command",
      "continue", "declare", "do",      "echo",   "eval",  "exec",  "exit",   "export",  "false", "fg",     "for",
      "function", "getopts", "hash",    "if",     "jobs",  "kill",  "let",    "local",   "popd",  "printf", "pushd",
      "pwd",      "read",    "return",  "select", "set",   "shift", "source", "test",    "time",  "times",  "trap",
      "true",     "type",    "typeset", "ulimit", "umask", "unset", "until",  "wait",    "while"};
  const std::size_t begin = line.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  const std::string word = line.substr(begin, line.find_first_of(" \t\r\n;&|<>()", begin) - begin);
  const bool plain = !word.empty() && word.find_first_of("$`'\"\\={}*?[]~#!") == std::string::npos;
  return plain && built_in.count(word) == 0 ? word : "";
}

Execution make_execution(const wire::StartAttempt& order, const AttemptPaths& paths,
                         const std::vector<std::string>& own) {
  Execution execution;
  const wire::CommandLine& command = order.spec.command;
  if (order.spec.launch == "torchrun") {
    execution.arguments = shell(torchrun_line(order, paths));
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
  environment["OMP_NUM_THREADS"] = "1";  // one job a core until it asks for more; also makes results repeatable
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
