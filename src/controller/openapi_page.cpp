// The OpenAPI document as a page: one section per subject, one fold per operation, its keys as a table.
#include <algorithm>
#include <map>

#include "controller/openapi.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : text) {
    c == '&'   ? html += "&amp;"
    : c == '<' ? html += "&lt;"
    : c == '>' ? html += "&gt;"
    : c == '"' ? html += "&quot;"
               : html += c;
  }
  return html;
}

std::string text_of(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

// "integer or null"; "list of string"; the name of a schema.
std::string type_text(const json::object& schema) {
  if (const std::string name = text_of(schema, "$ref"); !name.empty()) return name.substr(name.rfind('/') + 1);
  const auto joined = [](const json::array& parts, const auto& text) {
    std::string all;
    for (const json::value& part : parts) all += (all.empty() ? "" : " or ") + text(part);
    return all;
  };
  if (const json::value* choices = schema.if_contains("anyOf"))
    return joined(choices->get_array(), [](const json::value& one) { return type_text(one.get_object()); });
  const json::value* type = schema.if_contains("type");
  if (!type) return "anything";
  const auto name_of = [&](const json::value& one) {
    const std::string name(one.get_string());
    if (name != "array") return text_of(schema, "format") == "date-time" && name == "string" ? "time" : name;
    return "list of " + type_text(schema.at("items").get_object());
  };
  return type->is_array() ? joined(type->get_array(), name_of) : name_of(*type);
}

// The object whose keys are worth listing: the schema itself, or the one in a list or a choice.
const json::object* with_keys(const json::object& schema) {
  if (schema.contains("properties")) return &schema;
  if (const json::value* items = schema.if_contains("items")) return with_keys(items->get_object());
  if (const json::value* choices = schema.if_contains("anyOf")) {
    for (const json::value& one : choices->get_array()) {
      if (const json::object* found = with_keys(one.get_object())) return found;
    }
  }
  return nullptr;
}

void add_keys(const json::object& schema, const std::string& above, std::string& html) {
  for (const auto& [key, value] : schema.at("properties").get_object()) {
    const json::object& property = value.get_object();
    const std::string name = above + std::string(key);
    html += "<tr><td><code>" + html_text(name) + "</code></td><td>" + html_text(type_text(property)) + "</td></tr>\n";
    if (const json::object* inner = with_keys(property)) add_keys(*inner, name + ".", html);
  }
}

std::string reference_text(const json::object& schema) {
  const std::string name = type_text(schema);
  return schema.contains("$ref") ? "<a href=\"#" + html_text(name) + "\">" + html_text(name) + "</a>" : html_text(name);
}

// What a list of these, or one, links to.
std::string document_text(const json::object& content) {
  std::string html;
  for (const auto& [type, value] : content) {
    const json::object& schema = value.at("schema").get_object();
    const json::object* properties = schema.contains("properties") ? &schema.at("properties").get_object() : nullptr;
    const bool is_list = properties && properties->contains("items");
    html += "<code>" + html_text(type) + "</code> " +
            (is_list ? "list of " + reference_text(properties->at("items").at("items").get_object())
                     : reference_text(schema));
  }
  return html;
}

std::string operation_text(std::string_view method, std::string_view path, const json::object& operation) {
  std::string verb(method);
  std::ranges::transform(verb, verb.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::string html = "<details id=\"" + html_text(text_of(operation, "operationId")) + "\"><summary><b>" + verb +
                     "</b> <code>" + html_text(path) + "</code> " + html_text(text_of(operation, "summary")) +
                     "</summary>\n";
  if (const json::value* parameters = operation.if_contains("parameters")) {
    html += "<table><tr><th>parameter</th><th>in</th><th>type</th><th>meaning</th></tr>\n";
    for (const json::value& each : parameters->get_array()) {
      const json::object& parameter = each.get_object();
      html += "<tr><td><code>" + html_text(text_of(parameter, "name")) + "</code></td><td>" + text_of(parameter, "in") +
              "</td><td>" + type_text(parameter.at("schema").get_object()) + "</td><td>" +
              html_text(text_of(parameter, "description")) + "</td></tr>\n";
    }
    html += "</table>\n";
  }
  if (const json::value* body = operation.if_contains("requestBody"))
    html += "<p>Body: " + document_text(body->at("content").get_object()) + "</p>\n";
  html += "<ul>";
  for (const auto& [status, answer] : operation.at("responses").get_object())
    html += "<li>" + html_text(status == "default" ? "otherwise" : std::string_view(status)) + ": " +
            document_text(answer.at("content").get_object()) + "</li>";
  return html + "</ul></details>\n";
}

}  // namespace

std::string docs_page(const json::object& openapi) {
  std::map<std::string, std::string> subjects;
  for (const auto& [path, verbs] : openapi.at("paths").get_object()) {
    for (const auto& [method, operation] : verbs.get_object()) {
      const std::string subject(operation.at("tags").get_array().front().get_string());
      subjects[subject] += operation_text(method, path, operation.get_object());
    }
  }
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Schedulearn: REST</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" "
      "href=\"docs/style.css\"></head>\n"
      "<body><main><h1>Schedulearn: REST</h1>\n<p>" +
      html_text(text_of(openapi.at("info").get_object(), "description")) +
      "</p>\n<p>For programs: <a href=\"v1/openapi.json\">openapi.json</a> (OpenAPI 3.1)</p>\n";
  for (const auto& [subject, operations] : subjects) html += "<h2>" + html_text(subject) + "</h2>\n" + operations;
  html += "<h2>Documents</h2>\n";
  for (const auto& [name, schema] : openapi.at("components").at("schemas").get_object()) {
    html += "<details id=\"" + html_text(name) + "\"><summary><code>" + html_text(name) + "</code></summary>\n";
    if (const json::object* keys = with_keys(schema.get_object())) {
      html += "<table><tr><th>key</th><th>type</th></tr>\n";
      add_keys(*keys, "", html);
      html += "</table>\n";
    } else {
      html += "<p>" + html_text(type_text(schema.get_object())) + "</p>\n";
    }
    html += "</details>\n";
  }
  return html + "</main></body></html>\n";
}

std::string_view docs_style() {
  return R"(:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h2 { margin-top: 2rem; text-transform: capitalize; }
details { border-top: 1px solid #8888; padding: .4rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; }
code { font-family: ui-monospace, monospace; }
)";
}

}  // namespace sl::controller
