#include "wire/error.h"

#include "wire/json.h"

namespace sl::wire {

int http_status(const Error& error) {
  switch (error.kind) {
    case ErrorKind::invalid:
      return error.code == "malformed-json" || error.code == "malformed-toml" || error.code == "bad-request" ? 400
             : error.code == "media-type"                                                                    ? 415
                                                                                                             : 422;
    case ErrorKind::not_found:
      return error.code == "method-not-allowed" ? 405 : 404;
    case ErrorKind::denied:
      return error.code == "token-required" ? 401 : 403;
    case ErrorKind::conflict:
      return 409;
    case ErrorKind::unavailable:
      return 503;
    case ErrorKind::too_large:
      return 413;
    case ErrorKind::internal:
      return 500;
  }
  return 500;
}

int exit_status(const Error& error) {
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

std::string problem_json(const Error& error, std::string_view instance) {
  boost::json::object problem;
  problem["type"] = "about:blank#" + error.code;
  problem["title"] = error.code;
  problem["status"] = http_status(error);
  problem["detail"] = error.message;
  problem["code"] = error.code;
  problem["instance"] = instance;
  problem["notes"] = to_value(error.notes);
  boost::json::array hints;
  for (const std::string& hint : error.hints) hints.push_back(boost::json::object{{"text", hint}, {"patch", nullptr}});
  problem["hints"] = std::move(hints);
  boost::json::array errors;
  if (!error.pointer.empty())
    errors.push_back(boost::json::object{{"pointer", error.pointer}, {"detail", error.message}});
  problem["errors"] = std::move(errors);
  return boost::json::serialize(problem);
}

Error error_from_problem(int status, std::string_view body) {
  const ErrorKind kind = status == 404 || status == 405   ? ErrorKind::not_found
                         : status == 401 || status == 403 ? ErrorKind::denied
                         : status == 409 || status == 412 ? ErrorKind::conflict
                         : status == 413                  ? ErrorKind::too_large
                         : status == 503                  ? ErrorKind::unavailable
                         : status >= 500                  ? ErrorKind::internal
                                                          : ErrorKind::invalid;
  Error error{kind, "http-" + std::to_string(status), "the controller answered with status " + std::to_string(status)};
  const auto parsed = parse_json(body);
  if (!parsed.ok() || !parsed->is_object()) return error;
  const auto& problem = parsed->get_object();
  const auto text = [&](const char* key) {
    return problem.contains(key) && problem.at(key).is_string() ? std::string(problem.at(key).get_string())
                                                                : std::string();
  };
  if (!text("code").empty()) error.code = text("code");
  if (!text("detail").empty()) error.message = text("detail");
  if (const auto* notes = problem.if_contains("notes"); notes && notes->is_array()) {
    for (const auto& note : notes->get_array())
      error.notes.emplace_back(note.is_string() ? note.get_string().c_str() : "");
  }
  if (const auto* hints = problem.if_contains("hints"); hints && hints->is_array()) {
    for (const auto& hint : hints->get_array()) {
      if (hint.is_object() && hint.get_object().contains("text") && hint.get_object().at("text").is_string())
        error.hints.emplace_back(hint.get_object().at("text").get_string().c_str());
    }
  }
  return error;
}

std::string error_text(const Error& error) {
  std::string text = "error: " + error.message + " [" + error.code + "]\n";
  for (const std::string& note : error.notes) text += "  note: " + note + "\n";
  for (const std::string& hint : error.hints) text += "  hint: " + hint + "\n";
  return text;
}

}  // namespace sl::wire
