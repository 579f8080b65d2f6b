// Every request has an id, which its answer carries (header X-Request-Id, request_id of an error). Requests that change
// something, are refused or fail are logged with it: one line each, key=value, no header, query or body.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "net/http.h"

namespace sl::controller {

class RequestLog {
 public:
  // `begin`: of this controller; makes its ids differ from those of earlier ones. `writes`: whether lines are written.
  RequestLog(Instant begin, bool writes) : begin_(begin), writes_(writes) {}

  // The id that the request brings (X-Request-Id: up to 64 letters, digits, . _ : -), else a new one. Any thread may ask.
  std::string id_of(const net::Request& request);

  struct Line {
    Instant at;
    const std::string& id;
    const std::string& user;  // empty: unknown
    const std::string& method;
    const std::string& path;
    const net::Response& answer;
    Duration took;
  };
  // To standard error, if it is worth a line. Never waits: what nobody reads is dropped, and counted in a later line. Any
  // thread may write.
  void write(const Line& line);

 private:
  Instant begin_;
  bool writes_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
};

// The line, without its end; empty: it is not worth one.
std::string request_line(const RequestLog::Line& line);

}  // namespace sl::controller
