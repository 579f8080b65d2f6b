// Clients of the controller that cost next to nothing themselves: plain keep-alive connections over loopback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sl::bench {

// One keep-alive connection. Throws std::runtime_error if it breaks.
class Connection {
 public:
  // Tries to connect for this long.
  explicit Connection(std::uint16_t port, double patience_s = 10);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  // Submissions carry an idempotency key, as those of the command line do.
  std::string call(std::string_view method, std::string_view path, std::string_view body = {});
  std::string get(std::string_view path) { return call("GET", path); }
  // The two halves of a call, for many connections at once.
  void send(std::string_view method, std::string_view path, std::string_view body);
  std::string receive();
  int status() const { return status_; }
  int descriptor() const { return fd_; }

 private:
  int fd_ = -1;
  int status_ = 0;
  std::string buffer_;
};

// POSTs bodies made by `body(i)` for i < total to /api/v1/jobs over `connections` connections, each with one request at
// a time. Returns the latencies in seconds, in the order of the answers. Throws on any answer but 201.
std::vector<double> post_jobs(std::uint16_t port, std::size_t connections, std::size_t total,
                              const std::function<std::string(std::size_t)>& body);

std::size_t count_of(std::string_view text, std::string_view word);
double median(std::vector<double> values);
double quantile(std::vector<double> values, double q);

}  // namespace sl::bench
