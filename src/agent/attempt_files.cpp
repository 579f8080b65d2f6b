#include "agent/attempt_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "agent/clocks.h"
#include "agent/environment.h"
#include "agent/files.h"
#include "agent/machine.h"
#include "agent/meeting.h"
#include "agent/processes.h"
#include "agent/warnings.h"
#include "agent/whole_file.h"
#include "net/url.h"
#include "wire/json.h"
#include "wire/utf8.h"

namespace sl::agent {

namespace {

constexpr const char* code_subfolder = "/code";  // of the job's own folder

// The job's own folder in a checkpoint folder; empty if it has none there. One that an older version named, by the job's
// number alone, is of another database's job if nothing has come into it since this one began.
std::string own_subfolder(const std::string& folder, std::int64_t job, std::int64_t first) {
  struct stat facts {};
  const auto is_there = [&](const std::string& name) { return ::lstat((folder + "/" + name).c_str(), &facts) == 0; };
  if (std::string own = job_subfolder(job, first); is_there(own)) return own;
  std::string old = job_subfolder(job, 0);
  return is_there(old) && facts.st_mtim.tv_sec >= first / 1'000'000 ? old : "";
}

// Whether `path` is the folder or lies in it, wherever links lead.
bool contains(const std::string& folder, const std::string& path) {
  std::error_code failed;
  const std::string outer = std::filesystem::weakly_canonical(folder, failed).string() + "/";
  const std::string inner = std::filesystem::weakly_canonical(path, failed).string() + "/";
  return failed || outer == "//" || inner.starts_with(outer);
}

std::filesystem::path without_links(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  std::error_code failed;
  const auto found = std::filesystem::weakly_canonical(folder, failed);
  return failed ? std::filesystem::path(folder) : found;  // links that lead to themselves
}

bool holds_job_folders(const std::string& folder) {
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (is_job_subfolder(at->path().filename().string())) return true;
  }
  return false;
}

// Whose files are in this checkpoint folder, by what is in it and by the attempts that are known here.
CheckpointHolder holder_of(const std::string& data_dir, const std::string& folder, const std::string& but_for) {
  if (holds_job_folders(folder)) return CheckpointHolder::several;
  CheckpointHolder holder = CheckpointHolder::unknown;
  const auto wanted = parse_key(but_for);
  const auto place = without_links(folder);
  std::error_code failed;
  for (std::filesystem::directory_iterator at(data_dir + "/attempts", failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string key = at->path().filename();
    const auto other = parse_key(key);
    if (!other || !wanted || key == but_for) continue;
    const std::string named = read_text(at->path().string() + "/checkpoint_folder");
    if (named.empty() || without_links(named) != place) continue;
    if (other->job != wanted->job || other->cluster != wanted->cluster) return CheckpointHolder::several;
    if (is_there(at->path().string() + "/command"))
      holder = CheckpointHolder::had_before;  // it has run, not only arrived
  }
  return holder;
}

// Where a job keeps its checkpoint that named this folder, or none. Jobs that use the Python library have a folder of
// their own in it.
LeftCheckpoint left_in(const std::string& job_dir, std::string named, std::int64_t job, std::int64_t first) {
  const std::string own = job_dir + "/checkpoints";
  while (named.size() > 1 && named.ends_with('/')) named.pop_back();
  if (named.empty() || named == own) return {own, "", false};
  if (std::string subfolder = own_subfolder(named, job, first); !subfolder.empty())
    return {named + "/" + subfolder, subfolder, false};
  const bool is_in_code = named.starts_with(job_dir + code_subfolder + "/");
  return {std::move(named), "", !is_in_code};
}

// In one step: jobs that run may be importing it.
void install(const std::string& path, const char* text) {
  if (read_text(path) == text) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  if (!replace_file(path, text)) warn_of_unwritten(path);
}

}  // namespace

AttemptFiles::AttemptFiles(AttemptFilesSettings settings)
    : settings_(std::move(settings)), folders_(settings_.data_dir) {
  for (const PythonFile& file : python_files) install(python_folder() + "/" + file.path, file.text);
}

namespace {

// A container sees the folder but can write only what is in it for the job, which must exist: it may have another user.
void make_visible(const std::string& attempt_dir) {
  ::chmod(attempt_dir.c_str(), 0711);
  for (const char* name : {"/metrics.jsonl", "/error"}) std::ofstream(attempt_dir + name, std::ios::app);
}

Status check_python_environment(const wire::JobSpec& spec) {
  if (spec.image) return {};
  const std::string python = missing_python_environment(spec);
  if (python.empty()) return {};
  return invalid("setup", "the job's Python environment is not on this server: there is no " + python);
}

}  // namespace

Status AttemptFiles::make_ready(const std::string& key, const wire::StartAttempt& order) {
  if (Status has = check_python_environment(order.spec); !has.ok()) return has;
  const Result<std::string> job_dir = folders_.make(key, order.first);
  return job_dir.ok() ? Status() : job_dir.error();
}

Result<std::string> AttemptFiles::code_folder(const std::string& key, const wire::StartAttempt& order) {
  Result<std::string> job_dir = folders_.make(key, order.first);
  if (job_dir.ok()) *job_dir += code_subfolder;
  return job_dir;
}

wire::StartAttempt AttemptFiles::in_its_folder(const std::string& key, wire::StartAttempt order) const {
  if (!order.spec.image) settle_home(order.spec, own_environment_);
  if (!order.spec.snapshot) return order;
  order.spec.workdir = folders_.of_job(key) + code_subfolder;
  if (!order.spec.snapshot->subfolder.empty()) order.spec.workdir += "/" + order.spec.snapshot->subfolder;
  return order;
}

Result<AttemptFiles::Prepared> AttemptFiles::prepare(const std::string& key, const wire::StartAttempt& order,
                                                     std::vector<wire::AttemptPart> parts, Known known) {
  if (const Status has = check_python_environment(order.spec); !has.ok()) return has.error();
  Result<std::string> job_dir = folders_.make(key, order.first);
  if (!job_dir.ok()) return job_dir.error();
  AttemptPlace paths;
  paths.attempt_dir = folders_.of_attempt(key);
  paths.job_dir = std::move(*job_dir);
  if (order.spec.snapshot) paths.code_dir = paths.job_dir + code_subfolder;
  paths.python = python_folder();
  paths.python_path = std::move(known.python_path);
  paths.ports = std::move(known.ports);
  write_ports(paths.attempt_dir, paths.ports);
  paths.torchrun = paths.python + "/schedulearn_torchrun.py";
  paths.controller_url = settings_.controller_url;
  if (parts.empty()) {
    paths.port = order.spec.launch == "none" ? 0 : free_port();
  } else {
    const auto controller = net::parse_url(settings_.controller_url);
    paths.port = parts[static_cast<std::size_t>(order.placement.rank)].port;
    parts = as_seen_here(std::move(parts), order.placement.rank, controller.ok() ? controller->host : "");
    paths.interface = interface_towards_others(parts, order.placement.rank);
  }
  if (order.spec.time_limit_s) {
    const double left_s = *order.spec.time_limit_s - order.run_s;
    paths.time_limit_at = wire::time_text((wall_now() + Duration::seconds(left_s)).us);
  }
  write_text(paths.attempt_dir + "/hostfile", host_lines(order, parts));
  if (!order.spec.setup.empty()) write_text(paths.attempt_dir + "/setup", wire::write_json(order.spec.setup));
  Notes notes{paths.job_dir, {}, order.spec.progress, order.spec.output_limit_bytes.value_or(0)};
  if (order.spec.checkpoint.dir) notes.checkpoint_folder = checkpoint_folder(order, paths);
  if (notes.progress) write_text(paths.attempt_dir + "/progress", wire::write_json(*notes.progress));
  if (notes.output_limit > 0) write_text(paths.attempt_dir + "/limit", std::to_string(notes.output_limit));
  if (!notes.checkpoint_folder.empty()) write_text(paths.attempt_dir + "/checkpoint_folder", notes.checkpoint_folder);
  notes_.insert_or_assign(key, std::move(notes));
  const Execution execution = make_execution(order, parts, paths, own_environment_);
  write_text(paths.attempt_dir + "/command", command_text(execution));
  LaunchOrder launch;
  launch.key = key;
  launch.fenced = order.spec.on_partition == "stop";
  launch.workdir = execution.workdir;
  launch.output = paths.attempt_dir + "/output";
  launch.required = execution.required;
  launch.gpus = join_gpus(order.placement.gpus);
  launch.arguments = execution.arguments;
  launch.environment = execution.environment;
  if (order.spec.image) make_visible(paths.attempt_dir);
  return Prepared{std::move(launch), std::move(paths)};
}

Result<CheckpointPlace> AttemptFiles::checkpoint_place(const std::string& key, const wire::StartAttempt& order) {
  Result<std::string> job_dir = folders_.make(key, order.first);
  if (!job_dir.ok()) return job_dir.error();
  AttemptPlace paths;
  paths.job_dir = std::move(*job_dir);
  CheckpointPlace place;
  place.folder = checkpoint_folder(order, paths);
  while (place.folder.size() > 1 && place.folder.ends_with('/')) place.folder.pop_back();
  // What is in its code may be a link of the job's making.
  const bool is_in_code = place.folder.starts_with(paths.job_dir + code_subfolder + "/");
  const bool is_named = !place.folder.starts_with(paths.job_dir) || is_in_code;
  if (is_named && order.spec.image && ::geteuid() == 0 && order.spec.user != "root")
    return invalid("checkpoint-refused", place.folder + " is a folder of " + order.spec.user +
                                             ", into which the agent copies nothing as root");
  const bool has_workdir = !order.spec.image || !order.spec.workdir.empty();
  std::error_code unreadable;
  if (is_named && has_workdir && !std::filesystem::is_directory(order.spec.workdir, unreadable))
    return invalid("checkpoint-refused", "there is no folder " + order.spec.workdir);  // a job cannot start either
  if (is_named && has_workdir && contains(place.folder, order.spec.workdir))
    return invalid("checkpoint-refused", place.folder + " is the job's working directory or contains it");
  const bool has_own = order.checkpoint->subfolder == job_subfolder(order.incarnation.job, order.first) ||
                       order.checkpoint->subfolder == job_subfolder(order.incarnation.job, 0);
  if (has_own) place.folder += "/" + order.checkpoint->subfolder;
  if (!has_own && is_named && !is_in_code) {
    const std::size_t slash = place.folder.rfind('/');  // one place for all copies, however its parents are spelled
    place.folder = (without_links(place.folder.substr(0, slash + 1)) / place.folder.substr(slash + 1)).string();
    // Copies for other jobs know from now on who will be there.
    write_text(folders_.of_attempt(key) + "/checkpoint_folder", place.folder);
    place.holder = [data_dir = settings_.data_dir, folder = place.folder, key] {
      return holder_of(data_dir, folder, key);
    };
  }
  write_text(folders_.of_attempt(key) + "/arriving", place.folder);
  place.job = order.incarnation.job;
  place.boot = boot_id();
  return place;
}

void AttemptFiles::copy_ended(const std::string& key) { ::unlink((folders_.of_attempt(key) + "/arriving").c_str()); }

std::vector<AttemptFiles::LeftCopy> AttemptFiles::left_copies() const {
  std::vector<LeftCopy> left;
  std::error_code failed;
  const auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (std::filesystem::directory_iterator at(settings_.data_dir + "/attempts", failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string record = at->path().string() + "/arriving";
    std::error_code missing;
    const auto begun = std::filesystem::last_write_time(record, missing);
    if (!missing && begun < hour_ago) left.push_back({record, read_text(record)});
  }
  return left;
}

LeftCheckpoint AttemptFiles::left_checkpoint(const std::string& key, std::int64_t job_id) const {
  const std::string named = read_text(folders_.of_attempt(key) + "/checkpoint_folder");
  return left_in(folders_.of_job(key), named, job_id, folders_.first_of(key));
}

void AttemptFiles::on_signal(const std::string& key, int number) {
  if (number != SIGKILL) write_text(folders_.of_attempt(key) + "/notice", "stop\n");
  stops_.try_emplace(key, wall_now());
}

LauncherState AttemptFiles::explain(LauncherState state) const {
  if (state.state != "exited" || !state.failure_kind.empty() || !state.stopped_by.empty() || state.exit_code == 0)
    return state;
  const std::string folder = folders_.of_attempt(state.key);
  const auto lines = wire::read_json<std::vector<std::string>>(read_text(folder + "/setup"));
  const auto noted = lines.ok() ? read_piece(failed_setup_file(folder), 0, 64) : std::nullopt;
  if (!noted) return state;
  std::size_t line = 0;
  int code = 0;
  std::istringstream(noted->bytes) >> line >> code;
  if (line < 1 || line > lines->size()) return state;
  state.failure_kind = "setup";
  state.failure_message = fmt::format("line {} of its set-up ended with exit code {}: {}", line, code,
                                      wire::first_characters((*lines)[line - 1], 200));
  return state;
}

std::optional<wire::Progress> AttemptFiles::progress(const std::string& key, const wire::AttemptReport& attempt,
                                                     bool at_end) {
  MetricsReader& metrics = metrics_[key];
  const std::int64_t now_us = wall_now().us;
  const std::string folder = folders_.of_attempt(key);
  metrics.read(folder + "/metrics.jsonl", now_us, at_end);
  if (!metrics.has_reported()) {
    const auto [at, is_new] = output_progress_.try_emplace(key);
    if (const auto& spec = notes_of(key).progress; is_new && spec) at->second.emplace(*spec);
    if (at->second) at->second->read(folder + "/output", now_us, metrics);
  }
  auto progress = metrics.take(now_us, at_end);
  if (progress) progress->incarnation = attempt.incarnation;
  return progress;
}

std::optional<wire::Progress> AttemptFiles::last_progress(const std::string& key, const wire::AttemptReport& attempt) {
  progress(key, attempt, true);
  const MetricsReader& metrics = metrics_[key];
  if (!metrics.has_reported()) return std::nullopt;
  wire::Progress last = metrics.latest();
  last.incarnation = attempt.incarnation;
  return last;
}

void AttemptFiles::note_output(const std::string& key, const wire::AttemptReport& attempt, bool at_end) {
  if (!attempt.started_us) return;
  output_times_.note(key, folders_.of_attempt(key), Instant{*attempt.started_us}, wall_now(), at_end);
}

void AttemptFiles::bound(const std::string& key) {
  const std::int64_t limit = notes_of(key).output_limit;
  const bool is_bounded = bound_output(folders_.of_attempt(key), limit > 0 ? limit : settings_.output_limit);
  if (!is_bounded && !std::exchange(cannot_bound_, true))
    std::fprintf(stderr, "schedulearn agent: outputs cannot be bounded on this file system\n");
}

const AttemptFiles::Notes& AttemptFiles::notes_of(const std::string& key) {
  const auto [at, is_new] = notes_.try_emplace(key);
  Notes& notes = at->second;
  if (!is_new) return notes;
  const std::string folder = folders_.of_attempt(key);
  notes.job_dir = folders_.of_job(key);
  notes.checkpoint_folder = read_text(folder + "/checkpoint_folder");
  if (auto spec = wire::read_json<wire::ProgressSpec>(read_text(folder + "/progress")); spec.ok())
    notes.progress = std::move(*spec);
  notes.output_limit = std::atoll(read_text(folder + "/limit").c_str());
  return notes;
}

AttemptFiles::MeasureCheckpoint AttemptFiles::on_end(const std::string& key, std::int64_t job_id, bool runs_another) {
  const Notes& notes = notes_of(key);
  const bool has_nothing = !runs_another && folders_.take_back(key, notes.job_dir);
  if (has_nothing && notes.checkpoint_folder.empty()) return nullptr;
  const auto stop = stops_.find(key);
  const Instant asked = stop == stops_.end() ? Instant::never() : stop->second;
  return [job_dir = notes.job_dir, named = notes.checkpoint_folder, job_id, asked, ended = wall_now(),
          first = folders_.first_of(key)]() -> std::optional<Checkpoint> {
    const LeftCheckpoint left = left_in(job_dir, named, job_id, first);
    std::error_code unreadable;
    // One of its own that is a link is no checkpoint; then what is beside it counts.
    const bool is_folder = left.subfolder.empty() || std::filesystem::is_directory(left.folder, unreadable);
    const auto facts = is_folder ? look_into(left.folder, left.is_shared ? is_job_subfolder : nullptr)
                                 : look_into(named, is_job_subfolder);
    if (!facts) return std::nullopt;
    Checkpoint checkpoint{facts->bytes, {}};
    if (facts->newest_us >= asked.us) checkpoint.seconds = (ended - asked).to_seconds();
    return checkpoint;
  };
}

void AttemptFiles::keep_only(const std::map<std::string, HeldAttempt>& held) {
  const auto is_gone = [&](const auto& item) { return held.count(item.first) == 0; };
  std::erase_if(notes_, is_gone);
  std::erase_if(metrics_, is_gone);
  std::erase_if(output_progress_, is_gone);
  output_times_.forget(is_gone);
  std::erase_if(stops_, is_gone);
}

}  // namespace sl::agent
