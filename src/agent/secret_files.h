// The secrets of attempts on this server: files in memory (tmpfs), which only the job may read, from its start to its
// end. They are never on a disk, and a reboot leaves nothing of them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::agent {

class SecretFiles {
 public:
  // `agent_id` tells the agents of one machine apart.
  explicit SecretFiles(const std::string& agent_id);

  struct Given {
    std::string folder;                    // a file per secret
    std::vector<std::string> environment;  // NAME=value
  };
  // `wanted`: as in JobSpec::secrets. `values`: base64, by name. Errors: "setup", if one is missing; "server_setup", if
  // this server has no place in memory for them.
  Result<Given> give(const std::string& key, const std::vector<std::string>& wanted,
                     const std::map<std::string, std::string>& values) const;
  void remove(const std::string& key) const;
  void keep_only(const std::function<bool(const std::string& key)>& runs) const;

 private:
  Status prepare() const;
  std::string folder_of(const std::string& key) const { return folder_ + "/" + key; }

  std::string folder_;
};

}  // namespace sl::agent
