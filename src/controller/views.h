// What REST shows of jobs, servers, GPUs and events. Policies: policy_views.h; why a job waits or runs
// where it does: explain.h.
#pragma once

#include <boost/json.hpp>

#include "controller/answers.h"
#include "controller/job_fields.h"
#include "controller/logic.h"
#include "controller/original_answers.h"

namespace sl::controller {

class Line;  // explain.h

std::string rfc3339(std::int64_t us);  // UTC, milliseconds: 2026-11-20T22:15:03.120Z
// "20:05:12 UTC", with the date if that is another one than that of `beside_us`.
std::string clock_text(std::int64_t us, std::int64_t beside_us);

// `may_see_env`: the reader is the owner or an admin; for others `spec.env` is null, and `snapshot.id` and
// `snapshot.diff` are empty. `line`: null if the reason for which it waits need not tell its place in line.
answers::Job job_view(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env,
                      const Line* line = nullptr);
// With the measurements of its training (telemetry.h), which lists leave out.
answers::JobDetails job_details_view(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env);
// Of job_view these fields, as text.
std::string job_text(const Logic& logic, const JobEntry& entry, Instant now, bool may_see_env, const Line* line,
                     const JobFields& fields = {});
// One that waits, with its place in line; `group` stands for those of its members that wait too. `first`: the one
// of these that is served first, or the job itself.
std::string queued_job_text(const Logic& logic, const JobEntry& entry, JobId first, Instant now, bool may_see_env,
                            const Line& line);
// The same of a job that has ended; any thread may ask.
std::string past_job_text(const JobEntry& entry, bool may_see_env, const JobFields& fields = {});
// visit(server, index) for every server that is part of the cluster.
template <typename Visit>
void for_each_server(const Core& core, Visit visit) {
  for (std::uint32_t s = 0; s < core.servers().size(); ++s) {
    const Server& server = core.servers()[ServerIndex(s)];
    if (server.state != ServerState::removed) visit(server, ServerIndex(s));
  }
}
answers::Server server_view(const Logic& logic, const Server& server, ServerIndex index, Instant now);
const char* condition_of(const Logic& logic, const Server& server, ServerIndex index, int gpu);  // answers::Gpu
answers::Gpu gpu_view(const Logic& logic, const Server& server, ServerIndex index, int gpu);
// The members of an array count, those to come as well, and not the array itself.
std::int64_t count_jobs(const Logic& logic, JobState state);
// Without its servers, url and history.
answers::Cluster cluster_view(const Logic& logic, Instant now);
answers::Event event_view(const store::EventRow& row);
// The rows of the original API.
answers::OriginalJob original_job_view(const JobEntry& entry);

// What stands around the items of a list. `total`: how many there are in all; null when that is not known.
std::string list_opening();
std::string list_ending(const boost::json::value& total, const boost::json::value& next_cursor = nullptr);

// A list as text, item by item: ten thousand jobs never exist as one tree.
class ListText {
 public:
  void add(const boost::json::value& item);
  std::size_t count() const { return count_; }
  std::string end(const boost::json::value& total, const boost::json::value& next_cursor = nullptr) &&;

 private:
  std::string text_ = list_opening();
  std::size_t count_ = 0;
};

}  // namespace sl::controller
