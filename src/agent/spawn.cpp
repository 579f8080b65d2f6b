#include "agent/spawn.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_handle_no_return();
#endif

namespace sl::agent {
namespace {

// The C library cannot start a process in a control group. The call must be in the function that continues in both
// processes: the child would overwrite the return address of a function around it.
#if defined(__x86_64__)
inline long clone3(clone_args& arguments) {
  long result = SYS_clone3;
  asm volatile("syscall" : "+a"(result) : "D"(&arguments), "S"(sizeof arguments) : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline long clone3(clone_args& arguments) {
  register long number asm("x8") = SYS_clone3;
  register long result asm("x0") = reinterpret_cast<long>(&arguments);
  register long size asm("x1") = sizeof arguments;
  asm volatile("svc 0" : "+r"(result) : "r"(number), "r"(size) : "memory");
  return result;
}
#else
inline long clone3(clone_args&) { return -ENOSYS; }
#endif

[[gnu::noinline]] pid_t clone_here(clone_args& arguments, void (*child)(void*), void* context) {
  const long result = clone3(arguments);
  if (result == 0) {
    child(context);
    std::abort();
  }
  if (result > 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

// The child leaves frames on our stack when it becomes another program. AddressSanitizer still has them marked as in use
// and would report whoever uses the place next.
void forget_frames_of_child() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_handle_no_return();
#endif
}

}  // namespace

pid_t spawn(const std::string& cgroup, void (*child)(void*), void* context, bool apart) {
  clone_args arguments{};
  arguments.flags = CLONE_CLEAR_SIGHAND;
  if (!apart) arguments.flags |= CLONE_VM | CLONE_VFORK;
  arguments.exit_signal = SIGCHLD;
  int folder = -1;
  if (!cgroup.empty()) {
    folder = ::open(cgroup.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -1;
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(folder);
  }
  pid_t pid = clone_here(arguments, child, context);
  const int error = errno;
  forget_frames_of_child();
  if (folder >= 0) ::close(folder);
  errno = error;
  if (pid >= 0 || !cgroup.empty()) return pid;
  pid = apart ? ::fork() : ::vfork();  // the kernel or a sandbox does not know clone3
  if (pid == 0) child(context);
  forget_frames_of_child();
  return pid;
}

}  // namespace sl::agent
