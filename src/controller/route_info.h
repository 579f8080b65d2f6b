// What a route takes and what it answers: the one description from which requests are checked, `GET /api/v1` lists the
// routes and the OpenAPI document (openapi.h) is made.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/identity.h"
#include "net/http.h"
#include "wire/schema.h"

namespace sl::controller {

// A JSON document by the name that it has in the OpenAPI document. No name: there is none.
struct DocumentInfo {
  std::string name;
  std::function<boost::json::object()> schema;
  bool is_list = false;  // of such documents, with a cursor
};
template <typename T>
DocumentInfo answer(std::string name, wire::KeysOf keys = wire::KeysOf::written) {
  return {std::move(name), [keys] { return wire::schema_of<T>(keys); }};
}
template <typename T>
DocumentInfo list_of(std::string name, wire::KeysOf keys = wire::KeysOf::written) {
  return {std::move(name), [keys] { return wire::schema_of<T>(keys); }, true};
}
template <typename T>
DocumentInfo request(std::string name) {
  return answer<T>(std::move(name), wire::KeysOf::read);
}

struct RouteInfo {
  std::string method, path, summary;         // "/api/v1/jobs/{id}"
  std::vector<std::string> parameters = {};  // of the query, by name (query_parameters()); others are refused
  std::vector<std::string> headers = {};     // that it heeds, by name (request_headers())
  DocumentInfo body = {};                    // of the request
  bool body_may_be_empty = false;
  int status = 200;  // of success
  DocumentInfo answer = {};
  DocumentInfo preview = {};                      // of success with dry_run=true, whose status is 200
  std::string content_type = "application/json";  // of the answer
  std::string successor = {};                     // what replaces it; empty: it is not deprecated
  Role needs = Role::admin;                       // of who asks, at least
  bool is_for_its_agent = false;                  // the agent of the server that the path names may too
};

std::vector<std::string> path_parts(std::string_view path);  // between its slashes
// A part of the pattern in braces matches anything; the matched text is captured.
bool path_matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
                  std::vector<std::string>& captured);

enum class ParameterKind { text, number, truth };
struct RequestParameter {
  std::string_view name;
  ParameterKind kind;
  std::string_view help;
};
const RequestParameter* find_query_parameter(std::string_view name);
const RequestParameter* find_request_header(std::string_view name);

// Errors: "unknown-parameter" for a parameter that the route does not take, "bad-parameter" for a value of another kind.
Status check_parameters(const RouteInfo& route, const net::Request& request);

}  // namespace sl::controller
