#include "controller/job_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/views.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

std::string reason_of(const std::string& limit) {
  return limit == "age"      ? "the job had ended longer ago than the server keeps files of jobs"
         : limit == "number" ? "more jobs had ended than the server keeps files of"
         : limit == "free"   ? "the server's disk had less free space than it shall have"
                             : "the files of jobs took up more disk space than they may on the server";
}

// Those that have ended get an event each. A job that the database does not know has no history to put it in.
std::vector<store::EventRow> removals(const wire::JobFilesQuery& query, const std::vector<wire::JobFate>& fates,
                                      const std::string& server, Instant now) {
  std::vector<store::EventRow> events;
  for (std::size_t i = 0; i < fates.size(); ++i) {
    const wire::StoredJob& stored = query.jobs[i];
    const bool is_known = fates[i].state == "ended";
    if (!is_known && fates[i].state != "unknown") continue;
    store::EventRow& event = events.emplace_back();
    event.at_us = now.us;
    event.kind = files_removed;
    if (is_known) event.job_id = stored.job;
    event.server = event.actor_name = server;
    event.actor_type = "agent";
    event.text = is_known ? reason_of(query.limit)
                          : fmt::format("files of a job {} that this database does not know: {}", stored.job,
                                        reason_of(query.limit));
    event.data_json = wire::write_json(stored);
  }
  return events;
}

}  // namespace

// An agent has one query under way; what it asked in an earlier session, it asks again.
void JobFiles::on_query(SessionId session, wire::JobFilesQuery query) {
  if (query.jobs.empty() || query.jobs.size() > query_jobs_max) return;
  waiting_.push_back({session, std::move(query)});
  if (waiting_.size() == 1) answer_next();
}

void JobFiles::answer_next() {
  while (!waiting_.empty() && !logic_.agents().by_session(waiting_.front().session)) waiting_.pop_front();
  if (waiting_.empty()) return;
  history_.ask<std::vector<wire::JobFate>>(
      [jobs = waiting_.front().query.jobs, cluster = logic_.incarnations().cluster()](store::Reader& reader) {
        return fates_of(jobs, cluster, reader);
      },
      [this](Result<std::vector<wire::JobFate>> fates) {
        const Waiting asked = std::move(waiting_.front());
        waiting_.pop_front();
        if (fates.ok()) answer(asked, std::move(*fates));  // if not, the agent asks again
        answer_next();
      });
}

Result<std::vector<wire::JobFate>> JobFiles::fates_of(const std::vector<wire::StoredJob>& jobs,
                                                      const std::string& cluster, store::Reader& reader) {
  std::vector<std::int64_t> ids;
  for (const wire::StoredJob& stored : jobs) ids.push_back(stored.job);
  const auto ends = reader.ends(ids);
  if (!ends.ok()) return ends.error();
  std::vector<wire::JobFate> fates;
  for (const wire::StoredJob& stored : jobs) {
    wire::JobFate& fate = fates.emplace_back("unknown");
    if (!stored.cluster.empty() && stored.cluster != cluster) continue;
    if (const auto end = ends->find(stored.job); end != ends->end()) {
      fate = {end->second ? "ended" : "unfinished", end->second.value_or(0)};
      continue;
    }
    const auto removed = reader.removed(stored.job);
    if (!removed.ok()) return removed.error();
    if (*removed) fate.state = "removed";
  }
  return fates;
}

// What the core has just accepted is newer than what was read.
void JobFiles::answer(const Waiting& asked, std::vector<wire::JobFate> fates) {
  const wire::JobFilesQuery& query = asked.query;
  for (std::size_t i = 0; i < fates.size(); ++i) {
    if (logic_.core().find(JobId(query.jobs[i].job)).valid()) fates[i] = {"unfinished"};
  }
  const Instant now = clock_();
  const wire::JobFilesAnswer answer{query.request, now.us, fates};
  if (query.limit.empty()) return send_(asked.session, answer);
  const Agent* agent = logic_.agents().by_session(asked.session);
  if (!agent) return;
  logic_.note(removals(query, fates, agent->hello.server, now), now,
              [this, session = asked.session, answer](const Status& status) {
                if (status.ok()) send_(session, answer);
              });
}

std::optional<Error> output_removed(const std::vector<store::EventRow>& events, const std::string& server) {
  const auto event = std::find_if(events.rbegin(), events.rend(), [&](const store::EventRow& one) {
    return one.kind == files_removed && one.server == server;
  });
  if (event == events.rend()) return std::nullopt;
  return not_found("output-removed",
                   fmt::format("the output of job {} was removed from {} on {}", event->job_id.value_or(0), server,
                               rfc3339(event->at_us).substr(0, 10)))
      .note(event->text);
}

}  // namespace sl::controller
