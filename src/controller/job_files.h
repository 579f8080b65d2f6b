// Answers agents that ask what has become of the jobs whose files they keep, so that they can apply their own retention
// rule and follow the controller's. What an agent is going to remove becomes an event of its job before the agent may
// do so: later, when somebody asks for the output, that event says where it went.
//
// Queries are answered one at a time, so that they never crowd out what users ask of the database. Lives on the core's
// thread.
#pragma once

#include <deque>
#include <functional>

#include "controller/history.h"
#include "controller/logic.h"

namespace sl::controller {

class JobFiles {
 public:
  using Send = std::function<void(SessionId, const wire::JobFilesAnswer&)>;
  JobFiles(Logic& logic, History& history, std::function<Instant()> clock, Send send)
      : logic_(logic), history_(history), clock_(std::move(clock)), send_(std::move(send)) {}

  void on_query(SessionId session, wire::JobFilesQuery query);

  // In the order of `jobs`.
  static Result<std::vector<wire::JobFate>> fates_of(const std::vector<wire::StoredJob>& jobs,
                                                     const std::string& cluster, store::Reader& reader);

 private:
  struct Waiting {
    SessionId session;
    wire::JobFilesQuery query;
  };
  void answer_next();
  void answer(const Waiting& asked, std::vector<wire::JobFate> fates);

  Logic& logic_;
  History& history_;
  std::function<Instant()> clock_;
  Send send_;
  std::deque<Waiting> waiting_;  // the first one is being answered
};

// The event that an agent has removed the files of a job, and what to tell who asks for the job's output then.
inline constexpr const char* files_removed = "job.files_removed";
// Empty if none of these events says so of the server.
std::optional<Error> output_removed(const std::vector<store::EventRow>& events, const std::string& server);

}  // namespace sl::controller
