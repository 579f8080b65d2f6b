// Applies the retention rule to the files of jobs on this server. No thread, file or clock: folders that were found,
// the controller's answers and time go in; looks, questions and removals come out.
//
// It works in rounds:
//
//   1. a look at the disk finds the folders of all jobs;
//   2. the controller is asked what has become of these jobs, a page at a time; what it has removed itself goes at once;
//   3. of those that have ended, the oldest go that exceed a limit of the rule: the controller is told, and once it has
//      recorded it and still says that they have ended, their folders are removed.
//
// An unfinished job keeps its files even if it does not run here: it may continue from a checkpoint. Ages are measured
// by the controller's clock. A job that the controller does not know counts as ended when its files last changed.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/job_files.h"
#include "base/time.h"
#include "wire/retention.h"

namespace sl::agent {

class FileRetention {
 public:
  struct Ports {
    std::function<void()> look;                           // then on_look()
    std::function<void(const wire::JobFilesQuery&)> ask;  // then on_answer(), or never
    std::function<bool(const wire::StoredJob&)> is_held;  // whether attempts of the job may still run here
    std::function<bool(const JobFolders&)> remove;        // false if it cannot be removed
  };
  FileRetention(const wire::RetentionRule& rule, Ports ports) : rule_(rule), ports_(std::move(ports)) {}

  // The controller answers queries about at most that many jobs; 0: it answers none.
  void on_session_opened(int query_jobs_max) {
    query_jobs_max_ = static_cast<std::size_t>(std::max(0, query_jobs_max));
  }
  void on_session_closed();
  // `took`: how long the look took. `free_bytes`: on the disk.
  void on_look(std::vector<JobFolders> found, Duration took, std::int64_t free_bytes, Instant now);
  void on_answer(const wire::JobFilesAnswer& answer, Instant now);
  void tick(Instant now);  // a few times a second

 private:
  struct Job {
    JobFolders folders;
    wire::JobFate fate;
    std::int64_t ended_us() const { return fate.state == "ended" ? fate.ended_us : folders.changed_us; }
  };
  struct Page {
    std::string limit;  // as in JobFilesQuery
    std::vector<std::size_t> jobs;
  };
  enum class Stage { idle, looking, asking };

  void ask(Instant now);
  void add_pages(const std::string& limit, const std::vector<std::size_t>& jobs);
  void decide(Instant controller_now);
  void remove(const Job& job);
  void end_round(Instant now);

  wire::RetentionRule rule_;
  Ports ports_;
  std::size_t query_jobs_max_ = 0;
  std::set<wire::StoredJob> irremovable_;  // left alone until the agent is started again

  // ---- of the present round ----
  Stage stage_ = Stage::idle;
  Instant next_look_, begin_;
  Duration look_took_;
  std::int64_t free_bytes_ = 0;
  std::vector<Job> jobs_;
  std::deque<Page> pages_;  // still to be asked about, or answered
  bool is_decided_ = false;
  std::int64_t request_ = 0;
  bool is_waiting_ = false;  // for the answer to the first page
  Instant ask_at_, answer_by_;
};

}  // namespace sl::agent
