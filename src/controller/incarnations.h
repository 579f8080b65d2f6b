// Gives each start of a job its incarnation, and records where it ran: one placement per server.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/agents.h"
#include "controller/job_book.h"
#include "model/incarnation.h"

namespace sl::controller {

class Incarnations {
 public:
  explicit Incarnations(const Agents& agents) : agents_(agents) {}

  // The cluster id was created with the database.
  void restore(const std::vector<store::SettingRow>& settings);
  const std::string& cluster() const { return cluster_; }

  // The state of the entry's job has changed; `job` is null if the core has forgotten it since. Updates the placements;
  // returns those to write.
  std::vector<store::PlacementRow> follow(const Core& core, const Job* job, const Record& record,
                                          JobEntry& entry) const;

 private:
  std::vector<store::PlacementRow> begin(const Core& core, const Job& job, Instant now, JobEntry& entry) const;
  store::PlacementRow at(const Core& core, const ServerGpus& part, store::PlacementRow row) const;

  const Agents& agents_;
  std::string cluster_;
};

// Of these GPUs of its server, in their order, joined by commas; empty: the controller does not know them.
std::string uuids_of(const Agent* agent, GpuSet gpus);

// The incarnation's processes have ended, or will end but no longer count. Returns the rows to write.
std::vector<store::PlacementRow> end_incarnation(JobEntry& entry, Instant now);

Incarnation incarnation_of(const store::PlacementRow& placement);
// The first server of the latest incarnation; null if the job was never started.
const store::PlacementRow* latest_placement(const JobEntry& entry);
// All servers of the latest incarnation, by rank.
std::span<const store::PlacementRow> latest_placements(const JobEntry& entry);
// Begins to follow the latest incarnation as a gang if it has several servers: as if nothing were known of its parts but
// those that are lost.
void follow_gang(JobEntry& entry);
// Nothing of the incarnation runs on this server any more. Returns the row to write.
store::PlacementRow end_placement(JobEntry& entry, int rank, Instant now);
// The placement on this server if the latest incarnation runs there and has not ended; else null.
const store::PlacementRow* present_placement(const JobEntry& entry, const std::string& server);
// A server of one attempt; null if there is none.
const store::PlacementRow* placement_of(const JobEntry& entry, int attempt, int rank = 0);
// Where the output of an attempt is. An attempt without a placement was begun by a version that recorded none.
struct Output {
  std::string server;
  Incarnation incarnation;
  std::optional<std::string> path = {};  // as in wire::LogRead: not its output, but a file that was left there
  bool with_times = false;               // also when it was written
};
Output output_of(const JobEntry& entry, int attempt, int rank = 0);
// Whether it is one of the job's incarnations, past or present.
bool knows(const JobEntry& entry, const Incarnation& incarnation);
// Whether this server has a part of it: what others tell of it is not true.
bool has_part_on(const std::string& server, const JobEntry& entry, const Incarnation& incarnation);

}  // namespace sl::controller
