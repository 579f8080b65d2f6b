// One error in three forms: REST's problem+json, the fixed lines of the command line, and the exit status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::wire {

int http_status(const Error& error);
int exit_status(const Error& error);

// What to do: the hints of the error or, if it has none, the remedy of its code (error_codes.h).
std::vector<std::string> hints_of(const Error& error);

// application/problem+json (docs/guide/rest.md).
// `request_id`: of the request that failed; empty: unknown.
std::string problem_json(const Error& error, std::string_view instance = "", const std::string& request_id = "");
// The error in a controller's answer. Text that is not a problem document gets the code "http-STATUS".
Error error_from_problem(int status, std::string_view body);

// "error: … [code]", "  note: …", "  hint: …", one per line.
std::string error_text(const Error& error);

// The last error in what a command has printed in that form; other lines do not matter. Its kind is `invalid`, whatever it
// was, unless a disk is full. Error "cannot-run" if there is none.
Error error_from_text(std::string_view text);

// The error of a document, with a note that says in which file it is and where in it.
Error in_file(Error error, const std::string& path);

}  // namespace sl::wire
