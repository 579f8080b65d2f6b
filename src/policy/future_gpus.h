// How many GPUs of each server will be free over time (policies.md 1.4): a step function per server, from running jobs
// and from bookings. It counts GPUs instead of naming them: the future GPUs of one server are interchangeable, and so are
// those of a pool. CPU and memory are checked for what begins now, not for later.
#pragma once

#include <boost/container/small_vector.hpp>
#include <optional>
#include <vector>

#include "policy/reservations.h"

namespace sl {

using ServerCounts = boost::container::small_vector<ServerCount, 1>;

struct Booking {
  Instant from;
  Duration length;
  ServerCounts on;
  friend bool operator==(const Booking&, const Booking&) = default;
};

class FutureGpus {
 public:
  FutureGpus(const Snapshot& snapshot, const std::vector<Holding>& holdings);

  using Marked = std::vector<bool>;  // by server; all of a pool at the first

  // The earliest time from now on at which the job finds that many GPUs throughout `length`, where they fit best; all on
  // one server: on a marked one, if `only` is given. Nothing: never before `before`, on servers that are up.
  std::optional<Booking> earliest(const JobRequest& request, int gpus, Duration length,
                                  Instant before = Instant::never(), const Marked* only = nullptr) const;
  bool is_possible(const JobRequest& request, const Booking& booking) const;
  void book(const JobRequest& request, const Booking& booking) { change(request, booking, -1); }
  void unbook(const JobRequest& request, const Booking& booking) { change(request, booking, +1); }
  int free_now() const;

  struct Step {
    Instant from;
    int free;  // until the next step
  };
  using Steps = std::vector<Step>;  // never empty; the first is now
  // What was free when it was decided last.
  struct Room {
    std::vector<Steps> steps;      // by server
    std::uint64_t generation = 0;  // of the free GPUs: of the servers
  };
  Room take_room() && { return {std::move(steps_), snapshot_.free.generation()}; }
  // By server: from when on more GPUs are free than then; never: at no time from now on. A job that needs nothing else of a
  // server can begin there earlier than it could then only if it would still run at that time.
  std::vector<Instant> more_than(const Room& before) const;
  std::size_t servers() const { return steps_.size(); }

 private:
  static void add(Steps& steps, Instant from, Instant to, int gpus);
  static int least(const Steps& steps, Instant from, Instant to);
  static std::optional<Instant> first_with(const Steps& steps, int gpus, Duration length, Instant before);
  std::optional<Booking> earliest_on_one(const JobRequest& request, int gpus, Duration length, Instant before,
                                         const Marked* only) const;
  std::optional<Booking> earliest_on_many(const JobRequest& request, int gpus, Duration length, Instant before) const;
  // Where CPUs and memory suffice for it now, perhaps for fewer of a server's GPUs than are free there.
  std::optional<Booking> now_on_many(const JobRequest& request, int gpus, Duration length) const;
  ServerCounts spread(const JobRequest& request, int gpus, Instant from, Instant to) const;
  bool takes(ServerIndex server, const JobRequest& request) const;
  // How many of its GPUs have too little memory left beside frozen jobs. They count as free: when a frozen job will
  // leave is not known.
  int without_memory(ServerIndex server, const JobRequest& request) const;
  // All servers of a pool count as one, the first of them.
  ServerIndex stands_for(ServerIndex server) const {
    return snapshot_.servers[server].description.in_pool ? first_of_pool_ : server;
  }
  bool has_resources(const JobRequest& request, const ServerCounts& on) const;
  void change(const JobRequest& request, const Booking& booking, int sign);
  const Steps& total() const;

  const Snapshot& snapshot_;
  ServerIndex first_of_pool_;
  std::vector<Steps> steps_;               // by server; all of a pool at the first
  std::vector<int> sizes_;                 // by server: GPUs that take jobs; of a pool, all of them at the first
  mutable Steps total_;                    // the sum of all; empty until total() is needed
  std::vector<ResourceVector> resources_;  // by server, free now
};

// As many of the booked GPUs as are free now; those of a pool wherever they are. A booking in a pool names its first
// server.
Allocation free_gpus_of(const ServerTable& servers, const FreeGpus& free, const JobRequest& request,
                        const Booking& booking);

}  // namespace sl
