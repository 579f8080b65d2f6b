// What waitpid() says of an end, as a shell would put it.
#pragma once

#include <sys/wait.h>

namespace sl::agent {

// The exit status, or 128 + the signal that ended it.
inline int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace sl::agent
