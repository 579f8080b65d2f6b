// One error, three forms: problem+json of REST, the fixed lines of the command line, and its exit status.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::wire {

int http_status(const Error& error);
int exit_status(const Error& error);

// application/problem+json (docs/guide/rest.md).
std::string problem_json(const Error& error, std::string_view instance = "");
// What a controller answered, as the error it was. Text that is no problem document: code "http-STATUS".
Error error_from_problem(int status, std::string_view body);

// "error: … [code]", "  note: …", "  hint: …", each line ended.
std::string error_text(const Error& error);

}  // namespace sl::wire
