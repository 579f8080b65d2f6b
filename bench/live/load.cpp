#include "load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "daemons.h"

namespace sl::bench {

namespace {

// As random as the keys of the command line.
std::string new_key() {
  static std::mt19937_64 random{std::random_device{}()};
  std::string key;
  for (int i = 0; i < 32; ++i) key += "0123456789abcdef"[random() % 16];
  return key;
}

// The body at `begin` of a chunked answer, and where it ends. Nothing while it is incomplete.
std::optional<std::pair<std::string, std::size_t>> chunked_body(const std::string& text, std::size_t begin) {
  std::string body;
  while (true) {
    const std::size_t line_end = text.find("\r\n", begin);
    if (line_end == std::string::npos) return std::nullopt;
    const std::size_t size = std::strtoull(text.c_str() + begin, nullptr, 16);
    begin = line_end + 2;
    if (text.size() < begin + size + 2) return std::nullopt;
    body.append(text, begin, size);
    begin += size + 2;
    if (size == 0) return std::pair(std::move(body), begin);
  }
}

}  // namespace

Connection::Connection(std::uint16_t port, double patience_s) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const double end = now_s() + patience_s;;) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
    ::close(fd_);
    if (now_s() > end) throw std::runtime_error("the controller does not answer");
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() { ::close(fd_); }

void Connection::send(std::string_view method, std::string_view path, std::string_view body) {
  std::string text = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  if (path == "/api/v1/jobs" && method == "POST") text += "Idempotency-Key: " + new_key() + "\r\n";
  if (!body.empty())
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n";
  text += body;
  if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("the controller hung up");
}

std::string Connection::receive() {
  std::size_t head_end = 0, length = 0;
  bool is_chunked = false;
  while (true) {
    if (head_end == 0 && (head_end = buffer_.find("\r\n\r\n")) != std::string::npos) {
      head_end += 4;
      status_ = std::atoi(buffer_.c_str() + 9);
      std::string head = buffer_.substr(0, head_end);
      std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
      const std::size_t at = head.find("content-length:");
      is_chunked = head.find("transfer-encoding: chunked") != std::string::npos;
      length = at == std::string::npos ? 0 : static_cast<std::size_t>(std::atoll(head.c_str() + at + 15));
    } else if (head_end == std::string::npos) {
      head_end = 0;
    }
    if (is_chunked && buffer_.ends_with("0\r\n\r\n")) {
      if (auto body = chunked_body(buffer_, head_end)) {
        buffer_.erase(0, body->second);
        return std::move(body->first);
      }
    }
    if (head_end != 0 && !is_chunked && buffer_.size() >= head_end + length) break;
    char piece[65536];
    const ssize_t n = ::recv(fd_, piece, sizeof piece, 0);
    if (n <= 0) throw std::runtime_error("the controller hung up");
    buffer_.append(piece, static_cast<std::size_t>(n));
  }
  std::string body = buffer_.substr(head_end, length);
  buffer_.erase(0, head_end + length);
  return body;
}

std::string Connection::call(std::string_view method, std::string_view path, std::string_view body) {
  send(method, path, body);
  return receive();
}

std::vector<double> post_jobs(std::uint16_t port, std::size_t connections, std::size_t total,
                              const std::function<std::string(std::size_t)>& body) {
  std::vector<std::unique_ptr<Connection>> open;
  std::vector<pollfd> waits;
  std::vector<double> sent_at(connections), latencies;
  std::size_t next = 0;
  const auto post = [&](std::size_t i) {
    if (next >= total) return void(waits[i].fd = -1);
    sent_at[i] = now_s();
    open[i]->send("POST", "/api/v1/jobs", body(next++));
  };
  for (std::size_t i = 0; i < connections; ++i) {
    open.push_back(std::make_unique<Connection>(port));
    waits.push_back({open[i]->descriptor(), POLLIN, 0});
  }
  for (std::size_t i = 0; i < connections; ++i) post(i);
  while (latencies.size() < total) {
    ::poll(waits.data(), waits.size(), -1);
    for (std::size_t i = 0; i < connections; ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      const std::string answer = open[i]->receive();
      if (open[i]->status() != 201) throw std::runtime_error("a submission was refused: " + answer);
      latencies.push_back(now_s() - sent_at[i]);
      post(i);
    }
  }
  return latencies;
}

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace sl::bench
