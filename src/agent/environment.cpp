#include "agent/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "agent/launcher_wire.h"
#include "agent/meeting.h"
#include "agent/mpi.h"
#include "agent/ranks.h"
#include "base/shell_words.h"
#include "model/demand.h"
#include "wire/ports.h"
#include "wire/torchrun_command.h"

extern char** environ;

namespace sl::agent {
namespace {

using Environment = std::map<std::string, std::string>;
using Parts = std::vector<wire::AttemptPart>;

std::string as_line(const wire::CommandLine& command) {
  if (const auto* line = std::get_if<std::string>(&command)) return *line;
  std::string text;
  for (const std::string& word : std::get<std::vector<std::string>>(command))
    text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

// Signals go to the whole process group. The shell lets its command handle them. It then ends with that command's status
// if it was asked to stop or the command has failed; else the line goes on, so that nothing in it is left out as if all
// had succeeded. One line, so that errors name the lines of the job's own text as before.
constexpr const char* on_signals =
    "schedulearn_signal() { if [ $1 -ne 0 ] || [ -e \"$SCHEDULEARN_NOTICE_FILE\" ]; then exit $1; fi; }; "
    "trap 'schedulearn_signal $?' HUP INT QUIT TERM USR1 USR2\n";

std::vector<std::string> shell(const std::string& line) {
  return {"/bin/bash", "-c", on_signals + ("set -o pipefail\n" + line)};
}

// The same where there may be no bash (agent/init_main.cpp), and so no pipefail.
std::vector<std::string> shell_of_image(const std::string& line) {
  return {"/bin/bash", "-c", on_signals + ("(set -o pipefail) 2>/dev/null && set -o pipefail\n" + line)};
}

std::vector<std::string> shell_for(const wire::JobSpec& spec, const std::string& line) {
  return spec.image ? shell_of_image(line) : shell(line);
}

// The job's set-up in a shell, which then becomes the job's command: so what a line exports, the command has. The kernel's
// name for a process's own program means the launcher's there, or that of the container's first process. Whoever is asked
// to end during the set-up has not failed.
std::vector<std::string> after_setup(const wire::JobSpec& spec, const AttemptPlace& place,
                                     const std::vector<std::string>& command) {
  std::string script =
      "schedulearn_failed() { [ -e \"$SCHEDULEARN_NOTICE_FILE\" ] || echo \"$schedulearn_line $1\" > " +
      shell_quoted(failed_setup_file(place.attempt_dir)) + "; }\ntrap 'schedulearn_failed $?' EXIT\n";
  for (std::size_t i = 0; i < spec.setup.size(); ++i)
    script += fmt::format("schedulearn_line={}\neval {} || exit $?\n", i + 1, shell_quoted(spec.setup[i]));
  script +=
      "unset schedulearn_line\ntrap - EXIT HUP INT QUIT TERM USR1 USR2\n"
      "unset -f schedulearn_failed schedulearn_signal\n"
      "if [ \"$1\" = /proc/self/exe ]; then shift; set -- \"/proc/$PPID/exe\" \"$@\"; fi\n"
      "if [ \"$1\" = /bin/bash ] && [ ! -x /bin/bash ]; then shift; set -- /bin/sh \"$@\"; fi\n"
      "exec \"$@\"\n";
  std::vector<std::string> arguments = shell_for(spec, script);
  arguments.emplace_back("schedulearn");
  arguments.insert(arguments.end(), command.begin(), command.end());
  return arguments;
}

// Where the processes of an attempt meet: on its first server.
struct Meeting {
  std::string address;
  int port = 0;
};

Meeting meeting_of(const Parts& parts, const AttemptPlace& place) {
  return parts.empty() ? Meeting{"127.0.0.1", place.port} : Meeting{parts.front().address, parts.front().port};
}

// A torchrun of our own (python/schedulearn_torchrun.py), with what it needs to know of this attempt.
std::string torchrun(const wire::StartAttempt& order, const Parts& parts, const AttemptPlace& place) {
  const Meeting meeting = meeting_of(parts, place);
  return fmt::format(
      "{} --nnodes {} --node_rank {} --nproc_per_node {} --rdzv_id {} --master_addr {} --master_port {} "
      "--monitor_interval 0.2",
      shell_quoted(place.torchrun), std::max<std::size_t>(parts.size(), 1), order.placement.rank,
      order.placement.gpus.size(), order.incarnation.job, meeting.address, meeting.port);
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

// The GPUs of the attempt on all servers, and how many of them are on servers before this one.
struct Share {
  int whole = 0, before = 0;
};

Share share_of(const wire::StartAttempt& order, const Parts& parts) {
  Share share;
  if (parts.empty()) share.whole = static_cast<int>(order.placement.gpus.size());
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    share.whole += parts[rank].gpus;
    if (static_cast<int>(rank) < order.placement.rank) share.before += parts[rank].gpus;
  }
  return share;
}

struct Ranks {
  std::vector<Member> here;
  int everywhere = 0;
};

// Plain ranks, one per GPU; with roles the members that these GPUs are for (model/demand.h).
Ranks ranks_of(const wire::StartAttempt& order, const Parts& parts) {
  const Share share = share_of(order, parts);
  const int count = static_cast<int>(order.placement.gpus.size());
  const std::vector<Role> roles = wire::to_model(order.spec.roles);
  Ranks ranks{{}, roles.empty() ? share.whole : 0};
  for (int i = 0; i < count && roles.empty(); ++i) ranks.here.push_back({.rank = share.before + i});
  const std::vector<int> counts = member_counts(roles, share.whole);
  const std::vector<std::string> names = devices(order.placement);
  int next_gpu = 0;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    for (int n = 0; n < counts[i]; ++n) {
      const int gpu = roles[i].gpus > 0 ? next_gpu++ : n * share.whole / counts[i];
      const int rank = ranks.everywhere++;
      if (gpu < share.before || share.before + count <= gpu) continue;
      const std::string& name = names[static_cast<std::size_t>(gpu - share.before)];
      ranks.here.push_back({roles[i].name, n, counts[i], roles[i].gpus > 0 ? name : "", rank});
    }
  }
  return ranks;
}

std::vector<std::string> ranks_command(const wire::StartAttempt& order, const Parts& parts) {
  std::vector<std::string> arguments = {"/proc/self/exe", "ranks", to_text(ranks_of(order, parts).here)};
  for (std::string& argument : shell_for(order.spec, as_line(order.spec.command)))
    arguments.push_back(std::move(argument));
  return arguments;
}

// The first server leads, the others serve it (agent/mpi.h).
std::vector<std::string> mpi_command(const wire::StartAttempt& order, const Parts& parts, const AttemptPlace& place) {
  if (order.placement.rank > 0) return {"/proc/self/exe", "mpi", "serve", std::to_string(place.port)};
  std::vector<std::string> arguments = {"/proc/self/exe", "mpi", "lead", std::to_string(share_of(order, parts).whole)};
  for (std::string& argument : shell_for(order.spec, as_line(order.spec.command)))
    arguments.push_back(std::move(argument));
  return arguments;
}

void add_mpi(const wire::StartAttempt& order, const Parts& parts, const AttemptPlace& place, Environment& environment) {
  environment["WORLD_SIZE"] = std::to_string(share_of(order, parts).whole);
  if (parts.empty()) return;
  if (!environment.contains("OMPI_MCA_btl_tcp_if_include")) environment[mpi_interface_variable] = place.interface;
  const wire::AttemptPart& self = parts[static_cast<std::size_t>(order.placement.rank)];
  std::vector<MpiPart> all;
  for (const wire::AttemptPart& part : parts)
    all.push_back({in_numbers(part.address), part.port, part.secret, part.gpus});
  if (order.placement.rank == 0) environment[mpi_parts_variable] = to_text(all);
  if (order.placement.rank > 0) environment[mpi_secret_variable] = self.secret;
}

void pass_on(const std::vector<std::string>& own, Environment& environment) {
  constexpr std::array<std::string_view, 10> wanted = {"PATH",   "HOME",  "USER",   "LOGNAME", "LANG",
                                                       "LC_ALL", "SHELL", "TMPDIR", "TZ",      "LD_LIBRARY_PATH"};
  for (const std::string& entry : own) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos &&
        std::ranges::find(wanted, std::string_view(entry).substr(0, equals)) != wanted.end())
      environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
}

std::string addresses_of(const Parts& parts) {
  std::string text;
  for (const wire::AttemptPart& part : parts) text += (text.empty() ? "" : ",") + part.address;
  return text.empty() ? "127.0.0.1" : text;
}

// How the processes of an attempt find each other.
void add_meeting(const wire::StartAttempt& order, const Parts& parts, const AttemptPlace& place,
                 Environment& environment) {
  const Meeting meeting = meeting_of(parts, place);
  environment["MASTER_ADDR"] = meeting.address;
  environment["MASTER_PORT"] = std::to_string(meeting.port);
  if (order.spec.launch == "ranks") environment["WORLD_SIZE"] = std::to_string(ranks_of(order, parts).everywhere);
  if (order.spec.launch == "mpi") add_mpi(order, parts, place, environment);
  if (parts.empty()) return;
  environment["NNODES"] = std::to_string(parts.size());
  environment["NODE_RANK"] = std::to_string(order.placement.rank);
  // Gloo would take the interface of the host's name, by which other servers often cannot reach it.
  if (!place.interface.empty()) environment.try_emplace("GLOO_SOCKET_IFNAME", place.interface);
}

void add_ours(const wire::StartAttempt& order, const Parts& parts, const AttemptPlace& place,
              Environment& environment) {
  const wire::JobSpec& spec = order.spec;
  const auto set = [&](const char* name, const std::string& value) {
    environment[std::string("SCHEDULEARN_") + name] = value;
  };
  set("JOB_ID", std::to_string(order.incarnation.job));
  set("JOB_NAME", spec.name);
  set("ATTEMPT", std::to_string(order.incarnation.attempt));
  set("RESUME", order.resume ? "1" : "0");
  set("NUM_GPUS", std::to_string(share_of(order, parts).whole));
  set("GPUS_PER_SERVER", std::to_string(order.placement.gpus.size()));
  set("NUM_SERVERS", std::to_string(std::max<std::size_t>(parts.size(), 1)));
  set("SERVER_RANK", std::to_string(order.placement.rank));
  set("SERVER_IPS", addresses_of(parts));
  set("CHECKPOINT_DIR", checkpoint_folder(order, place));
  set("JOB_FOLDER", job_subfolder(order.incarnation.job, order.first));
  set("OUTPUT_DIR", place.job_dir + "/output");
  set("TMP_DIR", place.attempt_dir + "/tmp");
  set("NOTICE_FILE", place.attempt_dir + "/notice");
  if (spec.resize == "in_place") {
    set("RESIZE_FILE", place.attempt_dir + "/resize");
    set("STOP_SIGNAL", spec.checkpoint.signal);
  }
  set("METRICS_FILE", place.attempt_dir + "/metrics.jsonl");
  set("ERROR_FILE", place.attempt_dir + "/error");
  set("HOSTFILE", place.attempt_dir + "/hostfile");
  if (!place.time_limit_at.empty()) set("TIME_LIMIT_AT", place.time_limit_at);
  if (spec.checkpoint.every_s) set("CHECKPOINT_EVERY_S", fmt::format("{}", *spec.checkpoint.every_s));
  set("URL", place.controller_url);
  for (const auto& [name, port] : place.ports) {
    environment[wire::port_variable("PORT", name)] = std::to_string(port);
    environment[wire::port_variable("PATH", name)] = wire::proxy_path(order.incarnation.job, name);
  }
  const std::string visible = visible_devices(order.placement);
  environment["CUDA_VISIBLE_DEVICES"] = visible;
  // An engine whose default is NVIDIA's runtime reads this: it must not take simulated GPUs for real ones, nor no GPU
  // for all of them.
  const bool are_real = visible.starts_with("GPU-");
  const bool is_void = order.placement.gpus.empty() || (spec.image && !are_real);
  environment["NVIDIA_VISIBLE_DEVICES"] = is_void ? "void" : visible;
  environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  environment["PYTHONUNBUFFERED"] = "1";
  std::string& python_path = environment["PYTHONPATH"];
  python_path += (python_path.empty() ? "" : ":") + place.python;
  if (spec.launch != "none" || !parts.empty()) add_meeting(order, parts, place, environment);
}

}  // namespace

