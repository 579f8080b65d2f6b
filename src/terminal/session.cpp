#include "terminal/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

namespace sl::terminal {
namespace {

namespace json = boost::json;

constexpr std::size_t piece_bytes = 32 << 10;
constexpr std::size_t unsent_bytes_max = 256 << 10;  // then the shell has to wait
constexpr std::size_t typed_bytes_max = 1 << 20;     // then the client has to wait
constexpr std::size_t latest_bytes_max = 64 << 10;
constexpr int size_max = 1'000;
constexpr Duration writing_interval = Duration::milliseconds(10);
constexpr Duration end_interval = Duration::milliseconds(50);
constexpr Duration grace = Duration::whole_seconds(2);

int number_in(const json::object& object, const char* name, int other) {
  const json::value* value = object.if_contains(name);
  return value && value->is_int64() ? static_cast<int>(std::clamp<std::int64_t>(value->get_int64(), 1, size_max))
                                    : other;
}

// A disk that is full loses what is printed, as it does for other jobs.
void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

Session::Session(net::EventLoop& loop, std::string user, Duration keep, std::unique_ptr<Shell> shell,
                 std::function<void()> ended)
    : loop_(loop), user_(std::move(user)), keep_(keep), shell_(std::move(shell)), ended_(std::move(ended)) {
  watch();
}

Session::~Session() {
  if (!client_) return;
  client_->set_callbacks({});
  client_->close("end");
}

void Session::watch() {
  if (!watch_) watch_ = loop_.on_readable(shell_->descriptor(), [this] { on_readable(); });
}

void Session::attach(std::shared_ptr<net::WebSocket> client, const std::string& greeting, int columns, int rows) {
  if (client_) {
    client_->set_callbacks({});
    client_->close("taken-over");
  }
  client_ = std::move(client);
  expiry_.reset();
  const std::weak_ptr<int> alive = alive_;
  const auto* self = client_.get();
  net::WebSocket::Callbacks callbacks;
  callbacks.on_message = [this, alive](const std::string& text) {
    if (!alive.expired()) on_client_text(text);
  };
  callbacks.on_binary = [this, alive](const std::string& bytes) {
    if (!alive.expired()) type(bytes);
  };
  callbacks.on_drain = [this, alive] {
    if (!alive.expired()) watch();
  };
  callbacks.on_close = [this, alive, self](const std::string&) {
    if (!alive.expired() && client_.get() == self) detach();
  };
  client_->set_callbacks(std::move(callbacks));
  client_->send(greeting);
  if (!latest_.empty()) client_->send_binary(latest_);
  shell_->resize(std::clamp(columns, 1, size_max), std::clamp(rows, 1, size_max));
  watch();
}

// Nobody may come back: then it ends as if its terminal were closed. A job has its own limits.
void Session::detach() {
  client_.reset();
  watch();
  if (job_ended_) return;
  expiry_ = loop_.after(keep_, [this] {
    shell_->signal(SIGHUP);
    expiry_ = loop_.after(grace, [this] { shell_->signal(SIGKILL); });
  });
}

// How many bytes there were; -1: the terminal is closed.
ssize_t Session::read_some() {
  std::string bytes(piece_bytes, '\0');
  std::size_t size = 0;
  ssize_t count = 1;
  while (size < bytes.size() && count > 0) {  // a terminal gives a few thousand bytes at a time
    count = ::read(shell_->descriptor(), bytes.data() + size, bytes.size() - size);
    if (count > 0) size += static_cast<std::size_t>(count);
  }
  const bool is_open = count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  if (size == 0) return is_open ? 0 : -1;
  bytes.resize(size);
  latest_ += bytes;
  if (output_ >= 0) write_all(output_, bytes);
  if (latest_.size() > 2 * latest_bytes_max) latest_.erase(0, latest_.size() - latest_bytes_max);
  if (client_) client_->send_binary(std::move(bytes));
  return static_cast<ssize_t>(size);
}

void Session::on_readable() {
  const bool is_open = read_some() >= 0;
  if (!is_open || (client_ && client_->unsent_bytes() > unsent_bytes_max)) watch_.reset();
  if (!is_open) look_for_end();
}

// Its last words are still in the terminal. What it has left running may hold that open.
void Session::look_for_end() {
  const auto code = shell_->exit_code();
  if (code) return end(*code);
  if (!watch_ && !(client_ && client_->unsent_bytes() > 0))
    looking_ = loop_.after(end_interval, [this] { look_for_end(); });
}

void Session::end(int code) {
  if (!ended_) return;
  for (std::size_t read = 0; read < latest_bytes_max;) {
    const ssize_t count = read_some();
    if (count <= 0) break;
    read += static_cast<std::size_t>(count);
  }
  watch_.reset();
  if (job_ended_) return end_job(code);
  if (client_) {
    client_->set_callbacks({});
    client_->send(json::serialize(json::object{{"type", "ended"}, {"exit_code", code}}));
    client_->close("ended");
    client_.reset();
  }
  loop_.post(std::exchange(ended_, nullptr));
}

// This program ends with it: not before the client has closed the connection, having read all, unless it is stuck.
void Session::end_job(int code) {
  const auto tell = [this, code] {
    if (job_ended_) loop_.post([ended = std::exchange(job_ended_, nullptr), code] { ended(code); });
  };
  ended_ = nullptr;
  if (!client_) return tell();
  net::WebSocket::Callbacks callbacks;
  callbacks.on_close = [tell](const std::string&) { tell(); };
  client_->set_callbacks(std::move(callbacks));
  client_->send(json::serialize(json::object{{"type", "ended"}, {"exit_code", code}}));
  client_->close("ended");
  expiry_ = loop_.after(grace, tell);
}

void Session::on_client_text(const std::string& text) {
  json::error_code failed;
  const json::value value = json::parse(text, failed);
  const json::object* message = failed ? nullptr : value.if_object();
  const json::value* type = message ? message->if_contains("type") : nullptr;
  if (!type || *type != json::value("resize")) return;  // of a newer client
  shell_->resize(number_in(*message, "columns", 80), number_in(*message, "rows", 24));
}

void Session::type(const std::string& bytes) {
  typed_ += bytes;
  write_typed();
}

void Session::write_typed() {
  writing_.reset();
  while (!typed_.empty()) {
    const ssize_t count = ::write(shell_->descriptor(), typed_.data(), typed_.size());
    if (count <= 0 && errno != EAGAIN && errno != EINTR) typed_.clear();  // it has ended
    if (count <= 0) break;
    typed_.erase(0, static_cast<std::size_t>(count));
  }
  if (client_) client_->pause(typed_.size() > typed_bytes_max);
  if (!typed_.empty()) writing_ = loop_.after(writing_interval, [this] { write_typed(); });
}

}  // namespace sl::terminal
