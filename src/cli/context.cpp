#include "cli/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>

#include "base/suggest.h"
#include "base/whole_number.h"
#include "cli/render.h"
#include "wire/error.h"
#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/secrets.h"

namespace sl::cli {

net::ClientRequest Context::request(const std::string& method, const std::string& path, const std::string& body) const {
  net::ClientRequest request;
  request.method = method;
  request.url = url + path;
  request.body = body;
  request.socket = socket;
  request.timeout = Duration::seconds(timeout_s);
  request.is_given_up = is_given_up;
  if (!user.empty()) request.headers.emplace_back("X-Schedulearn-User", user);
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
  return request;
}

namespace {

// Says what is asked and answered, for --verbose and --debug. Secrets are in headers, and in what is sent to or received
// from these paths.
class ToldRequest {
 public:
  ToldRequest(const Context& context, const net::ClientRequest& request) : verbosity_(context.verbosity) {
    if (verbosity_ == 0) return;
    for (const char* secret : {"/secrets", "/tokens", "/sessions", "/channels"})
      is_secret_ = is_secret_ || request.url.find(secret) != std::string::npos;
    std::fprintf(stderr, "> %s %s%s\n", request.method.c_str(), request.url.c_str(),
                 context.past             ? "  (no controller: the data folder is read)"
                 : request.socket.empty() ? ""
                                          : ("  (" + request.socket + ")").c_str());
    tell_body("> ", request.body);
  }
  void tell(const Result<net::ClientResponse>& response) const {
    if (verbosity_ == 0) return;
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
    if (!response.ok()) return void(std::fprintf(stderr, "< %s, %.1f ms\n", response.error().message.c_str(), ms));
    std::string id;
    for (const auto& [name, value] : response->headers) {
      if (name == "X-Request-Id") id = ", request " + value;
    }
    std::fprintf(stderr, "< %d, %.1f ms%s\n", response->status, ms, id.c_str());
    tell_body("< ", response->body);
  }