std::string failed_setup_file(const std::string& attempt_dir) { return attempt_dir + "/tmp/.failed-setup"; }

std::string host_lines(const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts) {
  if (parts.empty()) return fmt::format("127.0.0.1 slots={}\n", order.placement.gpus.size());
  std::string lines;
  for (const wire::AttemptPart& part : parts) lines += fmt::format("{} slots={}\n", part.address, part.gpus);
  return lines;
}

std::string visible_devices(const wire::Placement& placement) {
  std::string text;
  for (const std::string& device : devices(placement)) text += (text.empty() ? "" : ",") + device;
  return text;
}

std::string command_text(const Execution& execution) {
  constexpr std::array shown = {
      "CUDA_VISIBLE_DEVICES", "MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK", "WORLD_SIZE"};
  std::string text = "cd " + shell_word(execution.workdir) + " &&";
  for (const std::string& entry : execution.environment) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    if (std::ranges::find(shown, std::string_view(entry).substr(0, equals)) != shown.end())
      text += " " + entry.substr(0, equals) + "=" + shell_word(entry.substr(std::min(equals + 1, entry.size())));
  }
  for (const std::string& argument : execution.arguments) text += " " + shell_word(argument);
  return text + "\n";
}

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

std::string job_subfolder(std::int64_t job, std::int64_t first) {
  return first == 0 ? fmt::format("job-{}", job) : fmt::format("job-{}.{}", job, first);
}

