#include "controller/images.h"

#include <fmt/format.h>

#include "controller/checkpoints.h"
#include "controller/incarnations.h"

namespace sl::controller {

void Images::on_progress(const std::string& server, const wire::ImageProgress& progress) {
  constexpr std::size_t text_most = 1'000;
  const JobId id(progress.incarnation.job);
  const JobEntry* entry = book_.find(id);
  if (!entry || !has_part_on(server, *entry, progress.incarnation)) return;
  wire::ImageProgress& pull = pulls_[id] = progress;
  for (std::string* text : {&pull.image, &pull.trouble}) *text = text->substr(0, text_most);
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
  const std::string what =
      pull.trouble.empty() ? "fetching the image " + pull.image : "trying again to fetch the image " + pull.image;
  const std::string why = pull.trouble.empty() ? "" : "; the last try: " + pull.trouble;
  if (pull.bytes == 0) return what + why;
  return fmt::format("{}: {} so far{}", what, share_text(pull.bytes_done, pull.bytes), why);
}

}  // namespace sl::controller
