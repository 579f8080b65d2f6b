// What an attempt and its job have left on this server, read for their user. Paths begin with what they are of:
//
//   output, checkpoints, code   the job's own folders
//   attempt                     the attempt's: the command that started it, its output, metrics.jsonl, error, tmp
//
// A path leads to nothing outside of these; links are listed and never followed, and only files and folders are opened.
#pragma once

#include "agent/attempt_folders.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// The answer to a request with a path. Errors of the chunk: "unknown-attempt", "no-such-file", "unreadable".
wire::LogChunk read_left_file(const AttemptFolders& folders, const wire::LogRead& request);

}  // namespace sl::agent
