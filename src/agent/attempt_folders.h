// The folders in which jobs find and leave files on this server:
//
//   attempts/KEY/             one run: output, metrics, notice, error; tmp (KEY: model/incarnation.h)
//   jobs/JOB.FIRST.CLUSTER/   kept from run to run: checkpoints, output. FIRST is the number of the job's first
//                             incarnation; that of KEY, or written down in attempts/KEY/first
//
// A job that an older version started has its folders as that named them: attempts/JOB.ATTEMPT, jobs/JOB.
//
// Most jobs leave most of these folders empty, and creating them costs more than anything else the agent does for a
// short job. So folders that are empty after an attempt wait in spare/ for the next one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/incarnation.h"

namespace sl::agent {

class AttemptFolders {
 public:
  // Makes what is common to all attempts. Errors show when an attempt's folders are made.
  explicit AttemptFolders(std::string data_dir);

  std::string of_attempt(const std::string& key) const { return of_attempt(dir_, key); }
  static std::string of_attempt(const std::string& data_dir, const std::string& key) {
    return data_dir + "/attempts/" + key;
  }
  // The folder of the attempt's job, once make() has been called.
  std::string of_job(const std::string& key) const;
  // The number of the first incarnation of the attempt's job.
  std::int64_t first_of(const std::string& key) const;

  // Makes all folders of the attempt, whose job's first incarnation had the number `first`. Those that are there already
  // stay as they are. Returns the job's. Errors: "server_setup" when the disk has no room for them or for what a job
  // writes.
  Result<std::string> make(const std::string& key, std::int64_t first);
  // The attempt has ended, and no other attempt of its job runs on this server. Takes back its folders if they are all
  // unchanged, except the attempt's own, where its output is. `job`: of_job(). Whether they were unchanged: then the job
  // has left nothing in them.
  bool take_back(const std::string& key, const std::string& job);

 private:
  std::string of_job(const Incarnation& first) const;
  Status check_room() const;
  bool make_from_spare(const std::string& attempt, const std::string& job);

  std::string dir_;
  std::vector<std::string> spare_;  // folders of jobs, each with a tmp inside
};

}  // namespace sl::agent
