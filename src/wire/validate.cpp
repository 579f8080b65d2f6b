// Checks the values of a submission independently of the cluster.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <functional>
#include <set>

#include "base/suggest.h"
#include "wire/environment_name.h"
#include "wire/intervention.h"
#include "wire/job_spec.h"
#include "wire/members.h"
#include "wire/ports.h"
#include "wire/progress.h"
#include "wire/secrets.h"
#include "wire/torchrun_command.h"
#include "wire/utf8.h"

namespace sl::wire {
namespace {

constexpr int gpus_max = 4096;
constexpr std::size_t name_bytes_max = 128;
constexpr std::size_t mounts_max = 64;

Error with_suggestion(Error error, std::string_view word, const std::vector<std::string_view>& known) {
  std::string all;
  for (const std::string_view one : known) all += (all.empty() ? "" : ", ") + std::string(one);
  error.notes.push_back("it is one of " + all);
  if (const auto near = did_you_mean(word, known)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

Status validate_name(const JobSpec& spec) {
  if (has_control_characters(spec.name))
    return invalid("bad-name", "a name cannot hold line breaks or control characters").at("/name");
  if (spec.name.size() > name_bytes_max) return invalid("bad-name", "a name has at most 128 bytes").at("/name");
  if (has_control_characters(spec.user) || spec.user.size() > name_bytes_max)
    return invalid("bad-user", "a user name has at most 128 bytes, no control characters").at("/user");
  for (const auto& [key, value] : spec.labels) {
    if (key.empty() || has_control_characters(key) || has_control_characters(value))
      return invalid("bad-label", "a label has a name and no control characters").at("/labels");
  }
  return {};
}

// Text that JSON and a program's arguments can carry: UTF-8 without zero bytes.
Status validate_text(std::string_view text, const char* pointer) {
  if (is_utf8(text) && text.find('\0') == std::string_view::npos) return {};
  return invalid("bad-text", std::string(pointer + 1) + " must be UTF-8 text without zero bytes").at(pointer);
}

Status validate_texts(const JobSpec& spec) {
  std::vector<std::pair<std::string_view, const char*>> texts = {
      {spec.name, "/name"}, {spec.user, "/user"}, {spec.workdir, "/workdir"}};
  if (spec.framework) texts.emplace_back(*spec.framework, "/framework");
  if (spec.checkpoint.dir) texts.emplace_back(*spec.checkpoint.dir, "/checkpoint/dir");
  if (const auto* line = std::get_if<std::string>(&spec.command)) texts.emplace_back(*line, "/command");
  if (const auto* words = std::get_if<std::vector<std::string>>(&spec.command)) {
    for (const std::string& word : *words) texts.emplace_back(word, "/command");
  }
  for (const auto* map : {&spec.env, &spec.labels}) {
    for (const auto& [key, value] : *map) {
      texts.emplace_back(key, map == &spec.env ? "/env" : "/labels");
      texts.emplace_back(value, map == &spec.env ? "/env" : "/labels");
    }
  }
  if (spec.image) texts.emplace_back(*spec.image, "/image");
  for (const std::string& mount : spec.mounts) texts.emplace_back(mount, "/mounts");
  for (const std::string& type : spec.resources.gpu_type) texts.emplace_back(type, "/resources/gpu_type");
  for (const auto& [text, pointer] : texts) {
    if (Status status = validate_text(text, pointer); !status.ok()) return status;
  }
  return {};
}

bool is_blank(const CommandLine& command) {
  if (const auto* line = std::get_if<std::string>(&command))
    return line->find_first_not_of(" \t\r\n") == std::string::npos;
  const auto& words = std::get<std::vector<std::string>>(command);
  return words.empty() || words.front().empty();
}

bool starts(const CommandLine& command, const std::string& program) {
  const auto* line = std::get_if<std::string>(&command);
  const std::string& text = line ? *line : std::get<std::vector<std::string>>(command).front();
  return text.starts_with(program) || text.find("/" + program) != std::string::npos ||
         text.find(" " + program + " ") != std::string::npos;
}

constexpr const char* launches[] = {"none", "torchrun", "ranks", "mpi", "horovod"};

Status validate_start(const JobSpec& spec) {
  if (is_blank(spec.command))
    return invalid("empty-command", "there is no command to run")
        .hint("schedulearn submit --gpus 1 -- python train.py")
        .at("/command");
  if (spec.launch == "horovod" && spec.servers > 1)
    return invalid("not-supported-yet", "launch = \"horovod\" on several servers is not supported yet")
        .hint("--launch mpi   starts trainings with Horovod on several servers, without ssh")
        .hint("or servers = 1")
        .at("/servers");
  if (std::ranges::find(launches, spec.launch) == std::end(launches))
    return with_suggestion(invalid("bad-launch", "unknown launch " + spec.launch).at("/launch"), spec.launch,
                           {std::begin(launches), std::end(launches)});
  const bool starts_ranks = spec.launch == "mpi" || spec.launch == "horovod";
  for (const char* program : {"mpirun", "mpiexec", "horovodrun"}) {
    if (starts_ranks && starts(spec.command, program))
      return invalid("bad-launch", "launch = \"" + spec.launch + "\" starts " +
                                       (spec.launch == "mpi" ? "mpirun" : "horovodrun") + ", and the command starts " +
                                       program)
          .hint("leave it and its flags out of the command: --launch " + spec.launch + " -- python train.py")
          .hint("or --launch none")
          .at("/launch");
  }
  if (spec.launch == "torchrun" && !with_torchrun(spec.command, "")) {
    if (starts(spec.command, "torchrun"))
      return invalid("bad-launch", "launch = \"torchrun\" starts torchrun, and so does the command")
          .hint("leave it and its flags out of the command: --launch torchrun -- python train.py")
          .hint("or leave launch out")
          .at("/launch");
    return invalid("bad-launch", "torchrun starts Python programs, and this command starts none")
        .hint("command = \"python train.py\"")
        .hint("launch = \"ranks\" starts any command once per GPU")
        .at("/launch");
  }
  for (const auto& [name, value] : spec.env) {
    if (Status sound = check_environment_name(name); !sound.ok()) return Error(sound.error()).at("/env");
  }
  return {};
}

// What the engine and its registries accept: [HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST].
bool is_image_name(std::string_view text) {
  constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz0123456789._-/", hex = "0123456789abcdef";
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
  constexpr std::size_t none = std::string_view::npos, digest_min = 32;
  if (text.empty() || text.size() > 512 || text.find_first_not_of(allowed) != none) return false;
  if (!std::isalnum(static_cast<unsigned char>(text.front())) || !std::isalnum(static_cast<unsigned char>(text.back())))
    return false;
  std::string_view name = text.substr(0, text.find('@'));
  const std::string_view digest = name.size() == text.size() ? "" : text.substr(name.size() + 1);
  const std::size_t kind = digest.find(':');
  const bool is_digest =
      kind != none && digest.size() - kind > digest_min && digest.find_first_not_of(hex, kind + 1) == none;
  if (!digest.empty() && !is_digest) return false;
  if (const std::size_t tag = name.rfind(':'); tag != none && name.find('/', tag) == none) name = name.substr(0, tag);
  const std::string_view host = name.substr(0, name.find('/'));
  const bool has_host = host.size() < name.size() && (host.find_first_of(".:") != none || host == "localhost");
  if (has_host) name = name.substr(host.size() + 1);
  return !name.empty() && name.find_first_not_of(lower) == none && name.find("..") == none && name.find("//") == none &&
         name.front() != '/' && name.back() != '/';
}

Status validate_container(const JobSpec& spec) {
  if (spec.image && spec.image->empty())
    return invalid("bad-image", "the name of its image is empty")
        .hint("leave the image out, and it runs as a plain process")
        .at("/image");
  if (spec.image && !is_image_name(*spec.image))
    return invalid("bad-image", "'" + *spec.image + "' is no name of an image")
        .hint("--image docker.io/library/python:3.11")
        .at("/image");
  if (!spec.image && !spec.mounts.empty())
    return invalid("bad-mounts", "only a job with an image has mounts; other jobs see all folders of their server")
        .hint("leave mounts out, or name an image")
        .at("/mounts");
  if (!spec.image && spec.resources.shm_bytes)
    return invalid("bad-resources", "only a job with an image has a /dev/shm of its own; other jobs use their server's")
        .hint("leave shm out, or name an image")
        .at("/resources/shm");
  const std::string folder = spec.checkpoint.dir.value_or("/");
  if (spec.image && spec.workdir.empty() && !folder.empty() && folder[0] != '/')
    return invalid("bad-checkpoint", "checkpoint.dir must begin with / in a job with an image and without a workdir")
        .hint("--checkpoint-dir /data/checkpoints, or say where it works: --workdir DIR")
        .at("/checkpoint/dir");
  std::set<std::string> places;
  if (spec.mounts.size() > mounts_max) return invalid("bad-mounts", "a job has at most 64 mounts").at("/mounts");
  for (const std::string& text : spec.mounts) {
    const auto mount = parse_mount(text);
    if (!mount)
      return invalid("bad-mounts", "'" + text + "' is no mount")
          .hint("FOLDER, FOLDER:INSIDE or FOLDER:INSIDE:rw, from / on, without commas: --mount /data/imagenet:/data")
          .at("/mounts");
    if (!places.insert(mount->to).second)
      return invalid("bad-mounts", "two mounts are to be at " + mount->to).at("/mounts");
  }
  return {};
}

bool is_inside(std::string_view path) {
  const std::string framed = "/" + std::string(path) + "/";
  return !path.starts_with('/') && framed.find("/../") == std::string::npos;
}

Status validate_snapshot(const JobSpec& spec) {
  if (!spec.snapshot) return {};
  const SnapshotSpec& snapshot = *spec.snapshot;
  if (snapshot.kind != "git" && snapshot.kind != "copy")
    return with_suggestion(invalid("bad-snapshot", "unknown snapshot " + snapshot.kind).at("/snapshot"), snapshot.kind,
                           {"none", "git", "copy"});
  const auto is_id = [](const std::string& id) {
    return id.empty() || (id.size() == 64 && id.find_first_not_of("0123456789abcdef") == std::string::npos);
  };
  const bool is_text = std::ranges::all_of(snapshot.changed, is_utf8) && is_utf8(snapshot.subfolder) &&
                       snapshot.subfolder.find('\0') == std::string::npos && is_utf8(snapshot.commit);
  if (!is_id(snapshot.id) || !is_id(snapshot.diff) || !is_inside(snapshot.subfolder) || !is_text ||
      snapshot.changed.size() > 100 || snapshot.commit.size() > 64)
    return invalid("bad-snapshot", "snapshot does not describe one that was taken")
        .hint("schedulearn submit --snapshot git takes it and describes it")
        .at("/snapshot");
  return {};
}

// Of a job that may have no GPU: nothing that it asks for is about GPUs.
Status validate_without_gpus(const JobSpec& spec) {
  if (spec.gpus.max > 0)
    return invalid("bad-gpus", "a job has no GPU at all, or one at least")
        .hint(spec.gpus.max == 1 ? "--gpus 1" : "--gpus 1.." + std::to_string(spec.gpus.max))
        .hint("--gpus 0   needs CPUs and memory only")
        .at("/gpus");
  if (spec.servers > 1)
    return invalid("bad-servers", "a job without GPUs runs on one server")
        .hint("leave servers out; an array runs many such jobs: --array 0-9")
        .at("/servers");
  if (spec.launch != "none")
    return invalid("bad-launch", "launch = \"" + spec.launch + "\" starts one process per GPU, and the job has no GPU")
        .hint("leave launch out: the command is started once")
        .at("/launch");
  if (spec.resize == "in_place")
    return invalid("bad-resize", "resize = \"in_place\" is about GPUs, and the job has none").at("/resize");
  const ResourceSpec& asked = spec.resources;
  const char* const key = !asked.gpu_type.empty()                  ? "gpu_type"
                          : asked.gpu_memory_bytes.value_or(0) > 0 ? "gpu_memory"
                          : asked.share                            ? "share"
                                                                   : nullptr;
  if (!key) return {};
  return invalid("bad-resources", std::string(key) + " is about GPUs, and the job has none")
      .hint("leave it out; servers are chosen by name and label: --on gpu3")
      .at(std::string("/resources/") + key);
}

Status validate_gpus(const JobSpec& spec) {
  if (spec.gpus.min < 0 || spec.gpus.max < 0) return invalid("bad-gpus", "gpus cannot be negative").at("/gpus");
  if (spec.gpus.min > gpus_max || spec.gpus.max > gpus_max)
    return invalid("bad-gpus", "gpus is more than " + std::to_string(gpus_max)).at("/gpus");
  if (spec.gpus.min > spec.gpus.max) return invalid("bad-gpus", "the range of gpus ends before it begins").at("/gpus");
  const std::vector<int>& allowed = spec.gpus.allowed;
  if (!allowed.empty() && (std::ranges::adjacent_find(allowed, std::greater_equal()) != allowed.end() ||
                           allowed.front() != spec.gpus.min || allowed.back() != spec.gpus.max))
    return invalid("bad-gpus", "the numbers of GPUs must be ascending and differ, from the least to the most")
        .hint("gpus = [1, 2, 4]")
        .at("/gpus");
  if (!(spec.weight > 0 && spec.weight <= 1e6))
    return invalid("bad-weight", "the weight must be above zero, at most a million").at("/weight");
  if (spec.servers < 1) return invalid("bad-servers", "a job runs on at least one server").at("/servers");
  if (spec.gpus.min == 0) return validate_without_gpus(spec);
  if (spec.servers > spec.gpus.max)
    return invalid("bad-servers", std::to_string(spec.gpus.max) + (spec.gpus.max == 1 ? " GPU" : " GPUs") +
                                      " cannot be on " + std::to_string(spec.servers) + " servers")
        .hint("servers = 2 lets the GPUs be on 2 servers")
        .at("/servers");
  return {};
}

Error bad_duration(const std::string& message) {
  return invalid("bad-time", message).hint("write a duration: 90s, 30m, 2h, 1d");
}

Status validate_times(const JobSpec& spec) {
  constexpr double longest_s = 1e10;
  const auto is_bad = [](const std::optional<double>& s) { return s && !(*s > 0 && *s < longest_s); };
  const auto bad_length = [](double s, const std::string& what) {
    return s >= longest_s ? invalid("bad-time", what + " is too long").hint("the longest is 115740d")
                          : bad_duration(what + " must be above zero");
  };
  if (is_bad(spec.time_limit_s)) return bad_length(*spec.time_limit_s, "the time limit").at("/time/limit");
  if (is_bad(spec.estimate_s)) return bad_length(*spec.estimate_s, "the estimate").at("/time/estimate");
  if (is_bad(spec.deadline_s)) return bad_duration("the deadline must be in the future").at("/time/deadline");
  if (!(spec.checkpoint.grace_s >= 0 && spec.checkpoint.grace_s <= 86'400))
    return bad_duration("the grace period must be 0 s to 1 day").at("/checkpoint/grace");
  return {};
}

bool is_exit_code(std::string_view text) {
  if (!text.starts_with("exit:")) return false;
  text.remove_prefix(5);
  int code = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  return error == std::errc() && end == text.data() + text.size() && code >= 0 && code <= 255;
}

// The training itself goes over to other GPUs: it must see them, and have started its workers by itself or by torchrun.
Status validate_resize(const JobSpec& spec) {
  if (spec.resize != "restart" && spec.resize != "in_place")
    return with_suggestion(invalid("bad-resize", "unknown resize " + spec.resize).at("/resize"), spec.resize,
                           {"restart", "in_place"});
  if (spec.resize == "restart") return {};
  const char* const lack = !spec.checkpoint.dir  ? "needs [checkpoint] dir, in case the training does not answer"
                           : spec.image          ? "is not possible in a container, which keeps the GPUs it began with"
                           : spec.servers > 1    ? "is possible on one server only"
                           : !spec.roles.empty() ? "is not possible with roles"
                           : spec.launch != "none" && spec.launch != "torchrun"
                               ? "needs launch = \"torchrun\", or a command that starts its workers itself"
                               : nullptr;
  if (!lack) return {};
  return invalid("bad-resize", std::string("resize = \"in_place\" ") + lack).at("/resize");
}

Status validate_interruptions(const JobSpec& spec) {
  if (const Status signal = check_signal(spec.checkpoint.signal); !signal.ok())
    return Error(signal.error()).at("/checkpoint/signal");
  if (spec.output_limit_bytes && *spec.output_limit_bytes < 65'536)
    return invalid("bad-output-limit", "the output limit must be at least 64 KiB").at("/output_limit");
  if (spec.on_partition != "continue" && spec.on_partition != "stop")
    return with_suggestion(invalid("bad-on-partition", "unknown on_partition " + spec.on_partition).at("/on_partition"),
                           spec.on_partition, {"continue", "stop"});
  if (Status resize = validate_resize(spec); !resize.ok()) return resize;
  if (!(spec.retry.backoff_s >= 0 && spec.retry.backoff_s <= 86'400))
    return bad_duration("a retry waits 0 s to 1 day").at("/retry/backoff");
  if (spec.checkpoint.every_s && !(*spec.checkpoint.every_s > 0 && *spec.checkpoint.every_s < 1e10))
    return bad_duration("the time between checkpoints must be above zero").at("/checkpoint/every");
  if (spec.retry.max < 0 || spec.retry.max > 1000)
    return invalid("bad-retry", "retry.max must be 0 to 1000").at("/retry/max");
  const std::vector<std::string_view> ends = {"any",         "exit",  "signal", "out_of_memory", "gpu_error",
                                              "server_lost", "image", "setup",  "exit:75"};
  for (const std::string& on : spec.retry.on) {
    if (on == "time_limit")
      return invalid("bad-retry", "the time limit is that of all attempts together: nothing of it is left for another")
          .at("/retry/on")
          .hint("give the job more: --time-limit 4h");
    if (!is_exit_code(on) && std::find(ends.begin(), ends.end(), on) == ends.end())
      return with_suggestion(invalid("bad-retry", "retry.on does not know " + on).at("/retry/on"), on, ends);
  }
  return {};
}

Status validate_resources(const ResourceSpec& r) {
  constexpr int processes_max = 1 << 22;  // of the kernel
  const auto is_negative = [](const auto& number) { return number && *number < 0; };
  const char* const negative = is_negative(r.cpus)               ? "cpus"
                               : is_negative(r.memory_bytes)     ? "memory"
                               : is_negative(r.gpu_memory_bytes) ? "gpu_memory"
                               : is_negative(r.shm_bytes)        ? "shm"
                                                                 : nullptr;
  if (negative)
    return invalid("bad-resources", "resources cannot be negative").at(std::string("/resources/") + negative);
  if (r.shm_bytes == 0)
    return invalid("bad-resources", "no container has a /dev/shm of 0 bytes")
        .hint("leave shm out: it has 1 GiB then")
        .at("/resources/shm");
  if (r.processes.value_or(1) < 1)
    return invalid("bad-resources", "a job needs one process at least").at("/resources/processes");
  if (r.processes.value_or(1) > processes_max)
    return invalid("bad-resources", "no server has more than " + std::to_string(processes_max) + " processes")
        .at("/resources/processes");
  if (r.pin_cpus && r.cpus.value_or(0) < 1)
    return invalid("bad-resources", "pin_cpus needs to know how many processors the job asks for")
        .at("/resources/pin_cpus")
        .hint("add cpus = 4 to [resources], or --cpus 4");
  return {};
}

Status validate_servers_chosen(const JobSpec& spec) {
  constexpr std::size_t most = 1'000;
  for (const auto& [words, at] :
       {std::pair(&spec.resources.on, "/resources/on"), {&spec.resources.not_on, "/resources/not_on"}}) {
    if (words->size() > most)
      return invalid("bad-servers", "more than " + std::to_string(most) + " servers are named").at(at);
    for (const std::string& word : *words) {
      if (!names_servers(word))
        return invalid("bad-servers", "neither the name of a server nor a label: " + word)
            .hint("schedulearn servers ls")
            .at(at);
    }
  }
  return {};
}

Status validate_setup(const JobSpec& spec) {
  constexpr std::size_t most = 100, longest = 10'000;
  if (spec.setup.size() > most)
    return invalid("bad-setup", "more than " + std::to_string(most) + " lines").at("/setup");
  for (const std::string& line : spec.setup) {
    if (line.find_first_not_of(" \t\n") == std::string::npos || line.size() > longest)
      return invalid("bad-setup", line.size() > longest ? "a line is longer than 10,000 bytes" : "a line is empty")
          .at("/setup");
    if (line.find('\0') != std::string::npos) return invalid("bad-setup", "a line has a zero byte").at("/setup");
  }
  return {};
}

Status validate_progress(const JobSpec& spec) {
  if (!spec.progress) return {};
  if (spec.progress->total && !(*spec.progress->total > 0 && *spec.progress->total < 1e15))
    return invalid("bad-progress", "the total must be above zero").at("/progress/total");
  if (const Status pattern = check_progress_pattern(spec.progress->pattern); !pattern.ok())
    return Error(pattern.error()).at("/progress/pattern");
  return {};
}

Status validate_pty(const JobSpec& spec) {
  if (!spec.pty) return {};
  const char* other = spec.launch != "none" || !spec.roles.empty() ? "several processes"
                      : spec.servers > 1                           ? "several servers"
                      : is_group(spec)                             ? "several members"
                                                                   : nullptr;
  if (!other) return {};
  return invalid("bad-pty", std::string("a terminal belongs to one process of the server, and the job has ") + other)
      .at("/pty")
      .hint("submit it without pty, and once it runs: schedulearn shell ID");
}

}  // namespace

bool names_servers(const std::string& word) {
  const auto fits = [](unsigned char c) { return c != 0 && (std::isalnum(c) || std::strchr("._-=/:@", c)); };
  return !word.empty() && word.size() <= 128 && std::ranges::all_of(word, fits);
}

std::optional<Mount> parse_mount(std::string_view text) {
  // Where the container has what is its own, or ours.
  constexpr std::string_view taken[] = {"/", "/proc", "/sys", "/dev", "/.schedulearn"};
  const auto is_taken = [&](const std::string& path) {
    return std::ranges::any_of(taken, [&](std::string_view one) {
      return path == one || (one != "/" && path.starts_with(std::string(one) + "/"));
    });
  };
  const auto is_path = [](std::string_view path) {
    const std::string framed =
        std::string(path) + "/";  // "//", "/./" and "/../" would say more than one way what it is
    const bool is_plain = framed.find("/../") == std::string::npos && framed.find("/./") == std::string::npos;
    // Podman takes a comma for the end of the path.
    return path.starts_with('/') && is_plain && path.find("//") == std::string_view::npos &&
           path.find_first_of(",\"") == std::string_view::npos && !has_control_characters(path);
  };
  const auto without_slash = [](std::string path) {  // two mounts at /data and /data/ are at one place
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
  };
  Mount mount;
  const std::size_t first = text.find(':'),
                    second = text.find(':', first == std::string_view::npos ? first : first + 1);
  mount.from = text.substr(0, first);
  mount.to = first == std::string_view::npos ? mount.from : text.substr(first + 1, second - first - 1);
  const std::string_view mode = second == std::string_view::npos ? "ro" : text.substr(second + 1);
  mount.writable = mode == "rw";
  if (!is_path(mount.from) || !is_path(mount.to) || is_taken(mount.to) || (mode != "ro" && mode != "rw"))
    return std::nullopt;
  mount.from = without_slash(std::move(mount.from)), mount.to = without_slash(std::move(mount.to));
  return mount;
}

std::string plain_signal(const std::string& signal) { return signal.starts_with("SIG") ? signal.substr(3) : signal; }

Status check_signal(const std::string& signal) {
  const std::vector<std::string_view> signals = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "KILL"};
  const std::string plain = plain_signal(signal);
  if (std::ranges::find(signals, plain) != signals.end()) return {};
  return with_suggestion(invalid("bad-signal", "unknown signal " + signal).at("/signal"), plain, signals);
}

Status validate(const JobSpec& spec) {
  for (const auto check :
       {validate_name, validate_texts, validate_start, validate_container, validate_snapshot, validate_secrets,
        validate_ports, validate_gpus, validate_times, validate_interruptions, validate_prerequisites, validate_members,
        validate_pty, validate_servers_chosen, validate_setup, validate_progress}) {
    if (Status status = check(spec); !status.ok()) return status;
  }
  if (Status status = validate(spec.training); !status.ok()) return status;
  if (Status status = validate_notify(spec.notify); !status.ok()) return status;
  if (Status status = validate_roles(spec); !status.ok()) return status;
  return validate_resources(spec.resources);
}

}  // namespace sl::wire
