#include "agent/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "agent/gpu_files.h"
#include "agent/proc_file.h"
#include "agent/processes.h"

namespace sl::agent {
namespace {

constexpr int freeze_polls = 100;  // of a millisecond each

constexpr std::size_t spare_max = 64;
constexpr const char* controllers[] = {"cpu", "cpuset", "devices", "memory", "pids"};
// Where v2 permits no processes beside the groups below, those of our own group go.
constexpr const char* own_leaf = "/schedulearn-own";

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
std::string own_place(const std::string& controller, const CgroupSources& sources) {
  std::ifstream file(sources.groups);
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    const std::string named = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? named.empty() : has_word(named, controller)) {
      std::string place = line.substr(second + 1);
      if (place.ends_with(own_leaf)) place.resize(place.size() - std::strlen(own_leaf));
      return place.empty() ? "/" : place;
    }
  }
  return "";
}

// The mount point of that hierarchy, from /proc/self/mountinfo: "ID PARENT DEV ROOT FOLDER … - TYPE SOURCE OPTIONS".
std::string mount_of(const std::string& controller, const CgroupSources& sources) {
  std::ifstream file(sources.mounts);
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

// The folder that groups are made in; empty if there is none (errno).
std::string make_folder_in(const std::string& parent) {
  for (const std::string& folder : groups_below(parent)) {
    if (is_left_behind(folder)) remove_cgroup(folder);
  }
  const std::string folder = parent + "/" + own_name();
  return ::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST ? folder : "";
}

// The group of this process; empty: there is no such hierarchy.
std::string own_group(const std::string& controller, const CgroupSources& sources) {
  const std::string mount = mount_of(controller, sources), place = own_place(controller, sources);
  return mount.empty() || place.empty() ? "" : mount + (place == "/" ? "" : place);
}

std::string make_own_folder(const std::string& controller, const CgroupSources& sources) {
  errno = ENOENT;
  const std::string parent = own_group(controller, sources);
  return parent.empty() ? "" : make_folder_in(parent);
}

// One word of this list: "cpuset cpu io memory pids".
bool lists(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string one; words >> one;) {
    if (one == word) return true;
  }
  return false;
}

std::string reason_of(const std::string& what, int error) { return what + ": " + std::strerror(error); }

// v2 permits controllers below a group only if no process is in the group itself. One that was delegated to us
// (systemd: Delegate=yes) has only our own processes, which make room.
bool make_room(const std::string& group) {
  const bool is_ours = ::getxattr(group.c_str(), "user.delegate", nullptr, 0) > 0 ||
                       ::getxattr(group.c_str(), "trusted.delegate", nullptr, 0) > 0;
  const std::string leaf = group + own_leaf;
  if (!is_ours || (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST)) return false;
  std::istringstream processes(read_proc_file(group + "/cgroup.procs"));
  for (std::string pid; processes >> pid;) {
    if (!write_file(leaf + "/cgroup.procs", pid)) return false;
  }
  return true;
}

// Has the controller in the groups below this one.
bool pass_on(const std::string& controller, const std::string& group) {
  const std::string file = group + "/cgroup.subtree_control";
  if (write_file(file, "+" + controller)) return true;
  return errno == EBUSY && make_room(group) && write_file(file, "+" + controller);
}

// Below the group of this process, unless that has processes of others beside it, which v2 forbids: then at the top.
std::string make_v2_folder(const CgroupSources& sources) {
  const std::string own = own_group("", sources);
  const std::string offered = read_proc_file(own + "/cgroup.controllers");
  const bool passes = std::ranges::all_of(
      controllers, [&](const std::string& one) { return !lists(offered, one) || pass_on(one, own); });
  if (!passes) {
    if (std::string folder = make_folder_in(mount_of("", sources)); !folder.empty()) return folder;
  }
  return own.empty() ? "" : make_folder_in(own);
}

