// The folders of the server that a container sees, and whose they are.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "container/order.h"

namespace sl::container {

// Who a container runs as.
struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // besides
  std::string home;
};
// Without root's rights it can only be the user of this process, as with plain processes. Errors: "setup" if the user has
// no account here, or is root and that is not allowed.
Result<Account> account_of(const std::string& user, bool allow_root);

struct Bind {
  std::string from, to;
  bool writable = false;
};
// Whether a path can be mounted by every engine: Podman writes all mounts as text, in which a comma in the path of one
// begins another option, such as `source=/`. Error ("setup"): no; it names `key` and the path.
Status check_mountable(const std::string& key, const std::string& path);
// What to mount for the folders that a job names; errors ("setup") say which is not to be had, or that two are to be
// mounted at the same path. A checkpoint folder that lies in one that is mounted at the same place is left out; the same
// folder twice at one path is mounted once, writable if either is.
Result<std::vector<Bind>> resolve(const std::vector<NamedFolder>& folders, const std::vector<std::string>& allowed,
                                  const Account& account);
// Makes what is in ours, and belongs to us, the account's. Nothing outside is touched, wherever links lead.
void give(const std::string& path, const Account& account);

}  // namespace sl::container