 private:
  void tell_body(const char* mark, const std::string& body) const {
    constexpr std::size_t shown = 4'096;
    if (verbosity_ < 2 || body.empty()) return;
    if (is_secret_) return void(std::fprintf(stderr, "%s(%zu bytes that may hold a secret)\n", mark, body.size()));
    std::fprintf(stderr, "%s%.*s%s\n", mark, static_cast<int>(std::min(shown, body.size())), body.c_str(),
                 body.size() > shown ? " …" : "");
  }
  int verbosity_;
  bool is_secret_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// For people: what a terminal would obey is shown as text, and sentences in which the controller names times name those of the
// user's clock (web/src/lib/format.ts knows the same ones).
void make_readable(json::value& document) {
  if (json::array* list = document.if_array()) {
    for (json::value& item : *list) make_readable(item);
    return;
  }
  const auto is_plain = [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t'; };
  if (json::string* text = document.if_string(); text && !std::ranges::all_of(*text, is_plain))
    *text = visible(std::string_view(*text));
  json::object* object = document.if_object();
  if (!object) return;
  const auto is_there = [&](const char* key) { return object->contains(key); };
  const bool is_told = is_there("code") || is_there("fits") || is_there("verdict") || is_there("kind");
  for (auto& [key, value] : *object) {
    const bool is_sentence =
        key == "summary" || key == "state_reason" || key == "followed" || (key == "text" && is_told);
    if (is_sentence && value.is_string())
      value = with_own_times(std::string(value.get_string()));
    else
      make_readable(value);
  }
}

struct Named {
  std::string_view collection, code, thing, list;
};
constexpr std::array<Named, 7> named_things{{
    {"/api/v1/servers/", "server-not-found", "server", "schedulearn servers ls"},
    {"/api/v1/secrets/", "no-such-secret", "secret", "schedulearn secret ls"},
    {"/api/v1/users/", "user-not-found", "user", "schedulearn user ls"},
    {"/api/v1/notifications/channels/", "no-such-channel", "channel", "schedulearn notify ls"},
    {"/api/v1/profiles/", "profile-not-found", "profile", "schedulearn profile ls"},
    {"/api/v1/traces/", "trace-not-found", "trace", "schedulearn trace ls --uploaded"},
    {"/api/v1/policies/", "unknown-policy", "policy", "schedulearn policy ls"},
}};

// Nothing has an empty name, or one with a slash, which in an address would lead to something else.
Status check_name(const std::string& method, std::string_view path) {
  path = path.substr(0, path.find('?'));
  const auto* of =
      std::ranges::find_if(named_things, [&](const Named& each) { return path.starts_with(each.collection); });
  if (of == named_things.end()) return {};
  const std::string_view rest = path.substr(of->collection.size());
  const std::string name = net::percent_decode(rest.substr(0, rest.find('/')), false);
  if (!name.empty() && name.find('/') == std::string::npos) return {};
  if (method == "PUT")
    return invalid("bad-name", fmt::format("a {}'s name is not empty and has no /", of->thing))
        .hint("choose another name");
  return not_found(std::string(of->code),
                   fmt::format("there is no {} {}", of->thing, name.empty() ? "without a name" : name))
      .hint(std::string(of->list));
}

}  // namespace

Result<json::value> Context::call(const std::string& method, const std::string& path, const std::string& body,
                                  const net::Headers& extra) const {
  if (const Status good = check_name(method, path); !good.ok()) return good.error();
  net::ClientRequest message = request(method, path, body);
  message.headers.insert(message.headers.end(), extra.begin(), extra.end());
  const ToldRequest told(*this, message);
  const auto response = past ? past(message, nullptr) : net::fetch(message);
  told.tell(response);
  if (!response.ok()) {
    Error error = response.error();
    if (error.code == "controller-unreachable" && !recorded.empty())
      error.hints.push_back("what the last one recorded: schedulearn ls --data " + recorded);
    return error;
  }
  if (response->status >= 400) return wire::error_from_problem(response->status, response->body);
  Result<json::value> document = wire::parse_json(response->body);
  if (document.ok() && !is_for_programs()) make_readable(*document);
  return document;
}

Result<json::value> Context::create_job(const std::string& path, const std::string& body) const {
  std::random_device device;
  const std::string key = fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
  return call("POST", path, body, {{"Idempotency-Key", key}});
}

Result<net::ClientResponse> Context::stream(const net::ClientRequest& request,
                                            const std::function<bool(std::string_view)>& on_data) const {
  const ToldRequest told(*this, request);
  auto response = past ? past(request, on_data) : net::fetch_stream(request, on_data);
  told.tell(response);
  return response;
}

void Context::use_token(std::string secret) {
  token = std::move(secret);
  if (token.starts_with(wire::named_token_prefix)) user.clear();
}

std::string Context::next_command(const std::string& name, std::int64_t job) const {
  return "schedulearn " + name + (data.empty() ? "" : " --data " + data) + " " + std::to_string(job);
}

namespace {

// Below these, keys are not known in advance: one that is missing is null.
bool is_open(std::string_view key) {
  return key == "labels" || key == "env" || key == "parameters" || key == "training";
}

// "spec.gpus.max". Nothing if there is no such field.
std::optional<json::value> field_of(const json::value& document, std::string_view field) {
  const std::string_view key = field.substr(0, field.find('.'));
  const json::object* object = document.if_object();
  const json::value* value = object ? object->if_contains(key) : nullptr;
  if (document.is_null()) return json::value();
  if (!value) return std::nullopt;
  if (key.size() == field.size()) return *value;
  const std::string_view rest = field.substr(key.size() + 1);
  const auto found = field_of(*value, rest);
  return found || !is_open(key) ? found : json::value();
}

Error no_such_field(const json::value& document, const std::string& field) {
  std::vector<std::string_view> known;
  for (const auto& [key, value] : document.get_object()) known.emplace_back(key);
  Error error = invalid("unknown-field", "there is no field " + field + " in what this prints");
  if (const auto near = did_you_mean(field, known)) error.hints.push_back("did you mean " + *near + "?");
  error.hints.emplace_back("--json=? lists the fields");
  return error;
}

}  // namespace

void Context::print_for_programs(const json::value& value) const {
  plain ? void(std::fputs(records_text(value).c_str(), stdout)) : print_json(value);
}

void Context::print_json(const json::value& value) const {
  const json::object* object = value.if_object();
  if (json_fields.empty() || !object) {
    std::printf("%s\n", wire::json_text(value).c_str());
    return;
  }
  const json::value* items = object->if_contains("items");
  const bool are_of_list = std::ranges::all_of(json_fields, [&](const auto& field) { return object->contains(field); });
  const json::array rows = items && items->is_array() && !are_of_list ? items->get_array() : json::array({value});
  for (const json::value& row : rows) {
    if (!row.is_object()) continue;
    if (json_fields.front() == "?") {
      for (const auto& [key, of] : row.get_object()) std::printf("%s\n", std::string(key).c_str());
      return;
    }
    json::object projected;
    for (const std::string& field : json_fields) {
      const auto found = field_of(row, field);
      if (!found) {
        if (!std::exchange(*json_failed, true)) fail(no_such_field(row, field));
        return;
      }
      projected[field] = *found;
    }
    std::printf("%s\n", wire::json_text(projected).c_str());
  }
}

int fail(const Error& error) {
  std::fputs(for_terminal(visible(wire::error_text(error))).c_str(), stderr);
  return wire::exit_status(error);
}

Result<bool> confirm(const Context& context, const std::string& what, bool is_needed) {
  if (!is_needed || context.assume_yes) return true;
  if (!context.interactive) return invalid("confirmation-needed", "this would " + what).hint("add --yes");
  std::fprintf(stderr, "Really %s? [y/N] ", what.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

Status confirm_by_name(const Context& context, const std::string& what, const std::string& name,
                       const std::string& said) {
  std::string typed = said;
  if (typed.empty() && context.interactive) {
    std::fprintf(stderr, "This would %s. Type %s to confirm: ", what.c_str(), name.c_str());
    std::getline(std::cin, typed);
  }
  if (typed == name) return {};
  return invalid("confirmation-needed", "this would " + what).hint("--confirm " + name);
}

namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  const auto number = parse_whole_number(text);
  return number && *number >= 0 ? number : std::nullopt;
}

Result<std::vector<std::int64_t>> jobs_of(const Context& context, const std::string& query) {
  Result<json::value> list = context.get("/api/v1/jobs?" + query);
  if (!list.ok()) return list.error();
  std::vector<std::int64_t> ids;
  for (const json::value& job : value_at(*list, "items").as_array())
    ids.push_back(static_cast<std::int64_t>(number_at(job, "id")));
  return ids;
}

// Jobs of exactly this name, the newest first, up to `most` of them.
Result<std::vector<std::int64_t>> named(const Context& context, const std::string& name, const std::string& query,
                                        std::size_t most) {
  std::vector<std::int64_t> ids;
  const std::string list = "/api/v1/jobs?limit=200&q=" + net::percent_encode(name) + query;
  for (std::string path = list; !path.empty();) {
    const auto page = context.get(path);
    if (!page.ok()) return page.error();
    for (const json::value& job : value_at(*page, "items").as_array()) {
      if (text_at(job, "name") == name) ids.push_back(static_cast<std::int64_t>(number_at(job, "id")));
      if (ids.size() == most) return ids;
    }
    const std::string cursor = text_at(*page, "next_cursor");
    path = cursor.empty() ? "" : list + "&cursor=" + net::percent_encode(cursor);
  }
  return ids;
}

Error ambiguous(const std::string& name, const std::vector<std::int64_t>& ids) {
  constexpr std::size_t named_most = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(ids.size(), named_most); ++i)
    list += (i == 0 ? "" : ", ") + std::to_string(ids[i]);
  if (ids.size() > named_most) list += ", …";
  return invalid("ambiguous-name", std::to_string(ids.size()) + " unfinished jobs are called " + name + ": " + list)
      .hint("say which, by number; the newest is " + std::to_string(ids.front()))
      .hint("schedulearn ls --name " + name);
}

// The unfinished job of that name, else the newest that has ended. If there are several, only their user knows which.
Result<std::vector<std::int64_t>> one_named(const Context& context, const std::string& name) {
  const auto unfinished = named(context, name, std::string("&state=") + unfinished_states, SIZE_MAX);
  if (!unfinished.ok()) return unfinished.error();
  if (unfinished->size() == 1) return unfinished;
  if (unfinished->size() > 1) return ambiguous(name, *unfinished);
  auto newest = named(context, name, "", 1);
  if (newest.ok() && newest->empty())
    return not_found("job-not-found", "there is no job " + name).hint("schedulearn ls");
  return newest;
}

Result<std::int64_t> member(const Context& context, const std::string& group, const std::string& index) {
  const Result<json::value> job = context.get("/api/v1/jobs/" + group + "_" + index);
  if (!job.ok()) return job.error();
  return static_cast<std::int64_t>(number_at(*job, "id"));
}

// "12_3", "12_3-7". Nothing: the word means something else.
std::optional<Result<std::vector<std::int64_t>>> members(const Context& context, const std::string& word) {
  const std::size_t bar = word.find('_');
  if (bar == std::string::npos || !whole(word.substr(0, bar))) return std::nullopt;
  const std::string group = word.substr(0, bar), numbers = word.substr(bar + 1);
  const std::size_t dash = numbers.find('-');
  const std::string from = numbers.substr(0, dash), to = dash == std::string::npos ? from : numbers.substr(dash + 1);
  if (!whole(from) || !whole(to)) return std::nullopt;
  const auto first = member(context, group, from), last = from == to ? first : member(context, group, to);
  if (!first.ok()) return first.error();
  if (!last.ok()) return last.error();
  std::vector<std::int64_t> ids;  // those in between follow each other
  for (std::int64_t id = *first; id <= *last; ++id) ids.push_back(id);
  return ids;
}

std::string of_user(const json::value& self) {
  const std::string user = text_at(self, "user");
  return user.empty() ? "" : "&user=" + net::percent_encode(user);
}

Result<std::vector<std::int64_t>> select_one(const Context& context, const std::string& word) {
  if (const auto id = whole(word)) return std::vector{*id};
  if (auto ids = members(context, word)) return *ids;
  if (word == "all") {  // that one may change: a user's own, for an admin everybody's
    const auto self = context.get("/api/v1/whoami");
    const bool is_user = self.ok() && text_at(*self, "role") == "user";
    return jobs_of(context, std::string("limit=100000&state=") + unfinished_states + (is_user ? of_user(*self) : ""));
  }
  if (word == "last") {  // that one has submitted: also an admin means no job of others
    const auto self = context.get("/api/v1/whoami");
    auto ids = jobs_of(context, "limit=1&grouped=true" + (self.ok() ? of_user(*self) : ""));
    if (ids.ok() && ids->empty())
      return not_found("job-not-found", "you have submitted no job yet").hint("those of others: schedulearn ls --all");
    return ids;
  }
  const std::size_t dash = word.find('-');
  const auto from = whole(word.substr(0, dash)),
             to = dash == std::string::npos ? std::nullopt : whole(word.substr(dash + 1));
  if (from && to && *from <= *to && *to - *from < 100'000) {
    const auto newest = jobs_of(context, "limit=1&before=" + std::to_string(*to + 1));
    if (!newest.ok()) return newest.error();
    const auto is_there = [&](std::int64_t id) { return context.get("/api/v1/jobs/" + std::to_string(id)).ok(); };
    if ((newest->empty() || newest->front() < *from) && !is_there(*from) && !is_there(*to))  // no member to come either
      return not_found("job-not-found", "no job has an id from " + std::to_string(*from) + " to " + std::to_string(*to))
          .hint("schedulearn ls --all");
    std::vector<std::int64_t> ids;
    for (std::int64_t id = *from; id <= *to; ++id) ids.push_back(id);
    return ids;
  }
  return one_named(context, word);
}

}  // namespace

Result<std::vector<std::int64_t>> select_jobs(const Context& context, const std::vector<std::string>& selectors) {
  std::vector<std::int64_t> all;
  for (const std::string& selector : selectors) {
    for (std::size_t at = 0; at <= selector.size();) {
      const std::size_t comma = std::min(selector.find(',', at), selector.size());
      auto ids = select_one(context, selector.substr(at, comma - at));
      if (!ids.ok()) return ids;
      for (const std::int64_t id : *ids) {
        if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
      }
      at = comma + 1;
    }
  }
  if (all.empty()) return not_found("nothing-selected", "no job waits or runs").hint("schedulearn ls --all");
  return all;
}

const json::value& value_at(const json::value& object, std::string_view key) {
  static const json::value null;
  if (!object.is_object()) return null;
  const json::value* found = object.get_object().if_contains(key);
  return found ? *found : null;
}

json::object list_of(json::array items) {
  const std::size_t total = items.size();
  return {{"items", std::move(items)}, {"next_cursor", nullptr}, {"total", total}};
}

std::string text_at(const json::value& object, std::string_view key, const std::string& other) {
  const json::value& value = value_at(object, key);
  return value.is_string() ? std::string(value.get_string()) : other;
}

double number_at(const json::value& object, std::string_view key, double other) {
  const json::value& value = value_at(object, key);
  return value.is_number() ? value.to_number<double>() : other;
}

}  // namespace sl::cli
