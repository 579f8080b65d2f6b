// Looks at the files of jobs, and deletes what was set aside, on a thread of its own: a folder can hold millions of
// files, and a disk may hang.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/job_files.h"
#include "base/time.h"

namespace sl::agent {

struct JobFilesLook {
  std::vector<JobFolders> jobs;
  Duration took;                // to find and measure them
  std::int64_t free_bytes = 0;  // on the disk, for us
};

class JobFilesWatch {
 public:
  // Deletes what an earlier agent has set aside and not finished.
  explicit JobFilesWatch(const std::string& data_dir);
  ~JobFilesWatch();  // does not wait for the thread
  JobFilesWatch(const JobFilesWatch&) = delete;
  JobFilesWatch& operator=(const JobFilesWatch&) = delete;

  // Deletes what was set aside.
  void clear();
  // The same, then looks. `held` as for find_job_files().
  void look(std::set<wire::StoredJob> held);
  // The result of the look, once.
  std::optional<JobFilesLook> take();
  // What could not be deleted since the last call. Each folder is told once.
  std::vector<Error> take_failures();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive us
};

}  // namespace sl::agent
