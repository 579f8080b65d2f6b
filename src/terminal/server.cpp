#include "terminal/server.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <utility>

#include "base/whole_number.h"

namespace sl::terminal {
namespace {

namespace json = boost::json;

constexpr Duration idle_time = Duration::whole_seconds(10);
constexpr Duration begin_time = Duration::whole_seconds(10);  // for the job's user to connect
constexpr int job_session = 1;
constexpr int cannot_start = 126;  // as shells say

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

ShellOrder order_of(const net::Request& request) {
  ShellOrder order;
  for (const auto& [name, value] : request.query) {
    if (name == "argument") order.command.push_back(value);
  }
  order.term = term_of(request);
  order.columns = number_of(request, "columns", 80), order.rows = number_of(request, "rows", 24);
  return order;
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
    if (sessions_.empty() && !job_) idle_();
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
  const std::string user = net::percent_decode(request.header("x-schedulearn-user").value_or(""), false);
  const int next = next_;
  const Result<int> chosen = choose(request, user);
  if (!chosen.ok()) return fail(*socket, chosen.error()), true;
  const json::object greeting = {{"type", "attached"}, {"session", *chosen}, {"is_new", next_ != next}};
  sessions_.at(*chosen)->attach(std::move(socket), json::serialize(greeting), number_of(request, "columns", 80),
                                number_of(request, "rows", 24));
  return true;
}

void Server::run_job(std::string user, Start start, std::function<void(int code)> ended) {
  job_ = Job{std::move(user), std::move(start), std::move(ended)};
  next_ = job_session + 1;
  beginning_ = loop_.after(begin_time, [this] { (void)begin_job({}); });
}

Result<int> Server::begin_job(const ShellOrder& order) {
  beginning_.reset();
  job_->has_begun = true;
  Result<std::unique_ptr<Shell>> shell = job_->start(order);
  if (!shell.ok()) {
    loop_.post([this] { job_->ended(cannot_start); });
    return shell.error();
  }
  auto session = std::make_unique<Session>(loop_, job_->user, keep_, std::move(*shell), [] {});
  session->be_the_job(STDOUT_FILENO, job_->ended);
  sessions_[job_session] = std::move(session);
  return job_session;
}

// Asked to end before it has begun, it does not begin.
void Server::signal_job(int number) {
  if (!job_->has_begun) return job_->ended(128 + number);
  if (const auto at = sessions_.find(job_session); at != sessions_.end()) at->second->signal(number);
}

Result<int> Server::choose(const net::Request& request, const std::string& user) {
  const bool wants_job = request.parameter("session").value_or("1") == "1" && request.parameter("new") != "true" &&
                         !request.parameter("argument");
  if (job_ && !job_->has_begun && wants_job && user == job_->user) return begin_job(order_of(request));
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
  Result<std::unique_ptr<Shell>> shell = start_(order_of(request));
  if (!shell.ok()) return shell.error();
  const int number = next_++;
  sessions_[number] = std::make_unique<Session>(loop_, user, keep_, std::move(*shell), [this, number] {
    sessions_.erase(number);
    wait_for_clients();
  });
  return number;
}

}  // namespace sl::terminal
