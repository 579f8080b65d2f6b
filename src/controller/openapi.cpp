#include "controller/openapi.h"

#include "wire/request_schemas.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr const char* description =
    "Everything that the command line and the web page do. Times are RFC 3339 in UTC, units are in the names, null is "
    "what is not known. Errors are application/problem+json with a stable code. docs/guide/rest.md says more.";

json::object reference(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

json::object list_schema(const std::string& name) {
  return {{"type", "object"},
          {"required", json::array{"items", "next_cursor", "total"}},
          {"properties", json::object{{"items", json::object{{"type", "array"}, {"items", reference(name)}}},
                                      {"next_cursor", json::object{{"type", json::array{"string", "null"}}}},
                                      {"total", json::object{{"type", json::array{"integer", "null"}}}}}}};
}

json::object content(const std::string& type, json::object schema) {
  return {{type, json::object{{"schema", std::move(schema)}}}};
}

// "/api/v1/jobs/{id}/cancel" is about jobs.
std::string subject_of(std::string_view path) {
  constexpr std::string_view prefix = "/api/v1/";
  if (!path.starts_with(prefix)) return "outside /api/v1";
  path.remove_prefix(prefix.size());
  return std::string(path.substr(0, path.find('/')));
}

// "POST /api/v1/jobs/{id}/cancel" is "post_api_v1_jobs_id_cancel".
std::string id_of(const RouteInfo& route) {
  std::string id;
  for (const char c : route.method + route.path) {
    if (c == '{' || c == '}') continue;
    id += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '/' || c == '.' || c == '-' ? '_' : c;
  }
  return id;
}

json::object parameter_schema(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::number:
      return {{"type", "integer"}, {"minimum", 0}};
    case ParameterKind::truth:
      return {{"type", "boolean"}};
    case ParameterKind::text:
      return {{"type", "string"}};
  }
  return {};
}

json::object parameter(std::string_view name, const char* place, json::object schema, std::string_view help) {
  json::object view{{"name", json::string(name)}, {"in", place}};
  if (std::string_view(place) == "path") view["required"] = true;
  if (!help.empty()) view["description"] = json::string(help);
  view["schema"] = std::move(schema);
  return view;
}

json::array parameters_of(const RouteInfo& route) {
  json::array parameters;
  const std::string& path = route.path;
  for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{', open + 1)) {
    const std::string name = path.substr(open + 1, path.find('}', open) - open - 1);
    const char* help = name == "id" && path.find("/jobs/") != std::string::npos
                           ? "the number of a job, or 12_7: member 7 of group 12"
                           : "";
    parameters.push_back(parameter(name, "path", {{"type", "string"}}, help));
  }
  for (const std::string& name : route.parameters) {
    const RequestParameter* known = find_query_parameter(name);
    parameters.push_back(parameter(name, "query", parameter_schema(known->kind), known->help));
  }
  for (const std::string& name : route.headers)
    parameters.push_back(parameter(name, "header", {{"type", "string"}}, find_request_header(name)->help));
  return parameters;
}

json::object operation(const RouteInfo& route) {
  json::object view{{"operationId", id_of(route)},
                    {"summary", route.summary},
                    {"deprecated", !route.successor.empty()},
                    {"x-schedulearn-role", std::string(name_of(route.needs))},
                    {"tags", json::array{json::value(subject_of(route.path))}}};
  if (json::array parameters = parameters_of(route); !parameters.empty()) view["parameters"] = std::move(parameters);
  if (!route.body.name.empty())
    view["requestBody"] = json::object{{"required", !route.body_may_be_empty},
                                       {"content", content("application/json", reference(route.body.name))}};
  json::object schema = route.answer.name.empty() ? json::object{{"type", "string"}}
                        : route.answer.is_list    ? list_schema(route.answer.name)
                                                  : reference(route.answer.name);
  json::object answers;
  if (!route.preview.name.empty()) {
    json::object preview = reference(route.preview.name);
    if (route.status == 200) preview = wire::detail::any_of({std::move(schema), std::move(preview)});
    answers["200"] = json::object{{"description", "dry_run=true: what would happen"},
                                  {"content", content(route.content_type, std::move(preview))}};
  }
  if (!answers.contains(std::to_string(route.status)))
    answers[std::to_string(route.status)] =
        json::object{{"description", "done"}, {"content", content(route.content_type, std::move(schema))}};
  answers["default"] = json::object{{"description", "what is wrong, and what to do"},
                                    {"content", content("application/problem+json", reference("Problem"))}};
  view["responses"] = std::move(answers);
  return view;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

json::object openapi(const std::vector<const RouteInfo*>& routes, const std::string& version) {
  json::object paths, schemas{{"Problem", wire::problem_schema()}};
  for (const RouteInfo* route : routes) {
    json::value& path = paths[route->path];
    if (!path.is_object()) path = json::object();
    path.get_object()[lower(route->method)] = operation(*route);
    for (const DocumentInfo* document : {&route->body, &route->answer, &route->preview}) {
      if (!document->name.empty() && !schemas.contains(document->name)) schemas[document->name] = document->schema();
    }
  }
  const json::object token{{"type", "http"}, {"scheme", "bearer"}};
  return {{"openapi", "3.1.0"},
          {"info", json::object{{"title", "Schedulearn"}, {"version", version}, {"description", description}}},
          {"servers", json::array{json::object{{"url", "/"}}}},
          {"security", json::array{json::object{}, json::object{{"token", json::array()}}}},
          {"paths", std::move(paths)},
          {"components",
           json::object{{"schemas", std::move(schemas)}, {"securitySchemes", json::object{{"token", token}}}}}};
}

}  // namespace sl::controller
