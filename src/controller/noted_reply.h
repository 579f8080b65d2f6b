// The answer to a request, as it is measured, logged and marked on its way.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/time.h"
#include "controller/metrics.h"
#include "controller/request_log.h"
#include "net/http_server.h"

namespace sl::controller {

// Notes how long it took until the answer began, gives the answer the request's id, and logs both.
class NotedReply : public net::Reply {
 public:
  struct Notes {
    std::shared_ptr<HttpTimes> times;
    std::shared_ptr<RequestLog> log;
    std::string id, user, method, path;
    Instant at;
    std::string successor = {};  // of the route, if it is the original API's
  };
  NotedReply(std::shared_ptr<net::Reply> reply, Notes notes) : reply_(std::move(reply)), notes_(std::move(notes)) {}
  // From now on answers say that this route is replaced by another.
  void deprecate(const std::string& successor) { notes_.successor = successor; }
  void send(net::Response response) override {
    note(response);
    reply_->send(std::move(response));
  }
  std::shared_ptr<net::Stream> stream(net::Response head) override {
    note(head);
    return reply_->stream(std::move(head));
  }

 private:
  void note(net::Response& response) {
    const auto passed = std::chrono::steady_clock::now() - begin_;
    const Duration took{std::chrono::duration_cast<std::chrono::microseconds>(passed).count()};
    notes_.times->observe(notes_.method, response.status, took);
    notes_.log->write({notes_.at, notes_.id, notes_.user, notes_.method, notes_.path, response, took});
    if (!notes_.id.empty()) response.headers.emplace_back("X-Request-Id", notes_.id);
    if (notes_.successor.empty()) return;
    response.headers.emplace_back("Deprecation", "true");
    response.headers.emplace_back("Link", "<" + notes_.successor + ">; rel=\"successor-version\"");
  }
  std::shared_ptr<net::Reply> reply_;
  Notes notes_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace sl::controller
