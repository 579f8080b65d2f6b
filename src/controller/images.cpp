#include "controller/images.h"

#include <fmt/format.h>

#include "controller/checkpoints.h"

namespace sl::controller {

void Images::on_progress(const wire::ImageProgress& progress) {
  if (const JobId id(progress.incarnation.job); book_.find(id)) pulls_[id] = progress;
}

void Images::on_report(JobEntry& entry, const Job& job, const wire::AttemptReport& report, Instant now) {
  if (report.state != "starting") pulls_.erase(JobId(entry.row.id));
  if (!report.image || entry.image == *report.image) return;
  entry.image = *report.image;
  if (job.state != JobState::starting) return;  // recorded before this controller was started
  recorder_.write_event({.at_us = now.us,
                         .kind = "job.image",
                         .job_id = entry.row.id,
                         .server = entry.row.server,
                         .text = fmt::format("attempt {} runs {}, {}", report.incarnation.attempt,
                                             spec_of(entry).image.value_or(""), *report.image)});
}

std::string Images::text_of(const JobEntry& entry) const {
  const auto at = pulls_.find(JobId(entry.row.id));
  const store::PlacementRow* placement = latest_placement(entry);
  if (at == pulls_.end() || entry.row.state != "starting" || !placement ||
      incarnation_of(*placement) != at->second.incarnation)
    return "";
  const wire::ImageProgress& pull = at->second;
  if (pull.bytes == 0) return "fetching the image " + pull.image;
  return fmt::format("fetching the image {}: {} so far", pull.image, share_text(pull.bytes_done, pull.bytes));
}

}  // namespace sl::controller
