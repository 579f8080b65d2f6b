// Control groups of the kernel, one per attempt: no process leaves one by detaching, and all in it end at once. Made
// below the group of this process, if permitted: v2, else v1's freezer. A group is identified by its path.
#pragma once

#include <string>

namespace sl::agent {

enum class CgroupVersion { none, v1, v2 };

class Cgroups {
 public:
  // Makes a folder for the groups of this process, unique in this boot, and removes the folders of processes that have
  // ended and left only empty groups. Tries v2, then v1, unless `only` names one of them or none.
  static Cgroups make_folder(const std::string& only = "");
  CgroupVersion version() const { return version_; }
  const std::string& folder() const { return folder_; }
  // The path of a new group; empty if none can be made.
  std::string make(const std::string& key) const;
  // Removes the folder, once all groups in it are removed.
  void remove_folder() const;

 private:
  CgroupVersion version_ = CgroupVersion::none;
  std::string folder_;
};

// A group that does not exist (any more) counts as empty.
bool is_empty_cgroup(const std::string& group);
// Ends all processes in it and below. v1 cannot do so at once: they are frozen, signalled and released.
void kill_cgroup(const std::string& group);
// Stops all processes in it, or lets them go on. False: there is no such group.
bool freeze_cgroup(const std::string& group, bool frozen);
bool is_frozen_cgroup(const std::string& group);
// Call once it is empty.
void remove_cgroup(const std::string& group);
// Moves the calling process into it. spawn.h has a faster way for v2.
bool join_cgroup(const std::string& group);

}  // namespace sl::agent
