// What interruptions of trainings cost, measured as they happen and kept per family of trainings in the store. Policies
// that weigh a restart learn of it through the model of jobs that are submitted later (ProfileBook, job_book.h).
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/job.h"
#include "store/store.h"
#include "wire/costs.h"

namespace sl::controller {

class InterruptionCosts {
 public:
  // Each returns the row to write; nothing if too many families are known already. Times in seconds.
  using Row = std::optional<store::SettingRow>;
  // A job that was in state `from` for that long is in state `to`: what that says about its family.
  Row on_state(const std::string& family, JobState from, JobState to, double seconds);
  Row on_thawed(const std::string& family, double seconds);
  static bool is_stop(JobState from, JobState to);  // at a checkpoint, by our wish
  // It has made its first step since.
  Row on_continued(const std::string& family, double start_s, double repeated_s);
  // Rows that cannot be read are forgotten: they are measured again.
  void restore(const std::vector<store::SettingRow>& settings);
  // Null: nothing was measured.
  const wire::FamilyCosts* find(const std::string& family) const;
  wire::CostsDocument all() const;

 private:
  wire::FamilyCosts* at(const std::string& family);
  using Count = int wire::FamilyCosts::*;
  using Mean = double wire::FamilyCosts::*;
  Row add(const std::string& family, Count count, std::initializer_list<std::pair<Mean, double>> measured);
  std::map<std::string, wire::FamilyCosts> by_family_;
};

}  // namespace sl::controller
