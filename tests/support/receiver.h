// A receiver of HTTP requests on a loopback port, which answers as a test wants: also badly.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sl::test {

class Receiver {
 public:
  // Writes an answer to a connection, after the request has been read; `write` says whether it was taken.
  using Write = std::function<bool(const std::string&)>;
  using Behaviour = std::function<void(const Write& write)>;

  // `port`: 0: any free one. `reads`: it reads requests at all.
  explicit Receiver(Behaviour behaviour, std::uint16_t port = 0, bool reads = true)
      : behaviour_(std::move(behaviour)), reads_(reads), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    address.sin_port = ::htons(port);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, generic, &size) != 0)
      throw std::runtime_error("no loopback port");
    port_ = ::ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Receiver() {
    is_ending_ = true;
    thread_.join();
    ::close(listener_);
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  static Behaviour answering(int status, const std::string& headers = "", const std::string& body = "") {
    return [=](const Write& write) {
      write("HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
            "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
    };
  }

  std::uint16_t port() const { return port_; }
  std::string url(const std::string& path = "/") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  // Whole requests, in the order in which they came.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // Waits until there are so many; false: they did not come.
  bool has(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return requests_.size() >= count; });
  }

 private:
  bool is_readable(int fd) const {
    while (!is_ending_) {
      pollfd one{fd, POLLIN, 0};
      if (::poll(&one, 1, 20) > 0) return true;
    }
    return false;
  }
  void run() {
    while (is_readable(listener_)) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      serve(connection);
      ::close(connection);
    }
  }
  void serve(int connection) {
    while (!reads_ && !is_ending_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::string request;
    while (reads_ && !is_whole(request) && is_readable(connection)) {
      char piece[4096];
      const ssize_t bytes = ::recv(connection, piece, sizeof piece, 0);
      if (bytes <= 0) return;
      request.append(piece, static_cast<std::size_t>(bytes));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    changed_.notify_all();
    behaviour_([&](const std::string& text) {
      return !is_ending_ && ::send(connection, text.data(), text.size(), MSG_NOSIGNAL) > 0;
    });
    ::shutdown(connection, SHUT_WR);
    char rest[256];  // what the other side still sends, so that closing does not reset the connection
    while (reads_ && is_readable(connection) && ::recv(connection, rest, sizeof rest, 0) > 0) {
    }
  }
  static bool is_whole(const std::string& request) {
    const std::size_t end = request.find("\r\n\r\n"), length = request.find("Content-Length: ");
    if (end == std::string::npos) return false;
    const std::size_t bytes = length < end ? std::stoul(request.substr(length + 16)) : 0;
    return request.size() >= end + 4 + bytes;
  }

  Behaviour behaviour_;
  bool reads_;
  int listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> requests_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace sl::test
