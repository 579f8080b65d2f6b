// What the Python side knows about jobs and servers, and the message that updates it: only what changed since the last
// message.
#pragma once

#include <boost/json.hpp>
#include <vector>

#include "policy/snapshot.h"

namespace sl::python_policy {

class Mirror {
 public:
  // The other side knows nothing: the next message contains everything.
  void forget();
  bool knows_nothing() const { return knows_nothing_; }
  void touch(JobIndex job);
  // The message of docs/formats/python-policy.md, "step".
  boost::json::object update(const Snapshot& snapshot);
  // Whether the other side knows the job.
  bool knows(JobIndex job) const { return entries_.contains(job) && entries_[job].told; }

 private:
  struct Entry {
    bool told = false;
    bool touched = false;
    JobState state = JobState::pending;  // as last sent
    int gpus = 0;
  };
  struct Told {
    ServerState state = ServerState::joining;
    int gpus = -1;
    int free = -1;
    friend bool operator==(const Told&, const Told&) = default;
  };
  void touch_changed(const Snapshot& snapshot);
  boost::json::array changed_servers(const Snapshot& snapshot);

  bool knows_nothing_ = true;
  IndexedVector<JobIndex, Entry> entries_;
  std::vector<JobIndex> touched_;
  std::vector<Told> servers_;
};

}  // namespace sl::python_policy
