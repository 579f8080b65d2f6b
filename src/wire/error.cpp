#include "wire/error.h"

#include <algorithm>
#include <boost/describe.hpp>

#include "wire/error_codes.h"
#include "wire/request_schemas.h"
#include "wire/schema.h"
#include "wire/utf8.h"

namespace sl::wire {

int http_status(const Error& error) {
  switch (error.kind) {
    case ErrorKind::invalid:
      return error.code == "malformed-json" || error.code == "malformed-toml" || error.code == "bad-request" ? 400
             : error.code == "media-type"                                                                    ? 415
                                                                                                             : 422;
    case ErrorKind::not_found:
      return error.code == "method-not-allowed" ? 405
             : error.code.ends_with("-removed") ? 410  // it was there, and will not come back
                                                : 404;
    case ErrorKind::denied:
      return error.code == "token-required" ? 401 : 403;
    case ErrorKind::conflict:
      return error.code == "stale-etag" ? 412 : 409;
    case ErrorKind::unavailable:
      return error.code == "too-many-requests" ? 429 : 503;
    case ErrorKind::too_large:
      return 413;
    case ErrorKind::internal:
      return 500;
  }
  return 500;
}

int exit_status(const Error& error) {
  if (error.code == "interrupted") return 130;  // as a shell says of what SIGINT has ended
  switch (error.kind) {
    case ErrorKind::invalid:
    case ErrorKind::too_large:
      return 2;
    case ErrorKind::not_found:
      return 3;
    case ErrorKind::denied:
      return 4;
    case ErrorKind::conflict:
      return 5;
    case ErrorKind::unavailable:
      return 6;
    case ErrorKind::internal:
      return 1;
  }
  return 1;
}

namespace {

struct ProblemHint {
  std::string text;
  boost::json::value patch;  // what to change in the request, or null
};
BOOST_DESCRIBE_STRUCT(ProblemHint, (), (text, patch))

struct ProblemPlace {
  std::string pointer;
  std::string detail;
};
BOOST_DESCRIBE_STRUCT(ProblemPlace, (), (pointer, detail))

struct Problem {  // application/problem+json
  std::string type = "about:blank";
  std::string title;
  int status = 0;
  std::string detail;
  std::string instance;
  std::string code;
  std::optional<std::string> request_id;
  std::vector<std::string> notes;
  std::vector<ProblemHint> hints;
  std::vector<ProblemPlace> errors;
};
BOOST_DESCRIBE_STRUCT(Problem, (), (type, title, status, detail, instance, code, request_id, notes, hints, errors))

}  // namespace

std::vector<std::string> hints_of(const Error& error) {
  const ErrorCode* known = error.hints.empty() ? find_error_code(error.code) : nullptr;
  return known ? std::vector{std::string(known->remedy)} : error.hints;
}

boost::json::object problem_schema() { return schema_of<Problem>(KeysOf::written); }

std::string problem_json(const Error& error, std::string_view instance, const std::string& request_id) {
  Problem problem;
  problem.type = "about:blank#" + error.code;
  problem.title = problem.code = error.code;
  problem.status = http_status(error);
  problem.detail = as_utf8(error.message);  // these may repeat what was asked for, which need not be UTF-8
  problem.instance = as_utf8(instance);
  if (!request_id.empty()) problem.request_id = request_id;
  for (const std::string& note : error.notes) problem.notes.push_back(as_utf8(note));
  for (const std::string& hint : hints_of(error)) problem.hints.push_back({as_utf8(hint), nullptr});
  if (!error.pointer.empty()) problem.errors.push_back({as_utf8(error.pointer), problem.detail});
  return write_json(problem);
}

namespace {

ErrorKind kind_of_status(int status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorKind::denied;
    case 404:
    case 405:
    case 410:
      return ErrorKind::not_found;
    case 409:
    case 412:
      return ErrorKind::conflict;
    case 413:
      return ErrorKind::too_large;
    case 429:
    case 502:  // a proxy between us and the controller
    case 503:
    case 504:
      return ErrorKind::unavailable;
    default:
      return status >= 500 ? ErrorKind::internal : ErrorKind::invalid;
  }
}

}  // namespace

Error error_from_problem(int status, std::string_view body) {
  Error error{kind_of_status(status), "http-" + std::to_string(status),
              "the controller answered with status " + std::to_string(status)};
  const auto problem = read_json<Problem>(body, Unknown::ignore);
  if (!problem.ok()) return error;
  if (!problem->code.empty()) error.code = problem->code;
  if (!problem->detail.empty()) error.message = problem->detail;
  error.notes = problem->notes;
  if (problem->request_id && status >= 500) error.notes.push_back("request " + *problem->request_id);
  for (const ProblemHint& hint : problem->hints) error.hints.push_back(hint.text);
  if (!problem->errors.empty()) error.pointer = problem->errors.front().pointer;
  return error;
}

std::string error_text(const Error& error) {
  std::string text = "error: " + error.message + " [" + error.code + "]\n";
  for (const std::string& note : error.notes) text += "  note: " + note + "\n";
  for (const std::string& hint : hints_of(error)) {
    const bool points_above = !error.notes.empty() && hint.starts_with("see the note");
    if (!points_above) text += "  hint: " + hint + "\n";
  }
  return text;
}

namespace {

ErrorKind kind_of_code(const std::string& code) {
  return code == "disk-full" || code == "cannot-write" ? ErrorKind::unavailable : ErrorKind::invalid;
}

// Whether `line` begins with `mark`, which is taken away then.
bool take(std::string_view& line, std::string_view mark) {
  if (!line.starts_with(mark)) return false;
  line.remove_prefix(mark.size());
  return true;
}

}  // namespace

Error error_from_text(std::string_view text) {
  Error error = unavailable("cannot-run", "the command failed and did not say why");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (take(line, "error: ") && line.ends_with(']') && line.rfind(" [") != std::string_view::npos) {
      const std::size_t code = line.rfind(" [");
      error = Error{ErrorKind::invalid, std::string(line.substr(code + 2, line.size() - code - 3)),
                    std::string(line.substr(0, code))};
      error.kind = kind_of_code(error.code);
    } else if (take(line, "  note: ")) {
      error.notes.emplace_back(line);
    } else if (take(line, "  hint: ")) {
      error.hints.emplace_back(line);
    }
  }
  return error;
}

Error in_file(Error error, const std::string& path) {
  error.notes.push_back("in " + path + (error.pointer.empty() ? "" : " at " + error.pointer));
  return error;
}

}  // namespace sl::wire
