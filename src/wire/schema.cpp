#include "wire/schema.h"

namespace sl::wire::detail {

namespace json = boost::json;

json::object type(std::string_view name, std::string_view format) {
  json::object schema{{"type", json::string(name)}};
  if (!format.empty()) schema["format"] = json::string(format);
  return schema;
}

json::object list_of(json::object items) { return {{"type", "array"}, {"items", std::move(items)}}; }

json::object or_null(json::object schema) {
  if (schema.empty()) return schema;  // anything
  json::value* type = schema.if_contains("type");
  if (!type || !type->is_string()) return any_of({std::move(schema), {{"type", "null"}}});
  *type = json::array{*type, "null"};
  return schema;
}

json::object any_of(std::initializer_list<json::object> schemas) {
  json::array choices;
  for (const json::object& schema : schemas) choices.push_back(schema);
  return {{"anyOf", std::move(choices)}};
}

json::object quantity() { return {{"type", json::array{"number", "string", "null"}}}; }

json::object object_of(json::object properties, KeysOf keys) {
  json::object schema{{"type", "object"}};
  if (keys == KeysOf::written) {
    json::array required;
    for (const auto& [key, value] : properties) required.push_back(json::string(key));
    if (!required.empty()) schema["required"] = std::move(required);
  }
  if (keys == KeysOf::read) schema["additionalProperties"] = false;
  schema["properties"] = std::move(properties);
  return schema;
}

}  // namespace sl::wire::detail
