// What every command needs: where the controller is, how to print, and the two ways to fail.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"

namespace sl::cli {

namespace json = boost::json;

struct Context {
  std::string url = "http://127.0.0.1:5000";
  std::string token;
  std::string user;
  double timeout_s = 30;
  bool as_json = false;
  std::vector<std::string> json_fields;  // --json=id,state
  bool plain = false;
  bool quiet = false;
  bool color = false;  // stdout is a terminal and nobody asked otherwise
  bool unicode = true;
  bool interactive = false;  // stdin and stderr are terminals
  bool assume_yes = false;

  Result<json::value> get(const std::string& path) const { return call("GET", path, ""); }
  Result<json::value> call(const std::string& method, const std::string& path, const std::string& body,
                           const net::Headers& extra = {}) const;
  net::ClientRequest request(const std::string& method, const std::string& path, const std::string& body) const;

  // The document itself, or the fields that were asked for.
  void print_json(const json::value& value) const;
};

// Prints in the fixed form to stderr; returns the exit status.
int fail(const Error& error);

// The ids a selector means: 5, 1-5, 1,3, last, all (of unfinished jobs) or a name (its newest job).
Result<std::vector<std::int64_t>> select_jobs(const Context& context, const std::vector<std::string>& selectors);

// Looks things up in documents without checking twice.
std::string text_at(const json::value& object, std::string_view key, const std::string& other = "");
double number_at(const json::value& object, std::string_view key, double other = 0);
const json::value& value_at(const json::value& object, std::string_view key);  // null when missing

}  // namespace sl::cli
