// POST /api/v1/jobs/batch: several submissions, of which all are accepted or none. They share a commit.
#include <fmt/format.h>

#include "controller/api.h"
#include "controller/requests.h"
#include "controller/views.h"
#include "wire/job_file.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

constexpr std::size_t jobs_max = 1'000;

// The error of one of the jobs, with its place in the batch.
Error in_batch(Error error, std::size_t at) {
  error.pointer = fmt::format("/jobs/{}{}", at, error.pointer);
  error.notes.push_back(fmt::format("it is number {} of the batch, counted from 0; none was submitted", at));
  return error;
}

// Answers once the last of them is durable.
struct Batch {
  std::vector<Result<JobId>> jobs;
  std::size_t open = 0;
};

}  // namespace

Result<std::vector<Submission>> Api::read_batch(const Call& call) const {
  const auto body = wire::read_json<JobBatch>(call.request.body);
  if (!body.ok()) return body.error();
  if (body->jobs.empty() || body->jobs.size() > jobs_max)
    return invalid("bad-batch", fmt::format("a batch has 1 to {} jobs, not {}", jobs_max, body->jobs.size()))
        .hint("many jobs that differ in a number are an array: schedulearn submit --array 0-9999 …")
        .at("/jobs");
  const auto key = idempotency_key_of(call);
  if (!key.ok()) return key.error();
  const std::string whole = hash_of(call.request.body);
  std::vector<Submission> submissions;
  for (const boost::json::value& job : body->jobs) {
    const std::size_t at = submissions.size();
    if (!job.is_object()) return in_batch(invalid("wrong-type", "a job is an object"), at);
    auto spec = wire::job_from_json(job.get_object(), "");
    if (!spec.ok()) return in_batch(spec.error(), at);
    if (spec->user.empty()) spec->user = call.user();
    if (const Status may = may_act_for(call.identity, spec->user); !may.ok()) return in_batch(may.error(), at);
    if (const Status has = has_all(*spec); !has.ok()) return in_batch(has.error(), at);
    submissions.push_back({std::move(*spec), key->empty() ? "" : fmt::format("{}\n{}", *key, at), whole});
  }
  return submissions;
}

void Api::create_jobs(Call call) {
  if (const Status json = expect_json(call, "a batch"); !json.ok()) return call.fail(json.error());
  auto submissions = read_batch(call);
  if (!submissions.ok()) return call.fail(submissions.error());
  wire::JobSpec named;  // whatever any of them waits for
  for (const Submission& each : *submissions) {
    named.after.insert(named.after.end(), each.spec.after.begin(), each.spec.after.end());
    named.after_any.insert(named.after_any.end(), each.spec.after_any.begin(), each.spec.after_any.end());
  }
  with_past_states(named, {},
                   [this, call, submissions = std::move(*submissions)](const Result<PastStates>& past) mutable {
                     if (!past.ok()) return call.fail(past.error());
                     for (Submission& each : submissions) each.past = *past;
                     submit_all(call, std::move(submissions));
                   });
}

void Api::submit_all(const Call& call, std::vector<Submission> submissions) {
  for (std::size_t at = 0; at < submissions.size(); ++at) {
    if (const Status may = logic_.check(submissions[at], at); !may.ok()) return call.fail(in_batch(may.error(), at));
  }
  const auto batch = std::make_shared<Batch>();
  batch->open = submissions.size();
  batch->jobs.assign(submissions.size(), JobId::none());
  for (std::size_t at = 0; at < submissions.size(); ++at) {
    logic_.submit(std::move(submissions[at]), clock_(), [this, call, batch, at](const Result<JobId>& job) {
      batch->jobs[at] = job;
      if (--batch->open == 0) answer_batch(call, batch->jobs);
    });
  }
}

void Api::answer_batch(const Call& call, const std::vector<Result<JobId>>& jobs) {
  ListText items;
  for (const Result<JobId>& job : jobs) {
    if (!job.ok()) return call.fail(job.error());
    const JobEntry* entry = logic_.book().find(*job);
    items.add(entry ? wire::to_value(job_view(logic_, *entry, clock_(), true)) : boost::json::value(nullptr));
  }
  const std::size_t total = items.count();
  call.reply->send({201, "application/json", {}, std::move(items).end(total)});
}

}  // namespace sl::controller
