// The code of a job as it is when the job is submitted: packed and sent to the controller before it.
#pragma once

#include <string>

#include "cli/context.h"
#include "wire/job_spec.h"

namespace sl::cli {

// Describes the code in `spec.snapshot`, and sends it, with the diff from its commit, unless the controller has it or
// `only_describe`. Nothing happens if the job asks for no snapshot. Errors: those of archive::code_of_repository and
// archive::pack, "snapshot-too-large", "no-such-folder".
Status add_snapshot(const Context& context, wire::JobSpec& spec, bool only_describe);

// "code 3f9c2e1 + 2 changed files", "code of 14 files"; empty without a snapshot. Of the document `snapshot` of a job.
std::string snapshot_text(const json::value& snapshot);

}  // namespace sl::cli
