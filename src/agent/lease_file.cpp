#include "agent/lease_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "agent/whole_file.h"

namespace sl::agent {
namespace {

std::string path_in(const std::string& data_dir) { return data_dir + "/lease"; }

// Of one length for all leases of a boot: a shorter one leaves nothing behind of that which it is written over.
std::string text_of(const WrittenLease& lease) {
  const std::string until = std::to_string(lease.until.us);
  constexpr std::size_t digits = 19;
  return lease.boot + "\n" + std::string(digits - std::min(digits, until.size()), '0') + until + "\n";
}

}  // namespace

void write_lease(const std::string& data_dir, const WrittenLease& lease) {
  const std::string text = text_of(lease);
  if (replace_file(path_in(data_dir), text, {.mode = 0600})) return;
  const int fd = ::open(path_in(data_dir).c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  (void)!::pwrite(fd, text.data(), text.size(), 0);
  ::close(fd);
}

WrittenLease read_lease(const std::string& data_dir) {
  std::ifstream file(path_in(data_dir));
  WrittenLease lease;
  return file >> lease.boot >> lease.until.us ? lease : WrittenLease();
}

}  // namespace sl::agent
