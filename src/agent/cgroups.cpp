#include "agent/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "agent/proc_file.h"
#include "agent/processes.h"

namespace sl::agent {
namespace {

constexpr int freeze_polls = 100;  // of a millisecond each

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool write_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

bool has_word(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

// The place of this process in the hierarchy of a controller ("" for v2), from /proc/self/cgroup.
std::string own_place(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller)) return line.substr(second + 1);
  }
  return "";
}

// The mount point of that hierarchy, from /proc/self/mountinfo: "ID PARENT DEV ROOT FOLDER … - TYPE SOURCE OPTIONS".
std::string mount_of(const std::string& controller) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    const std::vector<std::string> field{std::istream_iterator<std::string>(words), {}};
    std::size_t dash = 0;
    while (dash < field.size() && field[dash] != "-") ++dash;
    if (dash < 5 || dash + 3 >= field.size()) continue;
    const std::string &type = field[dash + 1], &options = field[dash + 3];
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && has_word(options, controller)) return field[4];
  }
  return "";
}

std::vector<std::string> groups_below(const std::string& group) {
  std::vector<std::string> groups;
  DIR* folder = ::opendir(group.c_str());
  if (!folder) return groups;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') groups.push_back(group + "/" + entry->d_name);
  }
  ::closedir(folder);
  return groups;
}

constexpr const char* folder_prefix = "schedulearn-";

std::string own_name() {
  const auto self = find_process(::getpid());
  return folder_prefix + std::to_string(::getpid()) + "-" + std::to_string(self ? self->started_ticks : 0);
}

// Whether the process that owns the folder has ended.
bool is_left_behind(const std::string& folder) {
  const std::string name = folder.substr(folder.rfind('/') + 1);
  long long pid = 0, ticks = 0;
  if (std::sscanf(name.c_str(), "schedulearn-%lld-%lld", &pid, &ticks) != 2) return false;
  const auto owner = find_process(static_cast<pid_t>(pid));
  return !owner || owner->started_ticks != ticks;
}

std::string make_own_folder(const std::string& controller) {
  const std::string mount = mount_of(controller), place = own_place(controller);
  if (mount.empty() || place.empty()) return "";
  const std::string parent = mount + (place == "/" ? "" : place);
  for (const std::string& folder : groups_below(parent)) {
    if (is_left_behind(folder)) remove_cgroup(folder);
  }
  const std::string folder = parent + "/" + own_name();
  return ::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST ? folder : "";
}

bool is_v2(const std::string& group) { return exists(group + "/cgroup.kill"); }

bool has_processes(const std::string& group) {
  if (!read_proc_file(group + "/cgroup.procs").empty()) return true;
  for (const std::string& below : groups_below(group)) {
    if (has_processes(below)) return true;
  }
  return false;
}

void kill_processes(const std::string& group) {
  std::istringstream processes(read_proc_file(group + "/cgroup.procs"));
  for (pid_t pid; processes >> pid;) ::kill(pid, SIGKILL);  // frozen: none ends, so no number is reused
  for (const std::string& below : groups_below(group)) kill_processes(below);
}

bool is_frozen(const std::string& group) {
  return is_v2(group) ? read_proc_file(group + "/cgroup.events").find("frozen 1") != std::string::npos
                      : read_proc_file(group + "/freezer.state") == "FROZEN\n";
}

bool set_frozen(const std::string& group, bool frozen) {
  const bool written = is_v2(group) ? write_file(group + "/cgroup.freeze", frozen ? "1" : "0")
                                    : write_file(group + "/freezer.state", frozen ? "FROZEN" : "THAWED");
  for (int i = 0; written && frozen && i < freeze_polls && !is_frozen(group); ++i) ::usleep(1'000);
  return written;
}

void kill_v1(const std::string& group) {
  set_frozen(group, true);
  kill_processes(group);
  set_frozen(group, false);
}

}  // namespace

Cgroups Cgroups::make_folder(const std::string& only) {
  Cgroups groups;
  if (only.empty() || only == "v2") {
    groups.folder_ = make_own_folder("");
    if (is_v2(groups.folder_)) groups.version_ = CgroupVersion::v2;
  }
  if (groups.version_ == CgroupVersion::none && (only.empty() || only == "v1")) {
    groups.remove_folder();
    groups.folder_ = make_own_folder("freezer");
    if (exists(groups.folder_ + "/freezer.state")) groups.version_ = CgroupVersion::v1;
  }
  if (groups.version_ == CgroupVersion::none) groups.remove_folder();
  return groups;
}

std::string Cgroups::make(const std::string& key) const {
  if (version_ == CgroupVersion::none) return "";
  const std::string group = folder_ + "/" + key;
  if (::mkdir(group.c_str(), 0755) == 0 || (errno == EEXIST && is_empty_cgroup(group))) return group;
  // A process that does not see this one may have taken the folder for an abandoned one.
  const bool again = errno == ENOENT && ::mkdir(folder_.c_str(), 0755) == 0 && ::mkdir(group.c_str(), 0755) == 0;
  return again ? group : "";
}

void Cgroups::remove_folder() const {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

bool is_empty_cgroup(const std::string& group) {
  if (group.empty()) return true;
  const std::string events = read_proc_file(group + "/cgroup.events");  // only v2 has it
  return events.empty() ? !has_processes(group) : events.find("populated 0") != std::string::npos;
}

void kill_cgroup(const std::string& group) {
  if (group.empty() || !exists(group)) return;
  is_v2(group) ? void(write_file(group + "/cgroup.kill", "1")) : kill_v1(group);
}

bool freeze_cgroup(const std::string& group, bool frozen) {
  return !group.empty() && exists(group) && set_frozen(group, frozen);
}

bool is_frozen_cgroup(const std::string& group) { return is_frozen(group); }

void remove_cgroup(const std::string& group) {
  if (group.empty() || ::rmdir(group.c_str()) == 0) return;
  for (const std::string& below : groups_below(group)) remove_cgroup(below);
  ::rmdir(group.c_str());
}

bool join_cgroup(const std::string& group) { return write_file(group + "/cgroup.procs", "0"); }

}  // namespace sl::agent
