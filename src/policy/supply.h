// The GPUs that a policy divides among jobs by number, before they get a place. Not every job may use every server, so
// numbers are kept for sets of servers: jobs that need one type of GPU cannot have those of another, however many are
// left in all.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <vector>

#include "policy/rank.h"
#include "policy/snapshot.h"
#include "policy/waiting_lines.h"

namespace sl {

// Servers are of one kind if the same jobs may use them. A set of kinds, one bit each; 0: servers that no job may use.
using KindSet = std::uint64_t;

// One job's part of a division.
struct Share {
  JobIndex job;
  RankKey key;
  int least = 1;
  int most = 1;
  KindSet may_use = 1;
  int servers = 0;  // that it may use; 0: all
  int has = 0;      // 0: it waits
  int gpus = 0;     // its part: 0, or least to most
  bool started = false;

  int step() const { return gpus == 0 ? least : 1; }  // how many more it takes at once
};

// The kinds of the servers there are, by the shapes of jobs that have been seen. More than 64 kinds, or 1,000 ways to
// choose servers, are not told apart: then each job counts as if it might use any.
class ServerKinds {
 public:
  // To be called before anything else is asked.
  void update(const Snapshot& snapshot, const Shapes& shapes);
  void clear() { *this = {}; }
  // Those that jobs of the shape may use.
  KindSet of_shape(std::uint32_t shape) const { return are_alike_ ? 1 : chosen_[choice_of_[shape]].kinds; }
  // How many servers these are; 0: all.
  int servers_of_shape(std::uint32_t shape) const { return are_alike_ ? 0 : chosen_[choice_of_[shape]].servers; }
  KindSet of(ServerIndex server) const { return are_alike_ ? 1 : by_server_[server]; }
  int count() const { return are_alike_ ? 1 : count_; }
  // Whether each job may use each server, or what differs is not told apart.
  bool are_alike() const { return are_alike_; }
  // The sets of servers that some job may use.
  std::vector<KindSet> sets() const;

 private:
  struct Choice {
    std::uint32_t shape;  // the first that chooses so
    KindSet kinds = 0;
    int servers = 0;
  };
  bool list_choices(const Shapes& shapes);
  bool sort_servers(const Snapshot& snapshot, const Shapes& shapes);

  std::uint64_t generation_ = ~std::uint64_t{0};  // of the free GPUs
  std::vector<Choice> chosen_;
  std::vector<std::uint32_t> choice_of_;           // by shape
  IndexedVector<ServerIndex, KindSet> by_server_;  // of one kind each
  int count_ = 1;
  bool are_alike_ = true;
};

// How many GPUs each job can still get. For any set of kinds, what was given to jobs that may use no others is at most
// what there is of them: exactly then there are GPUs for all (Hall's theorem). With more than six kinds only single
// kinds, all of them, and the sets that some job may use or might have used are looked at: then more may seem to be left
// than can be had.
class Supply {
 public:
  explicit Supply(int gpus) : bounds_{{1, gpus}} {}  // all of one kind
  // None yet, of so many kinds; `sets`: those that some job may use.
  Supply(int kinds, std::vector<KindSet> sets);
  // The free GPUs.
  static Supply of_free(const Snapshot& snapshot, const ServerKinds& kinds);

  void add(KindSet kind, int gpus);
  int left(KindSet kinds) const;
  int total() const { return bounds_.back().left; }
  bool is_of_one_kind() const { return bounds_.size() == 1; }

  // How many more GPUs the job can get than it has been given.
  int left_for(const Share& share) const { return left(share.may_use); }
  // So many more; less if negative.
  void give(Share& share, int gpus);
  // Whether there was one more for it.
  bool give_one(Share& share);

 private:
  void take(KindSet kinds, int gpus);

  struct Bound {
    KindSet kinds;
    int left;
  };
  boost::container::small_vector<Bound, 7> bounds_;  // the last one is of all kinds
};

}  // namespace sl