bool is_job_subfolder(std::string_view name) {
  constexpr std::string_view before = "job-";
  if (!name.starts_with(before)) return false;
  name.remove_prefix(before.size());
  const std::size_t dot = std::min(name.find('.'), name.size());
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return is_number(name.substr(0, dot)) && is_number(name.substr(std::min(dot + 1, name.size())));
}

void settle_home(wire::JobSpec& spec, const std::vector<std::string>& own) {
  constexpr std::string_view variable = "HOME=";
  std::string home = "/";
  for (const std::string& entry : own) {
    if (entry.starts_with(variable)) home = entry.substr(variable.size());
  }
  if (const auto set = spec.env.find("HOME"); set != spec.env.end()) home = set->second;
  const auto settle = [&](std::string& path) {
    if (path == "~" || path.starts_with("~/")) path = home + path.substr(1);
  };
  settle(spec.workdir);
  if (spec.workdir.empty()) spec.workdir = home;
  if (spec.checkpoint.dir) settle(*spec.checkpoint.dir);
}

std::string checkpoint_folder(const wire::StartAttempt& order, const AttemptPlace& place) {
  const std::string folder = order.spec.checkpoint.dir.value_or("");
  if (folder.empty()) return place.job_dir + "/checkpoints";
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

Execution make_execution(const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts,
                         const AttemptPlace& place, const std::vector<std::string>& own) {
  Execution execution;
  const wire::CommandLine& command = order.spec.command;
  if (order.spec.launch == "torchrun") {
    const std::string line = wire::with_torchrun(command, torchrun(order, parts, place)).value_or(as_line(command));
    execution.arguments = shell_for(order.spec, line);
    execution.required = first_program(line);
  } else if (order.spec.launch == "horovod") {
    const std::string line =
        fmt::format("horovodrun -np {0} -H localhost:{0} {1}", order.placement.gpus.size(), as_line(command));
    execution.arguments = shell_for(order.spec, line);
    execution.required = "horovodrun";
  } else if (order.spec.launch == "ranks") {
    execution.arguments = ranks_command(order, parts);
  } else if (order.spec.launch == "mpi") {
    execution.arguments = mpi_command(order, parts, place);
    execution.required = order.placement.rank == 0 ? "mpirun" : "orted";
  } else if (const auto* line = std::get_if<std::string>(&command)) {
    execution.arguments = shell_for(order.spec, *line);
    execution.required = first_program(*line);
  } else {
    execution.arguments = std::get<std::vector<std::string>>(command);
  }
  if (!order.spec.setup.empty()) {
    execution.arguments = after_setup(order.spec, place, execution.arguments);
    execution.required.clear();  // it may come with the set-up
  }
  Environment environment;
  if (order.spec.image) {
    environment["USER"] = environment["LOGNAME"] = order.spec.user;
    if (!place.python_path.empty()) environment["PYTHONPATH"] = place.python_path;
  } else {
    pass_on(own, environment);
  }
  environment["OMP_NUM_THREADS"] = "1";  // one thread unless the job asks for more; also makes results repeatable
  for (const auto& [name, value] : order.spec.env) environment[name] = value;
  add_ours(order, parts, place, environment);
  execution.workdir = order.spec.workdir;
  if (order.spec.image) {  // whose user's home it is, and where the image begins, is known where it runs
    for (const auto& [name, value] : environment) execution.environment.push_back(name + "=" + value);
    return execution;
  }
  environment["PWD"] = execution.workdir;
  for (const auto& [name, value] : environment) execution.environment.push_back(name + "=" + value);
  return execution;
}

}  // namespace sl::agent
