// `launch = "ranks"`: one copy of a command for every GPU of the job, RANK and LOCAL_RANK 0, 1, … in its environment;
// for a job with roles one copy for every member, which is told its role and sees only its own GPU. On each server run
// the copies that are for its GPUs.
// The first copy that fails ends the others, and its exit code is the job's. A request to stop goes to all of them.
//
// A separate program instead of a few lines of shell: bash sometimes misses a child that ended before `wait -n`, and a
// child that was forked but has not become another program yet may swallow a signal.
#pragma once

#include <string>
#include <vector>

namespace sl::agent {

// One copy. Without a role it sees all GPUs of the job.
struct Member {
  std::string role;  // empty: a plain rank
  int index = 0;     // among the members of its role
  int count = 1;     // of its role
  std::string gpu;   // its GPU, as CUDA_VISIBLE_DEVICES names it; empty: none
  int rank = 0;      // among all copies of the job
  friend bool operator==(const Member&, const Member&) = default;
};

// For the command line of the launcher: "2@4" for two plain ranks of which the first is rank 4, else
// "scheduler@0/0/1,worker@1/0/2:3": role, rank, which of how many of its role, GPU. Nothing if the text is malformed.
std::string to_text(const std::vector<Member>& members);
std::vector<Member> parse_members(const std::string& text);

// The caller leads its own process group. `arguments` ends with null. Returns the exit status: 0, that of the first
// copy that failed, or 128 + the signal that ended it; 2 without members.
int run_ranks(const std::vector<Member>& members, char** arguments);

}  // namespace sl::agent
