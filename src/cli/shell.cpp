#include "cli/shell.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "cli/raw_terminal.h"
#include "cli/usage.h"
#include "net/event_loop.h"
#include "net/websocket.h"
#include "wire/error.h"

namespace sl::cli {
namespace {

constexpr char escape = 0x1d;  // Ctrl-]
constexpr char interrupt = 0x03;
constexpr char end_of_input = 0x04;
constexpr std::size_t unsent_bytes_max = 256 << 10;
constexpr Duration retry_interval = Duration::seconds(0.5);
constexpr int retries_max = 120;

void to_terminal(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(1, bytes.data(), bytes.size());
    if (count < 0 && errno == EAGAIN) {
      pollfd ready = {1, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return;
    }
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Whether the kernel can say when there is more to read.
bool can_wait_for(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return false;
  return S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode) || ::isatty(descriptor) == 1;
}

class ShellClient {
 public:
  ShellClient(const Context& context, const ShellOptions& options, std::int64_t job)
      : context_(context), options_(options), job_(job), session_(options.attach) {}

  int run() {
    serve();
    if (has_begun_ && failure_ && failure_->code == "job-not-running") {
      std::fprintf(stderr, "\r\njob %lld has ended, and its shells with it\n", static_cast<long long>(job_));
      return wire::exit_status(*failure_);
    }
    if (failure_) return fail(*failure_);
    if (has_left_) say_how_to_come_back("the shell");
    return status_;
  }

  TerminalEnd run_job() {
    is_job_ = true;
    serve();
    if (has_ended_ || (failure_ && failure_->code == "job-not-running")) return {has_begun_, std::nullopt};
    if (failure_) return {has_begun_, fail(*failure_)};
    if (has_left_) say_how_to_come_back("the job");
    return {has_begun_, status_};
  }

 private:
  void serve() {
    connect();
    loop_.on_signals({SIGWINCH}, [this](int) { send_size(); });
    loop_.on_signals({SIGTERM, SIGHUP}, [this](int number) { stop(128 + number); });
    loop_.run();
    terminal_.reset();
  }
  void say_how_to_come_back(const char* what) const {
    std::fprintf(stderr, "left %s, which runs on; come back: schedulearn shell %lld\n", what,
                 static_cast<long long>(job_));
  }
  std::string target() const {
    const RawTerminal::Size size = RawTerminal::size();
    const char* term = std::getenv("TERM");
    std::string text = fmt::format("/api/v1/jobs/{}/shell?columns={}&rows={}&term={}", job_, size.columns, size.rows,
                                   net::percent_encode(term ? term : ""));
    if (options_.rank > 0) text += fmt::format("&rank={}", options_.rank);
    if (session_ > 0) return text + fmt::format("&session={}", session_);
    if (options_.is_new) text += "&new=true";
    for (const std::string& word : options_.command) text += "&argument=" + net::percent_encode(word);
    return text;
  }

  void connect() {
    net::ConnectResult result;
    result.on_open = [this](std::shared_ptr<net::WebSocket> socket) { on_open(std::move(socket)); };
    result.on_refused = [this](int status, const std::string& body) {
      const bool may_pass = status == 503 && has_begun_;  // the agent is not back yet
      may_pass ? retry() : stop_with(wire::error_from_problem(status, body));
    };
    result.on_error = [this](const Error&) {
      has_begun_ ? retry()
                 : stop_with(unavailable("controller-unreachable", "no controller answers at " + context_.url));
    };
    const net::ClientRequest request = context_.request("GET", target(), "");
    connecting_ = net::connect_websocket(loop_, request.url, request.headers, std::move(result), request.socket);
  }
  void on_open(std::shared_ptr<net::WebSocket> socket) {
    socket_ = std::move(socket);
    net::WebSocket::Callbacks callbacks;
    callbacks.on_message = [this](const std::string& text) { on_message(text); };
    callbacks.on_binary = [](const std::string& bytes) { to_terminal(bytes); };
    callbacks.on_close = [this](const std::string& reason) { on_close(reason); };
    callbacks.on_drain = [this] { read_input(); };
    socket_->set_callbacks(std::move(callbacks));
  }

  void on_message(const std::string& text) {
    json::error_code failed;
    const json::value message = json::parse(text, failed);
    const std::string type = failed ? "" : text_at(message, "type");
    if (type == "failed") return stop_with(conflict(text_at(message, "code"), text_at(message, "text")));
    has_ended_ = type == "ended";
    if (has_ended_) return stop(static_cast<int>(number_at(message, "exit_code")));
    if (type != "attached") return;
    session_ = static_cast<int>(number_at(message, "session"));
    if (std::exchange(retries_, 0) > 0) std::fputs("\r\nconnected again\r\n", stderr);
    if (!unsent_.empty()) socket_->send_binary(std::exchange(unsent_, ""));
    if (!std::exchange(has_begun_, true)) begin(value_at(message, "is_new") == json::value(true));
  }
  void begin(bool is_new) {
    terminal_ = std::make_unique<RawTerminal>();
    if (!context_.quiet && terminal_->is_one() && is_job_)
      std::fprintf(stderr, "at the terminal of job %lld; Ctrl-] twice leaves it, and it runs on\r\n",
                   static_cast<long long>(job_));
    else if (!context_.quiet && terminal_->is_one())
      std::fprintf(stderr, "%s shell %d of job %lld; Ctrl-] twice leaves it, and it runs on\r\n",
                   is_new ? "in" : "back in", session_, static_cast<long long>(job_));
    read_input();
  }
  // The controller, the agent or the way to them has gone: the shell runs on.
  void on_close(const std::string& reason) {
    socket_.reset();
    if (is_over_) return;
    if (reason == "taken-over")
      return stop_with(conflict("no-such-shell", fmt::format("somebody else is connected to shell {} now", session_)));
    retry();
  }
  void retry() {
    if (++retries_ == 2)  // not if it is back at once, or the job has ended
      std::fprintf(stderr, "\r\nthe connection is lost; trying again (Ctrl-C leaves)\r\n");
    if (!has_begun_ || retries_ > retries_max)
      return stop_with(
          unavailable("controller-unreachable", fmt::format("the connection to shell {} is lost", session_))
              .hint(fmt::format("schedulearn shell {}", job_)));
    retrying_ = loop_.after(retry_interval, [this] { connect(); });
  }

  // ---- what is typed ----
  void read_input() {
    if (is_over_ || has_input_ended_ || input_ || !has_begun_) return;
    if (can_wait_for(0)) {
      input_ = loop_.on_readable(0, [this] { pass_input(); });
    } else {
      reading_ = loop_.after(Duration::milliseconds(1), [this] { pass_input(); });
    }
  }
  void pass_input() {
    std::string bytes(32 << 10, '\0');
    const ssize_t count = ::read(0, bytes.data(), bytes.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      has_input_ended_ = true;
      input_.reset();
      return end_input();
    } else {
      bytes.resize(static_cast<std::size_t>(count));
    }
    if (terminal_->is_one() && leaves(bytes)) {
      has_left_ = true;
      return stop(0);
    }
    if (!socket_) return keep(bytes);
    socket_->send_binary(std::move(bytes));
    if (socket_->unsent_bytes() > unsent_bytes_max) input_.reset();  // until it has been sent
    if (!input_ && !can_wait_for(0) && socket_->unsent_bytes() <= unsent_bytes_max) read_input();
  }
  // Again and again: what reads may have thrown away what was typed before it was ready, as shells do.
  void end_input() {
    if (is_over_) return;
    if (socket_) socket_->send_binary(std::string(1, end_of_input));
    ending_ = loop_.after(Duration::seconds(1), [this] { end_input(); });
  }
  // Typed while the connection is lost.
  void keep(const std::string& bytes) {
    if (bytes.find(interrupt) != std::string::npos) {
      has_left_ = true;
      return stop(0);
    }
    if (unsent_.size() < unsent_bytes_max) unsent_ += bytes;
    if (!input_) read_input();
  }
  bool leaves(const std::string& bytes) {
    for (const char byte : bytes) {
      const bool is_second = byte == escape && was_escape_;
      was_escape_ = byte == escape;
      if (is_second) return true;
    }
    return false;
  }
  void send_size() {
    const RawTerminal::Size size = RawTerminal::size();
    if (socket_ && has_begun_)
      socket_->send(json::serialize(json::object{{"type", "resize"}, {"columns", size.columns}, {"rows", size.rows}}));
  }

  // ---- the end ----
  void stop_with(Error error) {
    failure_ = std::move(error);
    stop(0);
  }
  void stop(int status) {
    if (std::exchange(is_over_, true)) return;
    status_ = status < 0 ? 1 : status;
    loop_.stop();
  }

  const Context& context_;
  const ShellOptions& options_;
  std::int64_t job_;
  int session_;  // 0: none yet
  net::EventLoop loop_;
  std::shared_ptr<void> connecting_;
  std::shared_ptr<net::WebSocket> socket_;
  std::unique_ptr<RawTerminal> terminal_;
  std::shared_ptr<net::EventLoop::Watch> input_;
  std::shared_ptr<net::EventLoop::Timer> retrying_, reading_, ending_;
  std::optional<Error> failure_;
  std::string unsent_;
  int status_ = 0, retries_ = 0;
  bool is_job_ = false, has_ended_ = false;
  bool has_begun_ = false, is_over_ = false, has_left_ = false, has_input_ended_ = false, was_escape_ = false;
};

int shell_of_job(const Context& context, const ShellOptions& options) {
  const auto jobs = select_jobs(context, {options.job});
  if (!jobs.ok()) return fail(jobs.error());
  if (jobs->size() != 1) return fail(invalid("one-job", "a shell is in one job at a time").hint("schedulearn shell 5"));
  return ShellClient(context, options, jobs->front()).run();
}

}  // namespace

TerminalEnd connect_to_job(const Context& context, std::int64_t job) {
  ShellOptions options;
  options.attach = 1;  // terminal/server.h
  return ShellClient(context, options, job).run_job();
}

void ShellCommand::add_to(CLI::App& app) {
  CLI::App* shell =
      command_(app, "shell", "A terminal among the processes of a running job, on its server and its GPUs.",
               "  schedulearn shell 5\n  schedulearn shell 5 -- nvidia-smi\n"
               "  schedulearn shell 5 --new\n  schedulearn shell 5 --attach 1\n",
               [this] {
                 options_.command = after_dashes_;
                 return shell_of_job(context_(), options_);
               });
  shell->add_option("job", options_.job, "5, 12_3 (of an array), last or a name")->required();
  shell->add_flag("--new", options_.is_new, "another shell, although one of yours waits for you");
  shell->add_option("--attach", options_.attach, "come back to the shell with this number, also from another terminal")
      ->check(above_zero());
  shell->add_option("--rank", options_.rank, "on this server of the job, from 0")->check(between(0, 1'000'000));
}

}  // namespace sl::cli
