#include "controller/route_info.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/whole_number.h"
#include "wire/event_subjects.h"

namespace sl::controller {
namespace {

using enum ParameterKind;

constexpr std::string_view about_text =
    "only events about this: job, server, gpu, policy, attempt, clock, database, decision, history, sign_in, user, "
    "token, announcement or profile";
static_assert(std::ranges::all_of(wire::event_subjects,
                                  [](auto subject) { return about_text.find(subject) != about_text.npos; }));

// A name means the same wherever it is taken.
constexpr RequestParameter query_parameters[] = {
    {"about", text, about_text},
    {"after", text, "numbers of jobs, 5,7-9: it starts when they have succeeded, instead of those before"},
    {"at", text, "a moment of the past, 2026-11-23T21:00:00Z"},
    {"attempt", number, "which attempt's output; without it the latest's"},
    {"before", number, "only jobs with a lower number"},
    {"by", text, "server: a line of each, of measurements in at most a hundred steps"},
    {"channel", text, "only what went through channels of this name"},
    {"condition", text, "only GPUs in it: free, allocated, outside, unavailable or quarantined"},
    {"cursor", text, "next_cursor of the previous page of this list"},
    {"deadline", text, "a duration, 2h: after it all that is left is stopped"},
    {"dry_run", truth, "true: check, and say what would happen; nothing changes"},
    {"fields", text, "keys of a job, id,name,spec.gpus: nothing else is shown of each"},
    {"fresh_ms", number, "wait at most this long for a forecast of the present"},
    {"group", number, "only the members of this array that have come up"},
    {"grouped", truth, "true: an array stands for its members, which are left out"},
    {"hours", number, "the last, or of a forecast the next, so many hours, 1 to 24"},
    {"label", text, "only jobs, or servers, with this label: KEY=VALUE, or KEY"},
    {"limit", number, "at most this many items"},
    {"look", truth, "true: what a file is, without its content"},
    {"members", text, "failed: only what has failed, of an array those of its members"},
    {"metric", text, "which figure of the jobs (cdf) or of the results (bars)"},
    {"migrate", truth, "true: its jobs that have a checkpoint folder stop, and start elsewhere"},
    {"name", text, "what the trace is called: letters, digits, dots, hyphens and underscores"},
    {"offset", number, "begin at this byte"},
    {"path", text, "of a file or a folder, from the folder of the job's files"},
    {"progress", truth, "false: leaves out how far jobs have come, which most events are"},
    {"notable", truth,
     "true: only failures, interruptions and what is not about jobs, not that jobs come, run and succeed"},
    {"q", text, "a part of the job's name"},
    {"rank", number, "which of the job's servers, from 0"},
    {"reason", text, "is shown as the server's state_reason"},
    {"result", number, "only this one of the results, from 0"},
    {"server", text, "only of this server"},
    {"since", text,
     "a time: only what happened, or was submitted, from then on; of events also a number: only later ones, 0: all"},
    {"size", number, "bytes of the whole"},
    {"sort", text, "of jobs: -id, newest first, or id, oldest first"},
    {"state", text, "states of jobs: failed,cancelled; of servers one: down"},
    {"tail", number, "only this many lines, the last ones"},
    {"tail_bytes", number, "only this many bytes, the last ones"},
    {"theme", text, "light, dark or auto, which follows the reader's system"},
    {"timestamps", truth, "true: when each line was written"},
    {"until", text, "a time: only what happened, or was submitted, before it"},
    {"uploaded", truth, "true: only what users have uploaded"},
    {"user", text, "only what is this user's"},
    {"width_mm", number, "of the picture, 60 to 400"},
};

constexpr RequestParameter request_headers[] = {
    {"Idempotency-Key", text, "the same key means the same job, for 24 hours"},
    {"If-Match", text, "the ETag of what is to be changed: refused (412 stale-etag) if it has changed since"},
    {"Last-Event-ID", text, "the id of the last event received: the stream continues after it"},
    {"Range", text, "bytes=0-99: only these bytes"},
    {"X-Schedulearn-Code", text, "a code from POST /api/v1/sessions/link: signs a browser in once"},
};

template <std::size_t Count>
const RequestParameter* find(const RequestParameter (&parameters)[Count], std::string_view name) {
  const auto* found = std::ranges::find(parameters, name, &RequestParameter::name);
  return found == std::end(parameters) ? nullptr : found;
}

Error unknown_parameter(const RouteInfo& route, const std::string& name) {
  Error error = invalid("unknown-parameter", "there is no query parameter " + name + " here");
  const std::vector<std::string_view> known(route.parameters.begin(), route.parameters.end());
  if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
  std::string all;
  for (const std::string& parameter : route.parameters) all += (all.empty() ? "" : ", ") + parameter;
  error.notes.push_back(all.empty() ? "this path takes none" : "it takes: " + all);
  return error;
}

}  // namespace

const RequestParameter* find_query_parameter(std::string_view name) { return find(query_parameters, name); }
const RequestParameter* find_request_header(std::string_view name) { return find(request_headers, name); }

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

bool path_matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
                  std::vector<std::string>& captured) {
  if (pattern.size() != path.size()) return false;
  captured.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (pattern[i].starts_with('{')) {
      captured.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return false;
    }
  }
  return true;
}

Status check_parameters(const RouteInfo& route, const net::Request& request) {
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(route.parameters, name) == route.parameters.end()) return unknown_parameter(route, name);
    if (std::ranges::count(request.query, name, &std::pair<std::string, std::string>::first) > 1)
      return invalid("bad-parameter", name + " is given more than once");
    const RequestParameter* known = find_query_parameter(name);
    if (known && known->kind == truth && value != "true" && value != "false")
      return invalid("bad-parameter", name + " is true or false, not " + value).hint(name + "=true");
    if (known && known->kind == number && !parse_whole_number(value))
      return invalid("bad-parameter", name + " is a whole number, not " + value);
  }
  return {};
}

}  // namespace sl::controller
