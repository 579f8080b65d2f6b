// JSON Schemas (draft 2020-12, as OpenAPI 3.1 uses it) of structs described with Boost.Describe: what json.h writes of a
// struct, and what it reads. So a schema cannot name a key that the program does not have.
#pragma once

#include "wire/job_spec.h"
#include "wire/json.h"

namespace sl::wire {

// Which keys a document has: all of them, as in what is written; or any, and no others, as in what is read; or any.
enum class KeysOf { written, read, partial };

template <typename T>
boost::json::object schema_of(KeysOf keys);

namespace detail {

boost::json::object type(std::string_view name, std::string_view format = "");
boost::json::object list_of(boost::json::object items);
// Null, or what the schema says.
boost::json::object or_null(boost::json::object schema);
boost::json::object any_of(std::initializer_list<boost::json::object> schemas);
// A number, or a text like "90s" or "4GiB".
boost::json::object quantity();
boost::json::object object_of(boost::json::object properties, KeysOf keys);

}  // namespace detail

// Types of members that are written otherwise than their C++ type says have a to_value() and a schema() of their own.

// A time: RFC 3339, UTC, milliseconds.
struct Time {
  std::int64_t us = 0;  // since 1970
  static boost::json::object schema() { return detail::type("string", "date-time"); }
};
inline boost::json::value to_value(const Time& time) { return boost::json::string(time_text(time.us)); }

// An object with any keys.
struct Object {
  boost::json::object members;
  static boost::json::object schema() { return detail::type("object"); }
};
inline boost::json::value to_value(const Object& object) { return object.members; }

// The document of a T that exists already, perhaps without the keys that have their defaults.
template <typename T>
struct Document {
  boost::json::value value;
  static boost::json::object schema() { return schema_of<T>(KeysOf::partial); }
};
template <typename T>
boost::json::value to_value(const Document<T>& document) {
  return document.value;
}

namespace detail {

template <typename T>
boost::json::object schema_of_struct(KeysOf keys) {
  boost::json::object properties;
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    using Member = std::remove_cvref_t<decltype(std::declval<T&>().*member.pointer)>;
    properties[key_of(member.name)] = schema_of<Member>(keys);
  });
  return object_of(std::move(properties), keys);
}

}  // namespace detail

template <typename T>
boost::json::object schema_of(KeysOf keys) {
  using namespace detail;
  if constexpr (is_optional<T>) {
    return or_null(schema_of<typename T::value_type>(keys));
  } else if constexpr (requires { T::schema(); }) {
    return T::schema();
  } else if constexpr (std::is_same_v<T, bool>) {
    return type("boolean");
  } else if constexpr (std::is_integral_v<T>) {
    return type("integer");
  } else if constexpr (std::is_floating_point_v<T>) {
    return type("number");
  } else if constexpr (std::is_same_v<T, std::string>) {
    return type("string");
  } else if constexpr (std::is_same_v<T, CommandLine>) {
    return any_of({type("string"), list_of(type("string"))});
  } else if constexpr (std::is_same_v<T, boost::json::value>) {
    return {};  // anything
  } else if constexpr (is_vector<T>) {
    return list_of(schema_of<typename T::value_type>(keys));
  } else if constexpr (is_map<T>) {
    return {{"type", "object"}, {"additionalProperties", schema_of<typename T::mapped_type>(keys)}};
  } else {
    return schema_of_struct<T>(keys);
  }
}

}  // namespace sl::wire
