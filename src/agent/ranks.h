// `launch = "ranks"`: one copy of a command for every GPU of the job, RANK and LOCAL_RANK 0, 1, … in its environment;
// for a job with roles one copy for every member, which is told its role and sees only its own GPU.
// The first copy that fails ends the others, and its exit code is the job's. A request to stop goes to all of them.
//
// A separate program instead of a few lines of shell: bash sometimes misses a child that ended before `wait -n`, and a
// child that was forked but has not become another program yet may swallow a signal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sl::agent {

// One copy. Without a role it sees all GPUs of the job.
struct Member {
  std::string role;  // empty: a plain rank
  int index = 0;     // among the members of its role
  int count = 1;     // of its role
  std::string gpu;   // its GPU, as CUDA_VISIBLE_DEVICES names it; empty: none
  friend bool operator==(const Member&, const Member&) = default;
};

// For the command line of the launcher: "4" for four plain ranks, else "scheduler,worker:0,worker:1".
std::string to_text(const std::vector<Member>& members);
std::vector<Member> parse_members(std::string_view text);

// The caller leads its own process group. `arguments` ends with null. Returns the exit status: 0, that of the first
// copy that failed, or 128 + the signal that ended it.
int run_ranks(const std::vector<Member>& members, char** arguments);

}  // namespace sl::agent