// v1 has no processors and no memory nodes in a new group of this controller.
void inherit_cpuset(const std::string& group) {
  const std::string parent = group.substr(0, group.rfind('/'));
  for (const char* file : {"/cpuset.mems", "/cpuset.cpus"}) {
    const std::string text = read_proc_file(parent + file);
    if (!text.empty()) write_file(group + file, text);
  }
}

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
  return is_v2_cgroup(group) ? read_proc_file(group + "/cgroup.events").find("frozen 1") != std::string::npos
                             : read_proc_file(group + "/freezer.state") == "FROZEN\n";
}

bool set_frozen(const std::string& group, bool frozen) {
  const bool written = is_v2_cgroup(group) ? write_file(group + "/cgroup.freeze", frozen ? "1" : "0")
                                           : write_file(group + "/freezer.state", frozen ? "FROZEN" : "THAWED");
  for (int i = 0; written && frozen && i < freeze_polls && !is_frozen(group); ++i) ::usleep(1'000);
  return written;
}

// Of those that remember nothing.
bool is_as_new(const std::string& group) {
  const std::string count = read_proc_file(group + "/pids.current"), events = read_proc_file(group + "/cgroup.events");
  if (!count.empty()) return count == "0\n";
  if (!events.empty()) return events == "populated 0\nfrozen 0\n";
  return read_proc_file(group + "/freezer.state") == "THAWED\n" && !has_processes(group);
}

void kill_v1(const std::string& group) {
  set_frozen(group, true);
  kill_processes(group);
  set_frozen(group, false);
}

}  // namespace

bool is_v2_cgroup(const std::string& group) { return exists(group + "/cgroup.kill"); }

Cgroups Cgroups::make_folder(const std::string& only, const CgroupSources& sources) {
  Cgroups groups;
  const bool may_v2 = only.empty() || only == "v2", may_v1 = only.empty() || only == "v1";
  if (may_v2) {
    groups.folder_ = make_v2_folder(sources);
    if (is_v2_cgroup(groups.folder_)) groups.version_ = CgroupVersion::v2;
  }
  if (groups.version_ == CgroupVersion::none && may_v1) {
    groups.remove_folder();
    groups.folder_ = make_own_folder("freezer", sources);
    if (exists(groups.folder_ + "/freezer.state")) groups.version_ = CgroupVersion::v1;
  }
  if (groups.version_ == CgroupVersion::none) groups.remove_folder(), groups.folder_.clear();
  groups.find_controllers(sources, may_v2, may_v1);
  return groups;
}

// A controller is in v2 or in v1, never in both.
void Cgroups::find_controllers(const CgroupSources& sources, bool may_v2, bool may_v1) {
  const std::string parent = version_ == CgroupVersion::v2 ? folder_.substr(0, folder_.rfind('/')) : "";
  const std::string offered = parent.empty() ? "" : read_proc_file(parent + "/cgroup.controllers");
  for (const char* controller : controllers) {
    if (!may_v2 && !may_v1) {
      missing_[controller] = "SCHEDULEARN_CGROUPS forbids it";
    } else if (lists(offered, controller)) {
      if (pass_on(controller, parent) && pass_on(controller, folder_))
        controllers_[controller] = folder_;
      else
        missing_[controller] = reason_of("using " + parent, errno);
    } else if (may_v1 && !mount_of(controller, sources).empty()) {
      const std::string folder = make_own_folder(controller, sources);
      const int error = errno;
      if (!folder.empty())
        controllers_[controller] = folder;
      else
        missing_[controller] = reason_of("making a group in " + own_group(controller, sources), error);
      if (!folder.empty() && controller == std::string("cpuset")) inherit_cpuset(folder);
      if (!folder.empty() && controller == std::string("pids")) reused_[folder];
    } else if (version_ == CgroupVersion::v2 && controller == std::string("devices")) {
      if (const Status may = can_set_gpu_files_v2(folder_); may.ok())
        controllers_[controller] = folder_;
      else
        missing_[controller] = may.error().message;
    } else {
      missing_[controller] = std::string("the kernel has no controller ") + controller + " here";
    }
  }
  const auto is_in_folder = [this](const auto& item) { return item.second == folder_; };
  if (version_ != CgroupVersion::none && std::ranges::none_of(controllers_, is_in_folder)) reused_[folder_];
}

