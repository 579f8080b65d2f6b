// A Python process that answers messages, each within a deadline. It has its own process group, memory limit and socket
// and dies with us. Whatever it does wrong (exit, hang, write nonsense) becomes a Fault, after which the process is
// gone. Use it from one thread at a time; the process does not outlive the thread that started it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace sl::python_policy {

// What went wrong in an author's file.
struct Fault {
  std::string kind;  // exception, rules, invalid, too-slow, crashed, garbage
  std::string message;
  int line = 0;  // 0: unknown
  std::string function;
};
// Code "policy-KIND"; the message begins with FILE:LINE.
Error to_error(const Fault& fault, const std::string& file);

struct WorkerSettings {
  std::string file;  // name of the author's file in tracebacks
  std::size_t memory_max_bytes = 512 << 20;
  // For files from other users: no network, no child processes, and not as root.
  bool sandbox = false;
};

class Worker {
 public:
  // Error "no-python" if there is none.
  static Result<std::unique_ptr<Worker>> start(WorkerSettings settings);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Sends one message and waits for its answer. On false, `fault` says why and the process has ended.
  bool exchange(std::string_view message, Duration deadline, std::string& answer, Fault& fault);

 private:
  Worker(WorkerSettings settings, pid_t pid, int channel, int trace);
  enum class Step { done, again, ended, garbage };
  Step send(std::string_view& rest) const;
  Step receive(std::string& text) const;
  bool wait_for(short events, std::int64_t until_us) const;
  Fault too_slow();
  Fault ended();
  Fault garbage();
  void locate(Fault& fault, int wait_ms) const;  // from the interpreter's stack report
  int end();                                     // kills and reaps; returns the status of wait()
  bool is_closed() const;                        // the process has closed its end

  WorkerSettings settings_;
  pid_t pid_;
  int channel_, trace_;
};

}  // namespace sl::python_policy
