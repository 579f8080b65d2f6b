// `launch = "ranks"`: one copy of a command for every GPU of the job, RANK and LOCAL_RANK 0, 1, … in its environment.
// The first that fails ends the others, and its code is the job's. Asked to stop, all may answer.
//
// A program of its own and not a few lines of shell: bash forgets now and then that a child has ended that did so
// before `wait -n`, and a child it has forked but not yet become another program may swallow a signal.
#pragma once

namespace sl::agent {

// The caller leads a process group of its own. `arguments` ends with null. Returns the status to exit with: 0, that of
// the first copy that failed, or 128 + the signal that ended it.
int run_ranks(int count, char** arguments);

}  // namespace sl::agent
