#include "agent/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "agent/whole_file.h"

namespace sl::agent {
namespace {

constexpr std::size_t bytes_min = 8 << 20;  // below this size rewriting is not worth it

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

std::string joined(const Fields& fields) {
  std::string line;
  for (const std::string& field : fields) (line += line.empty() ? "" : "\t") += one_line(field);
  return line + "\n";
}

Fields split(const std::string& line) {
  Fields fields;
  std::istringstream parts(line);
  for (std::string part; std::getline(parts, part, '\t');) fields.push_back(part);
  return fields;
}

// Lines of versions that did not record the boot have fewer fields: no process is identified by them.
std::optional<Started> parse_start(Fields f) {
  if (f.size() < 7 || f[0] != "start") return std::nullopt;
  f.resize(10);
  return Started{
      f[1], std::atoll(f[2].c_str()), std::atoll(f[3].c_str()), std::atoll(f[4].c_str()), f[5], f[6] == "1", f[7],
      f[8], parse_limit_groups(f[9])};
}

std::string end_line(const LauncherState& s) {
  const auto text = [](const std::optional<int>& number) { return number ? std::to_string(*number) : ""; };
  return joined({"end", s.key, std::to_string(s.pid), std::to_string(s.started_us), std::to_string(s.ended_us),
                 text(s.exit_code), text(s.signal), s.failure_kind, s.failure_message, s.gpus, s.stopped_by});
}

std::optional<LauncherState> parse_end(Fields f) {
  if (f.size() < 9 || f[0] != "end") return std::nullopt;
  f.resize(11);
  const auto number = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(std::atoi(text.c_str()));
  };
  LauncherState state;
  state.key = f[1], state.state = "exited";
  state.pid = std::atoll(f[2].c_str());
  state.started_us = std::atoll(f[3].c_str());
  state.ended_us = std::atoll(f[4].c_str());
  state.exit_code = number(f[5]), state.signal = number(f[6]);
  state.failure_kind = f[7], state.failure_message = f[8];
  state.gpus = f[9];
  state.stopped_by = f[10];
  return state;
}

}  // namespace

std::string to_line(const Started& s) {
  return joined({"start", s.key, std::to_string(s.pid), std::to_string(s.ticks), std::to_string(s.wall_us), s.gpus,
                 s.fenced ? "1" : "0", s.boot, s.cgroup, to_text(s.limits)});
}

JournalContents read_journal(const std::string& path) {
  JournalContents contents;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const Fields fields = split(line);
    if (const auto start = parse_start(fields)) contents.started[start->key] = *start;
    if (const auto end = parse_end(fields)) contents.ends[end->key] = *end;
    if (fields.size() == 2 && fields[0] == "forget") contents.started.erase(fields[1]), contents.ends.erase(fields[1]);
  }
  return contents;
}

std::vector<Started> fenced_in(const JournalContents& journal, const std::string& boot) {
  std::vector<Started> fenced;
  for (const auto& [key, started] : journal.started) {
    if (started.fenced && is_same_boot(started.boot, boot) && journal.ends.count(key) == 0) fenced.push_back(started);
  }
  return fenced;
}

void Journal::begin(JournalContents contents) {
  contents_ = std::move(contents);
  rewrite();
}

// A process that has recorded its start and then ran no program has made the file longer, and one that could not record
// it whole has too.
bool Journal::is_whole() const {
  struct stat info {};
  return !lacks_records_ && ::fstat(file_, &info) == 0 && static_cast<std::size_t>(info.st_size) == bytes_;
}

bool Journal::rewrite() {
  std::string text;
  for (const auto& [key, started] : contents_.started) text += to_line(started);
  for (const auto& [key, state] : contents_.ends) text += end_line(state);
  if (!replace_file(path_, text, {.mode = 0600, .synced = true})) return false;
  if (file_ >= 0) ::close(file_);
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  lacks_records_ = false;
  bytes_ = text.size();
  rewrite_at_ = std::max(bytes_min, 2 * text.size());
  return file_ >= 0;
}

void Journal::tidy() {
  if (bytes_ > rewrite_at_ || !is_whole()) rewrite();
}

void Journal::note_start(const Started& started) {
  contents_.started[started.key] = started;
  bytes_ += to_line(started).size();
}

void Journal::write_end(const LauncherState& state) {
  contents_.started.erase(state.key);
  contents_.ends[state.key] = state;
  append(end_line(state));
}

void Journal::write_forgotten(const std::string& key) {
  contents_.started.erase(key);
  contents_.ends.erase(key);
  append("forget\t" + key + "\n");
}

// A full disk does not keep an end from being reported: until there is room, only we and the controller know it.
void Journal::append(const std::string& line) {
  if (is_whole() && ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    bytes_ += line.size();
    return;
  }
  lacks_records_ = true;
  if (!rewrite())
    std::fprintf(stderr, "schedulearn-launcher: cannot write to %s: %s\n", path_.c_str(), std::strerror(errno));
}

void Journal::sync() { ::fdatasync(file_); }

}  // namespace sl::agent
