// The images of jobs that run in containers: how far the one that a starting job waits for has come, and which one each
// attempt got.
#pragma once

#include <map>
#include <string>

#include "controller/recorder.h"

namespace sl::controller {

class Images {
 public:
  Images(JobBook& book, Recorder& recorder) : book_(book), recorder_(recorder) {}

  void on_progress(const std::string& server, const wire::ImageProgress& progress);
  // Of the job's present attempt. Records which image it runs when that is first known.
  void on_report(JobEntry& entry, const Job& job, const wire::AttemptReport& report, Instant now);

  // "image_pull", in words: "fetching busybox:1, 1.2 of 4.0 GiB so far". Empty: the job waits for no image.
  std::string text_of(const JobEntry& entry) const;

 private:
  JobBook& book_;
  Recorder& recorder_;
  std::map<JobId, wire::ImageProgress> pulls_;  // of jobs that have not started since
};

}  // namespace sl::controller
