// Interprets the report of an attempt's end: how it ended, in the model's terms and in words, and whether its job
// should be tried again.
#pragma once

#include <string>

#include "model/event.h"
#include "wire/agent_protocol.h"
#include "wire/job_spec.h"

namespace sl::controller {

inline constexpr int exit_code_again = 75;  // "start me again": docs/guide/jobs.md

// Whether its program has run, also when it is over by now.
bool has_started(const wire::AttemptReport& report);
// Whether its launcher or its server ended it, rather than the program itself.
bool was_interrupted(const wire::AttemptReport& report);
Exit exit_of(const wire::AttemptReport& report);
bool never_ran(FailureKind failure);
bool asks_again(const Exit& exit);  // unless it was over its time limit: an answer to being stopped for good is no wish
// Whether the server ended the attempt, or never let it begin: it does not count against the job.
bool is_server_fault(FailureKind failure);
// Whether the job's retry rule covers this end.
bool matches_retry(const wire::RetrySpec& retry, const Exit& exit);
// One sentence for the job's owner; empty if nothing failed.
std::string describe_failure(const Exit& exit, const wire::AttemptReport& report);
// The same for an attempt after which the job has failed: it has been tried again as often as the rules allow.
std::string describe_final_failure(const Exit& exit, const wire::AttemptReport& report);

}  // namespace sl::controller
