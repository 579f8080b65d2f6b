// Control groups of the kernel, one per attempt: no process leaves one by detaching, and all in it end at once. Made
// below the group of this process, if permitted: v2, else v1's freezer. A group is identified by its path. What limits an
// attempt (limits.h) is that same group as far as v2 has the controllers, else one more group per controller of v1.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/limits.h"
#include "base/result.h"

namespace sl::agent {

enum class CgroupVersion { none, v1, v2 };

// Where the kernel tells which hierarchies are mounted and which groups this process is in.
struct CgroupSources {
  std::string mounts = "/proc/self/mountinfo", groups = "/proc/self/cgroup";
};

class Cgroups {
 public:
  // Makes a folder for the groups of this process, unique in this boot, and removes the folders of processes that have
  // ended and left only empty groups. Tries v2, then v1, unless `only` names one of them or none.
  static Cgroups make_folder(const std::string& only = "", const CgroupSources& sources = {});
  CgroupVersion version() const { return version_; }
  const std::string& folder() const { return folder_; }
  // The path of a new group; empty if none can be made.
  std::string make(const std::string& key);
  // The groups that limit an attempt, with its limits set; `group` is what make() gave. A limit whose controller cannot
  // be had here is left out. Error "server_setup": the kernel refuses one; then no group is left.
  Result<LimitGroups> make_limited(const std::string& key, const std::string& group, const Limits& limits);
  // What make() and make_limited() gave, once the attempt has ended.
  void take_back(const std::string& group);
  void take_back(const LimitGroups& groups);
  // What can be limited, as users read it: "cpu_set", "cpus", "devices", "memory", "processes".
  std::vector<std::string> enforces() const;
  // Why the rest cannot; empty: all can. Not of devices, which jobs do not ask for.
  std::string cannot_enforce() const;
  // Removes the folders, once all groups in them are removed.
  void remove_folder() const;

 private:
  void find_controllers(const CgroupSources& sources, bool may_v2, bool may_v1);
  std::string make_in(const std::string& folder, const std::string& key);  // empty (errno): it cannot be made

  CgroupVersion version_ = CgroupVersion::none;
  std::string folder_;
  std::map<std::string, std::string> controllers_;  // by controller: its folder; of v2: folder_
  std::map<std::string, std::string> missing_;      // why it cannot be had
  // To make and to remove a group takes as long as to start a program. One that only holds, freezes or counts processes
  // remembers nothing of them, so once it is empty it serves the next attempt; its name is a number.
  struct Reused {
    std::vector<std::string> spare;
    int made = 0;
  };
  std::map<std::string, Reused> reused_;  // by folder
};

bool is_v2_cgroup(const std::string& group);

// A group that does not exist (any more) counts as empty.
bool is_empty_cgroup(const std::string& group);
// Ends all processes in it and below. v1 cannot do so at once: they are frozen, signalled and released.
void kill_cgroup(const std::string& group);
// Stops all processes in it, or lets them go on. False: there is no such group.
bool freeze_cgroup(const std::string& group, bool frozen);
bool is_frozen_cgroup(const std::string& group);
// Call once it is empty. What cannot be removed stays for the next make_folder().
void remove_cgroup(const std::string& group);
// Moves the calling process into it. spawn.h has a faster way for v2.
bool join_cgroup(const std::string& group);

}  // namespace sl::agent
