// How many GPUs of each server will be free over time (policies.md 1.4): a step function per server, from running jobs
// and from bookings. It counts GPUs instead of naming them: the future GPUs of one server are interchangeable. CPU and
// memory are checked for what begins now, not for later.
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
};

class FutureGpus {
 public:
  FutureGpus(const Snapshot& snapshot, const std::vector<Holding>& holdings);

  // The earliest time from now on at which the job finds that many GPUs throughout `length`, where they fit best.
  // Nothing: never, on servers that are up.
  std::optional<Booking> earliest(const JobRequest& request, int gpus, Duration length) const;
  bool is_possible(const JobRequest& request, const Booking& booking) const;
  void book(const JobRequest& request, const Booking& booking) { change(request, booking, -1); }
  void unbook(const JobRequest& request, const Booking& booking) { change(request, booking, +1); }
  int free_now() const { return total_.front().free; }

 private:
  struct Step {
    Instant from;
    int free;  // until the next step
  };
  using Steps = std::vector<Step>;  // never empty; the first is now

  static void add(Steps& steps, Instant from, Instant to, int gpus);
  static int least(const Steps& steps, Instant from, Instant to);
  static std::optional<Instant> first_with(const Steps& steps, int gpus, Duration length, Instant before);
  std::optional<Booking> earliest_on_one(const JobRequest& request, int gpus, Duration length) const;
  std::optional<Booking> earliest_on_many(const JobRequest& request, int gpus, Duration length) const;
  ServerCounts spread(const JobRequest& request, int gpus, Instant from, Instant to) const;
  bool takes(ServerIndex server, const JobRequest& request) const;
  bool has_resources(const JobRequest& request, const ServerCounts& on) const;
  void change(const JobRequest& request, const Booking& booking, int sign);

  const Snapshot& snapshot_;
  std::vector<Steps> steps_;  // by server
  Steps total_;
  std::vector<ResourceVector> resources_;  // by server, free now
};

}  // namespace sl
