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

namespace sl::agent {
namespace {

std::string random_id() {
  std::random_device device;
  char text[33];
  for (int i = 0; i < 4; ++i) std::snprintf(text + 8 * i, 9, "%08x", device());
  return text;
}

// Readers find the old text or the new one, never a part.
void replace_file(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  ::rename((path + ".new").c_str(), path.c_str());
}

}  // namespace

Result<int> lock_data_directory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  const int lock = ::open((path + "/agent.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0)
    return denied("data-directory-not-writable",
                  "cannot write to the data directory " + path + ": " + std::strerror(errno))
        .hint("choose another: --data DIR");
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  ::close(lock);
  return conflict("data-directory-in-use", "another agent uses the data directory " + path)
      .hint("choose another: --data DIR");
}

std::string agent_id(const std::string& data_dir) {
  const std::string path = data_dir + "/agent_id";
  std::string id = read_text(path);
  if (id.empty()) std::ofstream(path) << (id = random_id());
  return id;
}

std::int64_t next_call(const std::string& data_dir, std::int64_t wall_us) {
  const std::string path = data_dir + "/calls";
  std::int64_t last = 0;
  std::ifstream(path) >> last;
  const std::int64_t next = std::max(last + 1, wall_us);
  replace_file(path, std::to_string(next) + "\n");
  return next;
}

KnownCluster read_known_cluster(const std::string& data_dir) {
  KnownCluster cluster;
  std::ifstream file(data_dir + "/cluster");
  if (!(file >> cluster.id >> cluster.last_job)) return {};
  return cluster;
}

void write_known_cluster(const std::string& data_dir, const KnownCluster& cluster) {
  replace_file(data_dir + "/cluster", cluster.id + " " + std::to_string(cluster.last_job) + "\n");
}

}  // namespace sl::agent
