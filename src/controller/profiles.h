// What is known of each family of trainings: its stored profile, and what interruptions of it cost.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "controller/interruption_costs.h"
#include "store/store.h"
#include "wire/profile.h"

namespace sl::controller {

class ProfileBook {
 public:
  struct Entry {
    wire::TrainingProfile profile;
    std::int64_t at_us = 0;  // since when it has been stored
    std::string user = {};   // who stored it; empty: that was not noted
  };
  // Returns an event for each row that cannot be read.
  std::vector<store::EventRow> restore(const std::vector<store::ProfileRow>& rows, Instant now);
  // Replaces the family's profile; returns the row to write.
  store::ProfileRow put(wire::TrainingProfile profile, const std::string& user, std::int64_t at_us);
  store::ProfileRow remove(const std::string& family, std::int64_t at_us);
  const wire::TrainingProfile* find(const std::string& family) const;
  const std::map<std::string, Entry>& all() const { return entries_; }
  InterruptionCosts& costs() { return costs_; }
  const InterruptionCosts& costs() const { return costs_; }

 private:
  std::map<std::string, Entry> entries_;
  InterruptionCosts costs_;
};

}  // namespace sl::controller
