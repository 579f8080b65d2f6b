// Restores servers and jobs from the database. Servers count as silent until their agents connect.
#pragma once

#include <string>
#include <vector>

#include "controller/agents.h"
#include "controller/recorder.h"
#include "controller/requeues.h"

namespace sl::controller {

class Restart {
 public:
  Restart(Core& core, JobBook& book, const ProfileBook& profiles, Agents& agents, Recorder& recorder, Engine& engine,
          Requeues& requeues)
      : core_(core),
        book_(book),
        profiles_(profiles),
        agents_(agents),
        recorder_(recorder),
        engine_(engine),
        requeues_(requeues) {}

  void restore(const store::Loaded& loaded, Instant now);

 private:
  void note_clock(std::int64_t last_event_us, Instant now);
  void restore_servers(const std::vector<store::ServerRow>& rows, Instant now);
  void restore_unfinished(const store::JobRow& row, std::vector<store::PlacementRow> placements, Instant now);
  void set_aside(JobEntry& entry, const std::string& why, Instant now);
  void note_interrupted_move(JobEntry& entry, Instant now);
  void note_change(JobEntry& entry, const std::string& text, Instant now);

  Core& core_;
  JobBook& book_;
  const ProfileBook& profiles_;
  Agents& agents_;
  Recorder& recorder_;
  Engine& engine_;
  Requeues& requeues_;
};

}  // namespace sl::controller
