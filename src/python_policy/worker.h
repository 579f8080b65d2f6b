// A Python process that answers messages, each within a deadline. It has a process group, a memory limit and a socket
// of its own and dies with us. Whatever it does (end, hang, write nonsense) is an answer of kind Fault; after one the
// process is gone. One thread at a time; the process lives no longer than the thread that started it.
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
  int line = 0;  // 0: not known
  std::string function;
};
// Code "policy-KIND"; the message begins with FILE:LINE.
Error to_error(const Fault& fault, const std::string& file);

struct WorkerSettings {
  std::string file;  // the author's file, as it is named in tracebacks
  std::size_t memory_max_bytes = 512 << 20;
  // For text that others sent us: no network, no child processes, and not as root.
  bool sandbox = false;
};

class Worker {
 public:
  // Error "no-python" where there is none.
  static Result<std::unique_ptr<Worker>> start(WorkerSettings settings);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Sends one message and waits for its answer. False: `fault` says why, and the process has ended.
  bool exchange(std::string_view message, Duration deadline, std::string& answer, Fault& fault);

 private:
  Worker(WorkerSettings settings, pid_t pid, int channel, int trace);
  enum class Step { done, again, ended, garbage };
  Step send(std::string_view& rest) const;
  Step receive(std::string& text) const;
  bool wait_for(short events, std::int64_t until_us) const;
  Fault too_slow(Duration deadline);
  Fault ended();
  Fault garbage();
  void locate(Fault& fault, int wait_ms) const;  // by what the interpreter wrote about where it was
  int end();                                     // kills and reaps; the status of wait()
  bool is_closed() const;                        // it has closed its end

  WorkerSettings settings_;
  pid_t pid_;
  int channel_, trace_;
};

}  // namespace sl::python_policy
