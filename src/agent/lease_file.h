// The file in which a launcher writes until when fenced attempts may run: for its successor, and for its warden, which
// ends them when the launcher stands still.
#pragma once

#include <string>

#include "base/time.h"

namespace sl::agent {

struct WrittenLease {
  std::string boot;  // in which boot it was written, since it is in time since then; empty: there is none
  Instant until;
};

// Also on a disk that is full, if there is a file already. Not synced: after a power cut nothing runs that it is about.
void write_lease(const std::string& data_dir, const WrittenLease& lease);
WrittenLease read_lease(const std::string& data_dir);

}  // namespace sl::agent