Result<LimitGroups> Cgroups::make_limited(const std::string& key, const std::string& group,
                                          const Limits& limits) {
  LimitGroups groups;
  for (const auto& [controller, folder] : controllers_) {
    if (folder == folder_ && !group.empty()) groups[controller] = group;
  }
  for (const std::string& controller : controllers_for(limits)) {
    const auto at = controllers_.find(controller);
    if (at == controllers_.end() || at->second == folder_) continue;
    const std::string own = make_in(at->second, key);
    if (own.empty()) {
      const int error = errno;
      take_back(groups);
      return unavailable("server_setup",
                         "cannot limit it: " + reason_of("making a group for it in " + at->second, error));
    }
    if (controller == "cpuset") inherit_cpuset(own);
    groups[controller] = own;
  }
  const Status set = apply_limits(groups, limits);
  if (set.ok()) return groups;
  take_back(groups);
  return set.error();
}

std::string Cgroups::make(const std::string& key) {
  return version_ == CgroupVersion::none ? "" : make_in(folder_, key);
}

std::string Cgroups::make_in(const std::string& folder, const std::string& key) {
  const auto reused = reused_.find(folder);
  while (reused != reused_.end() && !reused->second.spare.empty()) {
    std::string spare = std::move(reused->second.spare.back());
    reused->second.spare.pop_back();
    if (exists(spare)) return spare;
  }
  const std::string group = folder + "/" + (reused == reused_.end() ? key : std::to_string(++reused->second.made));
  if (::mkdir(group.c_str(), 0755) == 0 || (errno == EEXIST && is_empty_cgroup(group))) return group;
  // A process that does not see this one may have taken the folder for an abandoned one and removed what was empty.
  const bool again = errno == ENOENT && ::mkdir(folder.c_str(), 0755) == 0 && ::mkdir(group.c_str(), 0755) == 0;
  return again ? group : "";
}

void Cgroups::take_back(const std::string& group) {
  const auto reused = reused_.find(group.substr(0, group.rfind('/')));
  if (reused != reused_.end() && reused->second.spare.size() < spare_max && is_as_new(group))
    reused->second.spare.push_back(group);
  else
    remove_cgroup(group);
}

void Cgroups::take_back(const LimitGroups& groups) {
  for (const auto& [controller, group] : groups) take_back(group);
}

std::vector<std::string> Cgroups::enforces() const {
  std::vector<std::string> names;
  for (const auto& [controller, folder] : controllers_) names.push_back(limited_by(controller));
  std::ranges::sort(names);
  return names;
}

std::string Cgroups::cannot_enforce() const {
  std::map<std::string, std::string> names_of;  // by reason
  for (const auto& [controller, reason] : missing_) {
    if (controller == "devices") continue;
    std::string& names = names_of[reason];
    names += (names.empty() ? "" : ", ") + limited_by(controller);
  }
  std::string text;
  for (const auto& [reason, names] : names_of) text += (text.empty() ? "" : "; ") + names + ": " + reason;
  return text;
}

void Cgroups::remove_folder() const {
  for (const auto& [folder, reused] : reused_) {
    for (const std::string& spare : reused.spare) remove_cgroup(spare);
  }
  if (!folder_.empty()) ::rmdir(folder_.c_str());
  for (const auto& [controller, folder] : controllers_) ::rmdir(folder.c_str());
}

bool is_empty_cgroup(const std::string& group) {
  if (group.empty()) return true;
  const std::string events = read_proc_file(group + "/cgroup.events");  // only v2 has it
  return events.empty() ? !has_processes(group) : events.find("populated 0") != std::string::npos;
}

void kill_cgroup(const std::string& group) {
  if (group.empty() || !exists(group)) return;
  is_v2_cgroup(group) ? void(write_file(group + "/cgroup.kill", "1")) : kill_v1(group);
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
