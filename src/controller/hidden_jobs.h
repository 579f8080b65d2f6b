// Jobs that users of the original API have deleted: its list leaves them out, and so do its tables in the database
// (store/migrations/0015_original_views.sql). Nothing else does. Lives on the core's thread.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "model/ids.h"
#include "store/store.h"

namespace sl::controller {

class HiddenJobs {
 public:
  using Jobs = std::shared_ptr<const std::set<JobId>>;
  // Writes; `done` is called on the core's thread.
  using Commit = std::function<void(store::Batch, std::function<void(const Status&)> done)>;
  HiddenJobs(const std::vector<store::SettingRow>& settings, Commit commit);

  // `done` is called when it is durable. Errors: those of the store.
  void hide(JobId job, std::function<void(const Status&)> done);
  Jobs jobs() const { return jobs_; }

 private:
  Jobs jobs_;
  Commit commit_;
};

}  // namespace sl::controller
