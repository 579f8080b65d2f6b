#include "container/engine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "net/http_client.h"
#include "net/url.h"
#include "wire/json.h"

namespace sl::container {
namespace {

namespace json = boost::json;

constexpr const char* api = "/v1.41";

// Names of images and containers hold no other characters that mean something in a URL.
std::string encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '~';
    plain ? result += c : result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

const json::value* member(const json::value& value, std::string_view name) {
  return value.is_object() ? value.get_object().if_contains(name) : nullptr;
}

std::string text_of(const json::value* value) {
  return value && value->is_string() ? std::string(value->get_string()) : "";
}

std::string text_in(const json::value& value, std::string_view name) { return text_of(member(value, name)); }

std::int64_t number_in(const json::value& value, std::string_view name) {
  const json::value* found = member(value, name);
  return found && found->is_number() ? found->to_number<std::int64_t>() : 0;
}

bool flag_in(const json::value& value, std::string_view name) {
  const json::value* found = member(value, name);
  return found && found->is_bool() && found->get_bool();
}

json::value parsed(const std::string& text) {
  json::error_code failed;
  json::value value = json::parse(text, failed);
  return failed ? json::value(nullptr) : value;
}

// In one line: engines quote whole command lines.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  constexpr std::size_t most = 600;
  if (text.size() > most) text = text.substr(0, most) + " …";
  return text;
}

Error refused(int status, const std::string& body) {
  std::string why = text_in(parsed(body), "message");
  if (why.empty()) why = text_in(parsed(body), "cause");
  if (why.empty()) why = "status " + std::to_string(status);
  return unavailable("engine-refused", "the container engine says: " + one_line(why));
}

// Docker's socket belongs to a group that the agent's user may not be in.
bool is_forbidden(const std::string& socket) {
  return ::faccessat(AT_FDCWD, socket.c_str(), R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES;
}

Error unreachable(const std::string& socket) {
  const char* why = is_forbidden(socket)
                        ? "may not be used by the user of the agent: add that user to the socket's group"
                        : "does not answer";
  return unavailable("engine-unreachable", fmt::format("the container engine at {} {}", socket, why));
}

bool is_good(int status) { return status >= 200 && status < 300; }

// "PYTHONPATH=/a" of ["PATH=…", "PYTHONPATH=/a"]
std::string variable_in(const json::value* list, const std::string& name) {
  if (!list || !list->is_array()) return "";
  for (const json::value& entry : list->get_array()) {
    const std::string text = text_of(&entry);
    if (text.starts_with(name + "=")) return text.substr(name.size() + 1);
  }
  return "";
}

// The tag or digest of an image's name, and the name without it.
std::pair<std::string, std::string> split_tag(const std::string& image) {
  if (const std::size_t at = image.find('@'); at != std::string::npos)
    return {image.substr(0, at), image.substr(at + 1)};
  const std::size_t slash = image.rfind('/'), colon = image.rfind(':');
  const bool has_tag = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  if (!has_tag) return {image, "latest"};
  return {image.substr(0, colon), image.substr(colon + 1)};
}

// Of the names with digests of an image, the one that the job means; an image may have been fetched under several. The
// job may leave out "docker.io/" or "docker.io/library/".
std::string digest_for(const std::string& image, const json::array& digests) {
  const std::string name = split_tag(image).first;
  const auto is_meant = [&](const json::value& digest) {
    const std::string text = text_of(&digest), full = text.substr(0, text.find('@'));
    return full == name || full == "docker.io/" + name || full == "docker.io/library/" + name;
  };
  const auto meant = std::ranges::find_if(digests, is_meant);
  return digests.empty() ? "" : text_of(meant == digests.end() ? &digests.front() : &*meant);
}

}  // namespace

// ---- pulling ----

void PullReader::add(std::string_view bytes) {
  constexpr std::size_t line_max = 1 << 20;
  rest_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
    read_line(std::string_view(rest_).substr(begin, end - begin));
  rest_.erase(0, begin);
  if (rest_.size() > line_max) rest_.clear();
}

void PullReader::read_line(std::string_view line) {
  const json::value value = parsed(std::string(line));
  if (const std::string why = text_in(value, "error"); !why.empty()) error_ = one_line(why);
  const json::value* detail = member(value, "progressDetail");
  const std::string id = text_in(value, "id");
  if (!detail || id.empty() || text_in(value, "status") != "Downloading") return;
  const std::int64_t done = number_in(*detail, "current"), all = number_in(*detail, "total");
  if (all <= 0) return;
  auto layer = std::ranges::find(layers_, id, &Layer::id);
  if (layer == layers_.end()) layer = layers_.insert(layers_.end(), {id, 0, 0});
  layer->done = std::clamp<std::int64_t>(done, 0, all);
  layer->all = all;
}

PullProgress PullReader::progress() const {
  PullProgress progress;
  for (const Layer& layer : layers_) progress.bytes_done += layer.done, progress.bytes += layer.all;
  return progress;
}

// ---- calls ----

Result<Engine::Answer> Engine::call(const std::string& method, const std::string& target,
                                    const std::string& body) const {
  net::ClientRequest request;
  request.method = method;
  request.url = std::string("http://engine") + api + target;
  request.body = body;
  request.socket = socket_;
  request.timeout = patience_;
  request.is_given_up = is_given_up_;
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  Result<net::ClientResponse> response = net::fetch(request);
  if (!response.ok()) return unreachable(socket_);
  Answer answer{response->status, std::move(response->body), ""};
  for (const auto& [name, value] : response->headers) {
    if (boost::algorithm::iequals(name, "server")) answer.server = value;
  }
  return answer;
}

Result<json::value> Engine::ask(const std::string& method, const std::string& target, const std::string& body) const {
  const Result<Answer> answer = call(method, target, body);
  if (!answer.ok()) return answer.error();
  return is_good(answer->status) ? Result<json::value>(parsed(answer->body)) : refused(answer->status, answer->body);
}

// From the header Server, "Libpod/4.3.1 (linux)" or "Docker/20.10.24 (linux)", since agents ask again and again: for
// its answer to GET /version Podman starts a dozen processes, which take two seconds of processor time.
Result<std::string> Engine::version() const {
  const Result<Answer> answer = call("GET", "/_ping");
  if (!answer.ok()) return answer.error();
  if (!is_good(answer->status)) return refused(answer->status, answer->body);
  const std::string server = one_line(answer->server);
  const std::size_t slash = server.find('/');
  const std::string version = slash == std::string::npos ? "" : server.substr(slash + 1, server.find(' ') - slash - 1);
  return (server.starts_with("Libpod/") ? "podman" : "docker") + (version.empty() ? "" : " " + version);
}

Result<std::optional<ImageFacts>> Engine::find_image(const std::string& image) const {
  const Result<Answer> answer = call("GET", "/images/" + encoded(image) + "/json");
  if (!answer.ok()) return answer.error();
  if (answer->status == 404) return std::optional<ImageFacts>();
  if (!is_good(answer->status)) return refused(answer->status, answer->body);
  const json::value value = parsed(answer->body);
  ImageFacts facts;
  facts.id = text_in(value, "Id");
  if (!facts.id.starts_with("sha256:")) facts.id = "sha256:" + facts.id;
  const json::value* digests = member(value, "RepoDigests");
  if (digests && digests->is_array()) facts.digest = digest_for(image, digests->get_array());
  if (facts.digest.empty()) facts.digest = facts.id;
  if (const json::value* config = member(value, "Config"))
    facts.python_path = variable_in(member(*config, "Env"), "PYTHONPATH");
  return std::optional(std::move(facts));
}

Status Engine::pull(const std::string& image, const std::string& credentials,
                    const std::function<void(const PullProgress&)>& on_progress) const {
  const auto [name, tag] = split_tag(image);
  net::ClientRequest request;
  request.method = "POST";
  request.url = fmt::format("http://engine{}/images/create?fromImage={}&tag={}", api, encoded(name), encoded(tag));
  request.socket = socket_;
  request.timeout = patience_;
  request.is_given_up = is_given_up_;
  if (!credentials.empty()) request.headers.emplace_back("X-Registry-Auth", credentials);
  PullReader reader;
  const Result<net::ClientResponse> response = net::fetch_stream(request, [&](std::string_view bytes) {
    reader.add(bytes);
    on_progress(reader.progress());
    return true;
  });
  if (!response.ok()) {
    if (response.error().code == "timeout")
      return unavailable("image", "the registry of " + image + " has sent nothing for " +
                                      std::to_string(patience_.us / 1'000'000) + " s");
    return unreachable(socket_);
  }
  reader.add("\n");
  const std::string why =
      !is_good(response->status) ? refused(response->status, response->body).message : reader.error();
  if (why.empty()) return {};
  return not_found("image", fmt::format("cannot fetch the image {}: {}", image, why));
}

Result<std::string> Engine::create(const std::string& name, const json::value& body) const {
  const Result<Answer> answer = call("POST", "/containers/create?name=" + encoded(name), json::serialize(body));
  if (!answer.ok()) return answer.error();
  if (is_good(answer->status)) {
    const std::string id = text_in(parsed(answer->body), "Id");
    return id.empty() ? name : id;
  }
  const Error error = refused(answer->status, answer->body);
  if (answer->status == 404) return not_found("image", error.message);
  const Result<std::optional<State>> there = inspect(name);
  if (there.ok() && there->has_value()) return conflict("name-taken", "there is a container " + name);
  return error;
}

Status Engine::start(const std::string& name) const {
  const Result<Answer> answer = call("POST", "/containers/" + encoded(name) + "/start");
  if (!answer.ok()) return answer.error();
  return is_good(answer->status) || answer->status == 304 ? Status() : refused(answer->status, answer->body);
}

Result<std::optional<State>> Engine::inspect(const std::string& name) const {
  const Result<Answer> answer = call("GET", "/containers/" + encoded(name) + "/json");
  if (!answer.ok()) return answer.error();
  if (answer->status == 404) return std::optional<State>();
  if (!is_good(answer->status)) return refused(answer->status, answer->body);
  const json::value value = parsed(answer->body);
  State state;
  if (const json::value* config = member(value, "Config")) {
    if (const json::value* labels = member(*config, "Labels"))
      state.agent = text_in(*labels, agent_label), state.key = text_in(*labels, key_label);
  }
  if (const json::value* told = member(value, "State")) {
    state.runs = flag_in(*told, "Running");
    state.pid = state.runs ? number_in(*told, "Pid") : 0;
    state.exit_code = static_cast<int>(number_in(*told, "ExitCode"));
    state.out_of_memory = flag_in(*told, "OOMKilled");
  }
  return std::optional(std::move(state));
}

// Podman refuses while it notes the end of a container that it has just looked at ("container state improper", "container
// not running"), and would keep it if it were not asked again.
Status Engine::remove(const std::string& name) const {
  constexpr int tries = 8;
  constexpr auto pause = std::chrono::milliseconds(20);  // doubled each time: 2.5 s in all
  for (int tried = 1;; ++tried) {
    const Result<Answer> answer = call("DELETE", "/containers/" + encoded(name) + "?force=true&v=true");
    if (!answer.ok()) return answer.error();
    if (is_good(answer->status) || answer->status == 404) return {};
    const Result<std::optional<State>> left = inspect(name);  // somebody else may have been faster
    if (left.ok() && !left->has_value()) return {};
    if (tried == tries) return refused(answer->status, answer->body);
    std::this_thread::sleep_for(pause * (1 << (tried - 1)));
  }
}

Result<std::vector<Found>> Engine::list(const std::string& agent) const {
  const json::object filters = {{"label", json::array{std::string(agent_label) + "=" + agent}}};
  const Result<Answer> answer = call("GET", "/containers/json?all=true&filters=" + encoded(json::serialize(filters)));
  if (!answer.ok()) return answer.error();
  if (!is_good(answer->status)) return refused(answer->status, answer->body);
  std::vector<Found> all;
  const json::value value = parsed(answer->body);
  if (!value.is_array()) return all;
  for (const json::value& one : value.get_array()) {
    const json::value* labels = member(one, "Labels");
    if (!labels || text_in(*labels, agent_label) != agent) continue;
    const json::value* names = member(one, "Names");
    const bool named = names && names->is_array() && !names->get_array().empty();
    all.push_back({text_in(one, "Id"), named ? text_of(names->get_array().data()) : "", text_in(*labels, folder_label),
                   text_in(*labels, key_label), text_in(one, "State") == "running"});
  }
  return all;
}

// ---- where it is ----

std::string find_socket(const std::string& wanted) {
  if (wanted == "none") return "";
  if (!wanted.empty()) return wanted;
  std::vector<std::string> places;
  if (const char* host = std::getenv("DOCKER_HOST"); host && std::string_view(host).starts_with("unix://"))
    places.emplace_back(host + 7);
  places.insert(places.end(), {"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"});
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"))
    places.push_back(std::string(runtime) + "/podman/podman.sock");
  auto found = std::ranges::find_if(places, net::is_listening);
  if (found == places.end())  // so that somebody is told
    found = std::ranges::find_if(places, [](const std::string& place) {
      struct stat info {};
      return ::stat(place.c_str(), &info) == 0 && is_forbidden(place);
    });
  return found == places.end() ? "" : *found;
}

}  // namespace sl::container
