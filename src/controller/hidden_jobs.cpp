#include "controller/hidden_jobs.h"

#include <string_view>
#include <utility>

#include "base/whole_number.h"

namespace sl::controller {
namespace {

constexpr std::string_view hidden_job_key = "hidden_job:";

}  // namespace

HiddenJobs::HiddenJobs(const std::vector<store::SettingRow>& settings, Commit commit) : commit_(std::move(commit)) {
  std::set<JobId> jobs;
  for (const store::SettingRow& row : settings) {
    if (!row.key.starts_with(hidden_job_key)) continue;
    if (const auto job = parse_whole_number(row.key.substr(hidden_job_key.size()))) jobs.insert(JobId(*job));
  }
  jobs_ = std::make_shared<const std::set<JobId>>(std::move(jobs));
}

void HiddenJobs::hide(JobId job, std::function<void(const Status&)> done) {
  store::Batch batch;
  batch.settings = {{std::string(hidden_job_key) + std::to_string(job.value), "1"}};
  commit_(std::move(batch), [this, job, done = std::move(done)](const Status& status) {
    if (status.ok()) {
      std::set<JobId> more = *jobs_;  // who lists jobs now keeps those he began with
      more.insert(job);
      jobs_ = std::make_shared<const std::set<JobId>>(std::move(more));
    }
    done(status);
  });
}

}  // namespace sl::controller
