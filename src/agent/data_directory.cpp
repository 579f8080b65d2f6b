#include "agent/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "agent/files.h"
#include "agent/warnings.h"
#include "agent/whole_file.h"

namespace sl::agent {
namespace {

std::string random_id() {
  std::random_device device;
  char text[33];
  for (int i = 0; i < 4; ++i) std::snprintf(text + 8 * i, 9, "%08x", device());
  return text;
}

Error not_writable(const std::string& path, int error) {
  return denied("data-directory-not-writable",
                "cannot write to the data directory " + path + ": " + std::strerror(error))
      .hint("choose another: --data DIR");
}

}  // namespace

Result<int> lock_data_directory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  const int lock = ::open((path + "/agent.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return not_writable(path, errno);
  const bool is_ours = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  if (is_ours && !agent_id(path).empty()) return lock;
  const int error = errno;
  ::close(lock);
  if (is_ours) return not_writable(path, error);
  return conflict("data-directory-in-use", "another agent uses the data directory " + path)
      .hint("choose another: --data DIR");
}

std::string agent_id(const std::string& data_dir) {
  const std::string path = data_dir + "/agent_id";
  std::string id = read_text(path);
  if (!id.empty()) return id;
  id = random_id();
  return replace_file(path, id, {.synced = true}) ? id : "";
}

std::int64_t process_number() {
  static const std::int64_t number = 1 + (std::int64_t{std::random_device{}()} << 20 ^ std::random_device{}());
  return number;
}

std::int64_t next_call(const std::string& data_dir, std::int64_t wall_us) {
  const std::string path = data_dir + "/calls";
  std::int64_t last = 0;
  std::ifstream(path) >> last;
  const std::int64_t next = std::max(last + 1, wall_us);
  if (!replace_file(path, std::to_string(next) + "\n")) warn_of_unwritten(path);
  return next;
}

KnownCluster read_known_cluster(const std::string& data_dir) {
  KnownCluster cluster;
  std::ifstream file(data_dir + "/cluster");
  if (!(file >> cluster.id >> cluster.last_job)) return {};
  return cluster;
}

void write_known_cluster(const std::string& data_dir, const KnownCluster& cluster) {
  const std::string path = data_dir + "/cluster";
  if (!replace_file(path, cluster.id + " " + std::to_string(cluster.last_job) + "\n")) warn_of_unwritten(path);
}

}  // namespace sl::agent
