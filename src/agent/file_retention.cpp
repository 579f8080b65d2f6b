#include "agent/file_retention.h"

#include <algorithm>
#include <numeric>

namespace sl::agent {
namespace {

constexpr Duration round_interval = Duration::whole_seconds(60);
constexpr int look_share = 100;                                 // looks take at most a hundredth of the time,
constexpr int round_share = 10;                                 // rounds at most a tenth
constexpr Duration page_interval = Duration::whole_seconds(1);  // for the controller's sake
constexpr Duration patience = Duration::whole_seconds(60);

}  // namespace

void FileRetention::on_session_closed() {
  query_jobs_max_ = 0;
  if (stage_ == Stage::asking) stage_ = Stage::idle;  // the next session begins with a new round
}

void FileRetention::tick(Instant now) {
  if (query_jobs_max_ == 0) return;
  if (stage_ == Stage::idle && now >= next_look_) {
    stage_ = Stage::looking;
    begin_ = now;
    ports_.look();
  }
  if (stage_ != Stage::asking) return;
  if (is_waiting_ && now >= answer_by_) return end_round(now);
  if (!is_waiting_ && now >= ask_at_) ask(now);
}

void FileRetention::on_look(std::vector<JobFolders> found, Duration took, std::int64_t free_bytes, Instant now) {
  if (stage_ != Stage::looking) return;
  stage_ = Stage::asking;
  look_took_ = took;
  free_bytes_ = free_bytes;
  jobs_.clear(), pages_.clear();
  is_decided_ = is_waiting_ = false;
  ask_at_ = now;
  for (JobFolders& folders : found) {
    if (!ports_.is_held(folders.job) && !irremovable_.contains(folders.job)) jobs_.push_back({std::move(folders), {}});
  }
  if (query_jobs_max_ == 0) return void(stage_ = Stage::idle);  // the session has ended during the look
  std::vector<std::size_t> all(jobs_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  add_pages("", all);
  if (pages_.empty()) end_round(now);
}

void FileRetention::add_pages(const std::string& limit, const std::vector<std::size_t>& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i % query_jobs_max_ == 0) pages_.push_back({limit, {}});
    pages_.back().jobs.push_back(jobs[i]);
  }
}

void FileRetention::ask(Instant now) {
  wire::JobFilesQuery query{++request_, pages_.front().limit, {}};
  for (const std::size_t job : pages_.front().jobs) query.jobs.push_back(jobs_[job].folders.job);
  is_waiting_ = true;
  ask_at_ = now + page_interval;
  answer_by_ = now + patience;
  ports_.ask(query);
}

void FileRetention::on_answer(const wire::JobFilesAnswer& answer, Instant now) {
  if (stage_ != Stage::asking || !is_waiting_ || answer.request != request_) return;
  const Page page = std::move(pages_.front());
  if (answer.fates.size() != page.jobs.size()) return end_round(now);
  pages_.pop_front();
  is_waiting_ = false;
  for (std::size_t i = 0; i < page.jobs.size(); ++i) {
    Job& job = jobs_[page.jobs[i]];
    job.fate = answer.fates[i];
    const bool has_ended = job.fate.state == "ended" || job.fate.state == "unknown";
    if (job.fate.state == "removed" || (has_ended && !page.limit.empty())) remove(job);
  }
  if (pages_.empty() && !is_decided_) decide(Instant{answer.now_us});
  if (pages_.empty()) end_round(now);
}

// Oldest first: what is too old, then what is too many, then what is too large, or in the way of others.
void FileRetention::decide(Instant controller_now) {
  is_decided_ = true;
  std::vector<std::size_t> ended;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].fate.state != "ended" && jobs_[i].fate.state != "unknown") continue;
    ended.push_back(i);
    bytes += jobs_[i].folders.bytes;
  }
  std::stable_sort(ended.begin(), ended.end(),
                   [&](std::size_t a, std::size_t b) { return jobs_[a].ended_us() < jobs_[b].ended_us(); });
  const std::int64_t oldest_us = rule_.age_s > 0 ? (controller_now - Duration::seconds(rule_.age_s)).us : 0;
  auto next = ended.begin();
  const auto take_while = [&](const char* limit, const auto& exceeds) {
    std::vector<std::size_t> taken;
    for (; next != ended.end() && exceeds(jobs_[*next]); ++next) {
      bytes -= jobs_[*next].folders.bytes;
      free_bytes_ += jobs_[*next].folders.bytes;
      taken.push_back(*next);
    }
    add_pages(limit, taken);
  };
  take_while("age", [&](const Job& job) { return job.ended_us() < oldest_us; });
  take_while("number", [&](const Job&) { return rule_.jobs > 0 && ended.end() - next > rule_.jobs; });
  take_while("size", [&](const Job&) { return rule_.bytes > 0 && bytes > rule_.bytes; });
  take_while("free", [&](const Job&) { return free_bytes_ < rule_.free_bytes; });
}

// The look was a while ago: the job may have come back meanwhile.
void FileRetention::remove(const Job& job) {
  if (ports_.is_held(job.folders.job)) return;
  if (!ports_.remove(job.folders)) irremovable_.insert(job.folders.job);
}

void FileRetention::end_round(Instant now) {
  stage_ = Stage::idle;
  jobs_.clear(), pages_.clear();
  next_look_ = now + std::max({round_interval, look_took_ * (look_share - 1), (now - begin_) * (round_share - 1)});
}

}  // namespace sl::agent
