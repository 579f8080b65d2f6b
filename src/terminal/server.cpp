#include "terminal/server.h"

#include <boost/json.hpp>
#include <utility>

#include "base/whole_number.h"

namespace sl::terminal {
namespace {

namespace json = boost::json;

constexpr Duration idle_time = Duration::whole_seconds(10);

int number_of(const net::Request& request, const char* name, int other) {
  const auto number = parse_whole_number(request.parameter(name).value_or(""));
  return number && *number > 0 && *number <= 1'000'000 ? static_cast<int>(*number) : other;
}

// Names of terminals are plain words.
std::string term_of(const net::Request& request) {
  const std::string term = request.parameter("term").value_or("");
  const bool is_plain =
      !term.empty() && term.size() <= 64 &&
      term.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+._") == std::string::npos;
  return is_plain ? term : "xterm-256color";
}

void fail(net::WebSocket& socket, const Error& error) {
  socket.send(json::serialize(json::object{{"type", "failed"}, {"code", error.code}, {"text", error.message}}));
  socket.close(error.code);
}

}  // namespace

Server::Server(net::EventLoop& loop, Duration keep, Start start, std::function<void()> idle)
    : loop_(loop), keep_(keep), start_(std::move(start)), idle_(std::move(idle)) {
  wait_for_clients();
}

void Server::wait_for_clients() {
  waiting_ = loop_.after(idle_time, [this] {
    if (sessions_.empty()) idle_();
  });
}

void Server::look_for_ends() {
  for (const auto& [number, session] : sessions_) session->look_for_end();
}

void Server::on_request(net::Request, std::shared_ptr<net::Reply> reply) {
  reply->send({404, "text/plain", {}, "there are only shells here\n"});
}

net::Response Server::on_protocol_error(int status, const std::string& detail) {
  return {status, "text/plain", {}, detail + "\n"};
}

bool Server::on_websocket(const net::Request& request, std::shared_ptr<net::WebSocket> socket) {
  if (request.path != "/shell") return false;
  const std::string user = request.header("x-schedulearn-user").value_or("");
  const int next = next_;
  const Result<int> chosen = choose(request, user);
  if (!chosen.ok()) return fail(*socket, chosen.error()), true;
  const json::object greeting = {{"type", "attached"}, {"session", *chosen}, {"is_new", next_ != next}};
  sessions_.at(*chosen)->attach(std::move(socket), json::serialize(greeting), number_of(request, "columns", 80),
                                number_of(request, "rows", 24));
  return true;
}

Result<int> Server::choose(const net::Request& request, const std::string& user) {
  if (const auto wanted = request.parameter("session")) {
    const auto number = parse_whole_number(*wanted);
    for (const auto& [one, session] : sessions_) {
      if (number && one == *number && session->user() == user) return one;
    }
    return not_found("no-such-shell", "there is no shell " + *wanted + " of yours in this job any more");
  }
  const bool is_plain = request.parameter("new") != "true" && !request.parameter("argument");
  for (const auto& [one, session] : sessions_) {
    if (is_plain && session->user() == user && !session->has_client()) return one;
  }
  return begin(request, user);
}

Result<int> Server::begin(const net::Request& request, const std::string& user) {
  if (sessions_.size() >= sessions_max)
    return conflict("too-many-shells", "there are " + std::to_string(sessions_max) + " shells in this job already");
  ShellOrder order;
  for (const auto& [name, value] : request.query) {
    if (name == "argument") order.command.push_back(value);
  }
  order.term = term_of(request);
  order.columns = number_of(request, "columns", 80), order.rows = number_of(request, "rows", 24);
  Result<std::unique_ptr<Shell>> shell = start_(order);
  if (!shell.ok()) return shell.error();
  const int number = next_++;
  sessions_[number] = std::make_unique<Session>(loop_, user, keep_, std::move(*shell), [this, number] {
    sessions_.erase(number);
    wait_for_clients();
  });
  return number;
}

}  // namespace sl::terminal
