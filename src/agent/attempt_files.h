// What the agent does with the files of attempts: creates them before the start, reads metrics and bounds the output
// while an attempt runs, measures the checkpoint at its end. Keeps nothing that could not be read again.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent_logic.h"
#include "agent/attempt_folders.h"
#include "agent/checkpoint_offers.h"
#include "agent/checkpoint_writer.h"
#include "agent/environment.h"
#include "agent/metrics.h"
#include "agent/output_times.h"

namespace sl::agent {

struct AttemptFilesSettings {
  std::string data_dir;
  std::string controller_url;           // for jobs
  std::int64_t output_limit = 1 << 30;  // bytes kept of an attempt's output if its job states no limit
};

class AttemptFiles {
 public:
  explicit AttemptFiles(AttemptFilesSettings settings);
  const AttemptFolders& folders() const { return folders_; }

  // Makes the attempt's folders. Errors: "setup", and those of AttemptFolders::make.
  Status make_ready(const std::string& key, const wire::StartAttempt& order);
  // The same, and what the launcher shall start there. `parts`: as for make_execution.
  struct Known {
    PublishedPorts ports;
    std::string python_path;  // as in AttemptPlace
  };
  struct Prepared {
    LaunchOrder launch;
    AttemptPlace place;
  };
  Result<Prepared> prepare(const std::string& key, const wire::StartAttempt& order,
                           std::vector<wire::AttemptPart> parts, Known known);
  // Where the attempt's code is to be: makes its folders, so the errors are the same.
  Result<std::string> code_folder(const std::string& key, const wire::StartAttempt& order);
  // The order as it is carried out: with a snapshot, its workdir is in that; of a plain job, no path begins with "~".
  wire::StartAttempt in_its_folder(const std::string& key, wire::StartAttempt order) const;
  // Where the checkpoint that it continues from must be, if that is brought from another server: makes the attempt's
  // folders, so the errors are the same.
  Result<CheckpointPlace> checkpoint_place(const std::string& key, const wire::StartAttempt& order);
  // Its checkpoint has been brought, or will not be.
  void copy_ended(const std::string& key);
  // Copies that were begun more than an hour ago and of which nobody has heard since. `record`: a file to be removed
  // when nothing of the copy is left.
  struct LeftCopy {
    std::string record, folder;
  };
  std::vector<LeftCopy> left_copies() const;
  // Where this attempt, which has run here, has left its checkpoint.
  LeftCheckpoint left_checkpoint(const std::string& key, std::int64_t job_id) const;
  // The attempt is asked to stop: the notice tells the job, and what it writes from now on is its checkpoint.
  void on_signal(const std::string& key, int number);
  // The report of its metrics file that is due; `at_end`: everything that is left.
  std::optional<wire::Progress> progress(const std::string& key, const wire::AttemptReport& attempt, bool at_end);
  // All that its metrics file tells, whatever has been reported of it; nothing: it tells nothing.
  std::optional<wire::Progress> last_progress(const std::string& key, const wire::AttemptReport& attempt);
  // An end for which its set-up is to blame says so.
  LauncherState explain(LauncherState state) const;
  // Notes when its output was written; `at_end`: all that is left of it.
  void note_output(const std::string& key, const wire::AttemptReport& attempt, bool at_end);
  // Keeps its output within its limit.
  void bound(const std::string& key);
  // It has ended, and another attempt of its job runs here or none: takes back its folders if nothing is in them. What it
  // has left in its checkpoint folder is told by the function, on any thread, which may take long; none: there is no such folder.
  struct Checkpoint {
    std::int64_t bytes = 0;
    // That writing it took; none: the attempt was not asked to stop, or wrote nothing after that.
    std::optional<double> seconds;
  };
  using MeasureCheckpoint = std::function<std::optional<Checkpoint>()>;
  MeasureCheckpoint on_end(const std::string& key, std::int64_t job_id, bool runs_another);
  // Forgets attempts that are no longer held.
  void keep_only(const std::map<std::string, HeldAttempt>& held);

 private:
  // What was written down of an attempt at its start: read once if an earlier agent started it.
  struct Notes {
    std::string job_dir;
    std::string checkpoint_folder;  // that it names; empty: the one of the job's folder
    std::optional<wire::ProgressSpec> progress;
    std::int64_t output_limit = 0;  // bytes; 0: the server's
  };
  const Notes& notes_of(const std::string& key);
  std::string python_folder() const { return settings_.data_dir + "/python"; }

  AttemptFilesSettings settings_;
  std::vector<std::string> own_environment_ = own_environment();  // which does not change
  AttemptFolders folders_;
  std::map<std::string, Notes> notes_;
  std::map<std::string, MetricsReader> metrics_;
  std::map<std::string, std::optional<OutputProgress>> output_progress_;  // empty: the job names no pattern
  OutputTimes output_times_;
  std::map<std::string, Instant> stops_;  // when each attempt was first asked to stop
  bool cannot_bound_ = false;             // and this was reported
};

}  // namespace sl::agent
