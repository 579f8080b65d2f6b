// What `submit --dry-run` says to people.
#pragma once

#include "cli/context.h"

namespace sl::cli {

// `checked`: the answer of POST /jobs?dry_run=true. Of its specification, what differs from a job that says nothing.
void report_dry_run(const Context& context, const json::value& checked);

}  // namespace sl::cli
