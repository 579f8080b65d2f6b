// A process next to the launcher that ends the trees of attempts that must not outlive their lease (`fenced`): when the
// launcher has ended, since the kernel ends only their leaders; and when the lease has run out and the launcher has not
// ended them, because it stands still, as on a disk that hangs. Nothing else could.
#pragma once

#include <sys/types.h>

#include <string>

namespace sl::agent {

class Warden {
 public:
  // Starts one, replacing one that has ended. On an error there is none, and the next call tries again.
  void start(const std::string& data_dir);
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int alive_ = -1;  // only this process holds it, so it closes when this process ends
};

// Runs the warden: standard input ends with the launcher. Returns the exit status.
int run_warden(const std::string& data_dir);

}  // namespace sl::agent
