// Which running jobs would have to stop so that another fits, kept so that asking is cheap: for every shape of waiting
// job and every server, the most urgent job that would have to go (the least urgent go first). The best server is the
// one where that job is the least urgent. Only servers where something changed are computed again.
//
// Ranks of running jobs may fall (become more urgent) without notice, and rise again; anything that may raise one above
// what was reported with set_rank() must be reported.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <vector>

#include "policy/ordered_jobs.h"
#include "policy/rank.h"
#include "policy/snapshot.h"
#include "policy/waiting_lines.h"

namespace sl {

class Victims {
 public:
  struct Context {
    const Snapshot& snapshot;
    const Shapes& shapes;
    const FreeGpus& free;  // after the plan so far
    // A job's current rank, at most the one reported; empty if ranks change only through set_rank().
    std::function<Rank(JobIndex)> rank_now;
    bool ranks_rise = false;  // again after they have fallen
  };
  using Jobs = boost::container::small_vector<JobIndex, 16>;

  void clear();
  void place(JobIndex job, const Allocation& gpus);  // the job is there now, and nowhere else
  void remove(JobIndex job) {
    spare(job);
    place(job, {});
  }
  const Allocation& where(JobIndex job) { return known(job).where; }
  // The job may be stopped and has this rank, which may fall without notice.
  void set_rank(JobIndex job, const RankKey& rank) { change_rank(job, rank); }
  // The job may not be stopped.
  void spare(JobIndex job) {
    if (known_.contains(job) && known_[job].rank) change_rank(job, std::nullopt);
  }
  void touch(ServerIndex server) {
    if (!is_touched_.contains(server)) is_touched_.resize(server.value + 1);
    if (!std::exchange(is_touched_[server], 1)) touched_.push_back(server);
  }
  void touch_all();  // after servers have joined or changed
  // Ranks may have risen, up to what was reported, since any() of best().
  void expect_higher_ranks();
  // At least the rank of every job that may be stopped.
  Rank least_urgent() const { return by_rank_.empty() ? Rank::most_urgent() : by_rank_.begin()->key.key.rank; }

  // Whether any job that may be stopped can be less urgent than this rank.
  bool any_above(const Rank& rank) const { return rank < least_urgent(); }
  // The server on which the most urgent job that would have to stop for `shape`, which needs one server, is the least
  // urgent; ties: lowest index. None if that job is not less urgent than `than`.
  ServerIndex best(const Context& context, std::uint32_t shape, const Rank& than);
  // Jobs to stop on that server, least urgent first, perhaps more than needed: until the shape fits or there are no
  // more.
  Jobs on_server(const Context& context, std::uint32_t shape, ServerIndex server, const Rank& than);
  // Jobs less urgent than `than` to stop on any servers for `shape`, least urgent first: until it fits or there are no
  // more.
  Jobs anywhere(const Context& context, const Shape& shape, const Rank& than) const;

 private:
  struct Candidate {
    Rank rank;
    JobId id;
    JobIndex job;
    int gpus;                                                        // on this server
    friend bool operator<(const Candidate& a, const Candidate& b) {  // least urgent first
      return a.rank != b.rank ? b.rank < a.rank : b.id < a.id;
    }
  };
  struct LeastUrgentFirst {
    RankKey key;
    friend bool operator<(const LeastUrgentFirst& a, const LeastUrgentFirst& b) { return b.key < a.key; }
  };
  using Candidates = boost::container::small_vector<Candidate, 8>;
  struct Plain {
    int gpus;
    std::uint32_t shape;
    friend auto operator<=>(const Plain&, const Plain&) = default;
  };
  struct Offers {        // of one shape
    bool known = false;  // and listed in plain_ or demanding_
    std::vector<Rank> by_server;
    ServerIndex best;  // none: unknown
  };

  void change_rank(JobIndex job, const std::optional<RankKey>& rank);
  static void insert(Candidates& sorted, const Candidate& candidate);
  void touch(const Allocation& gpus) {
    for (const ServerGpus& part : gpus.parts()) touch(part.server);
  }
  void enter(JobIndex job);
  void leave(JobIndex job);
  const Candidates& candidates_on(const Context& context, ServerIndex server, const Rank& than);  // by current ranks
  const Candidates& to_remember(const Context& context, ServerIndex server);
  Rank work_out(const Context& context, const Shape& shape, ServerIndex server, const Candidates& candidates) const;
  void work_out_plain(const Context& context, ServerIndex server, const Candidates& candidates);
  static void set(Offers& offers, ServerIndex server, const Rank& rank);
  void list(const Shapes& shapes, std::uint32_t shape);
  void settle(const Context& context);
  static void find_best(Offers& offers);

  struct Known {  // of a job
    Allocation where;
    std::optional<RankKey> rank;  // its key in by_rank_
  };
  Known& known(JobIndex job) {
    if (!known_.contains(job)) known_.resize(job.value + 1);
    return known_[job];
  }
  Candidates& kept_on(ServerIndex server) {
    if (!kept_.contains(server)) kept_.resize(server.value + 1);
    return kept_[server];
  }
  IndexedVector<ServerIndex, Candidates> kept_;  // jobs with a rank, as last reported
  Candidates now_;                               // of the server being computed, if ranks fall without notice
  IndexedVector<JobIndex, Known> known_;
  OrderedJobs<LeastUrgentFirst> by_rank_;
  std::vector<Offers> offers_;            // by shape
  std::vector<Plain> plain_;              // known shapes that ask for nothing but GPUs, in ascending order of GPUs
  std::vector<std::uint32_t> demanding_;  // the other known shapes
  std::vector<ServerIndex> touched_;
  std::vector<ServerIndex> lowered_;  // servers whose offers were worked out from current ranks
  IndexedVector<ServerIndex, std::uint8_t> is_touched_;
};

}  // namespace sl
