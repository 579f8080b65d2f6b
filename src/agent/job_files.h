// What jobs have left on this server's disk (attempt_folders.h): finding, measuring and removing it.
//
// Removing takes two steps. set_aside() renames a folder to ".removed.NAME" where it is, at once and whole, so that
// nobody finds half of it. clear_set_aside() deletes such folders, which may take long; what it has not finished when
// the agent is killed, the next one finds by its name.
//
// Neither follows links, enters other file systems, or touches a folder that is not named after a job.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// The folders of one job: those of its attempts and its own.
struct JobFolders {
  wire::StoredJob job;
  std::vector<std::string> paths;
  std::int64_t changed_us = 0;  // UTC, the latest change of a folder or an output
  std::int64_t bytes = 0;       // on the disk
};

// Folders of jobs that do not run stay as they are, so each is measured only once.
struct MeasuredFolders {
  std::size_t folders = 0;
  std::int64_t bytes = 0;
};
using Measurements = std::map<wire::StoredJob, MeasuredFolders>;

// In the order of the jobs. `held`: jobs with attempts that may still run. Ends early when `stop` becomes true.
std::vector<JobFolders> find_job_files(const std::string& data_dir, const std::set<wire::StoredJob>& held,
                                       Measurements& measured, const std::atomic<bool>& stop);

// Errors: "cannot-remove".
Status set_aside(const std::string& path);

// Everything that is set aside, except `failed`. Adds what cannot be deleted to `failed` and returns why, one error per
// folder ("cannot-remove").
std::vector<Error> clear_set_aside(const std::string& data_dir, std::set<std::string>& failed,
                                   const std::atomic<bool>& stop);

// Deletes one folder with all that is in it. False if something of it stays.
bool remove_folder(const std::string& path, const std::atomic<bool>& stop);

}  // namespace sl::agent
