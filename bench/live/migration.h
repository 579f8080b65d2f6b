// A job with a large checkpoint that goes on on another server, and the same bytes over a socket without us.
#pragma once

#include <string>

#include "daemons.h"

namespace sl::bench {

struct Migration {
  double seconds = 0;  // from the end of the attempt that left the checkpoint to the start of the next one
  std::string file;    // the checkpoint, where it was left
};
// The lab has one agent with one GPU; a second one joins.
Migration migrate(Lab& lab, int mib);

// cat FROM | (TCP over loopback) | cat > TO, then fsync. Seconds.
double copy_with_cat(const std::string& from, const std::string& to);

}  // namespace sl::bench
