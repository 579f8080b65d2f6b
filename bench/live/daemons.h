// Real daemons for a measurement, in a folder of their own that is removed with them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sl::bench {

double now_s();
double wall_now_s();  // since 1970
// Throws if it takes longer than `most_s`. Looks every `pause_s`.
void wait_until(double most_s, const std::function<bool()>& done, double pause_s = 0.01);

// A program in the background; killed with the object.
class Daemon {
 public:
  Daemon(const std::vector<std::string>& command, const std::string& log);
  ~Daemon() { kill(); }
  Daemon(Daemon&& other) noexcept;
  Daemon& operator=(Daemon&& other) noexcept;
  void kill();                  // SIGKILL, and waits
  double resident_mib() const;  // VmRSS
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

class Lab {
 public:
  explicit Lab(std::string program);
  ~Lab();
  void start_controller();
  void start_agent(int gpus, const std::string& name = "bench");  // its data: the folder "agent" or, with a name, that
  void wait_for_agent(std::size_t servers = 1);

  std::string program, folder;
  std::uint16_t port;
  std::vector<Daemon> daemons;  // controller, then agent
};

// Folders of finished labs stay until this call: ext4 is slow at creating files right after many have been removed,
// which would distort the next run.
void remove_old_folders();

// The pid of the launcher of this lab's agent; 0 if there is none.
pid_t launcher_of(const Lab& lab);
double resident_mib(pid_t pid);

}  // namespace sl::bench
