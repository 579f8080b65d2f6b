// Reads the keys of a job document, one after the other, each by what it means; or, without a document, notes which keys
// there are and what they hold. So the schema of what users send comes from the code that reads it.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "wire/schema.h"

namespace sl::wire {

// Keys that one may expect of a job, and whose purpose is served in another way: refused with that way, unless they ask
// for nothing.
bool is_done_elsewhere(const std::string& pointer);
Status refuse_elsewhere(const std::string& pointer, const boost::json::value& value);

// Moves the value at `key` out of an object and converts it; what is left over at the end are unknown keys. The first
// error stays.
class Keys {
 public:
  Keys(boost::json::object object, std::string at) : object_(std::move(object)), at_(std::move(at)) {}
  // Notes the schema of each key in `properties`.
  explicit Keys(boost::json::object& properties) : properties_(&properties) {}

  template <typename T>
  Keys& take(const char* key, T& into) {
    const auto read = [&](const boost::json::value& v, const std::string& at) {
      return detail::read(v, into, Unknown::reject, at);
    };
    return properties_ ? note(key, schema_of<T>(KeysOf::read)) : with(key, read);
  }
  // A quantity: a number, or text that `parse` understands.
  template <typename T, typename Parse>
  Keys& take(const char* key, T& into, Parse parse) {
    if (properties_) return note(key, detail::quantity());
    return with(key,
                [&](const boost::json::value& v, const std::string& at) { return read_quantity(v, into, parse, at); });
  }
  // Whatever `use` makes of the value; `schema` says what that can be.
  template <typename Use>
  Keys& with(std::string_view key, Use use, boost::json::object schema = {}) {
    if (properties_) return note(key, std::move(schema));
    known_.push_back(key);
    const auto found = object_.find(key);
    if (found == object_.end()) return *this;
    const boost::json::value value = std::move(found->value());
    object_.erase(found);
    if (status_.ok()) status_ = use(value, at_ + "/" + std::string(key));
    return *this;
  }
  // The object at `key`, with its own keys.
  template <typename Fill>
  Keys& section(const char* key, Fill fill) {
    if (properties_) {
      boost::json::object properties;
      Keys keys(properties);
      fill(keys);
      return note(key, detail::or_null(detail::object_of(std::move(properties), KeysOf::read)));
    }
    return with(key, [&](const boost::json::value& v, const std::string& at) -> Status {
      if (v.is_null()) return {};
      if (!v.is_object()) return detail::wrong_type(at, "a table");
      Keys keys(v.get_object(), at);
      fill(keys);
      return keys.finish();
    });
  }
  Status finish() {
    if (!status_.ok()) return status_;
    for (const auto& [key, value] : object_) {
      const std::string at = detail::pointer_to(at_, key);
      if (!is_done_elsewhere(at)) return detail::unknown_key(at_, key, known_);
      if (Status refused = refuse_elsewhere(at, value); !refused.ok()) return refused;
    }
    return {};
  }

 private:
  Keys& note(std::string_view key, boost::json::object schema) {
    (*properties_)[key] = std::move(schema);
    return *this;
  }
  template <typename T, typename Parse>
  static Status read_quantity(const boost::json::value& v, T& into, Parse parse, const std::string& at) {
    using Number = std::decay_t<decltype(*parse(""))>;
    if (v.is_null()) return {};
    if (v.is_number()) {
      const auto number = v.to_number<double>();
      if (!(std::abs(number) < 9e18)) return detail::wrong_type(at, "a number in the allowed range");
      into = static_cast<Number>(number);
      return {};
    }
    if (!v.is_string()) return detail::wrong_type(at, "a number or a text like \"90s\" or \"4GiB\"");
    auto parsed = parse(std::string_view(v.get_string()));
    if (!parsed.ok()) return Error(parsed.error()).at(at);
    into = *parsed;
    return {};
  }

  boost::json::object* properties_ = nullptr;
  boost::json::object object_;
  std::string at_;
  std::vector<std::string_view> known_;
  Status status_;
};

}  // namespace sl::wire
