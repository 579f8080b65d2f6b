// The routes: parse a request, call the logic once, render the answer. Every failure is rendered in one place. Runs on
// the controller's core thread.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/logic.h"
#include "net/http_server.h"

namespace sl::controller {

net::Response json_response(int status, const boost::json::value& body);
net::Response error_response(const Error& error, const std::string& path);

class Api {
 public:
  Api(Logic& logic, std::function<Instant()> clock) : logic_(logic), clock_(std::move(clock)) { add_routes(); }
  void handle(net::Request request, std::shared_ptr<net::Reply> reply);
  // Streams that have something to wait for look again: a job got its attempt, or ended.
  void on_turn();

 private:
  struct Call {
    net::Request request;
    std::shared_ptr<net::Reply> reply;
    std::vector<std::string> captured;  // what stood for {…} in the path
    Instant now;
    void send(int status, const boost::json::value& body) const { reply->send(json_response(status, body)); }
    void send(std::string list) const { reply->send({200, "application/json", {}, std::move(list)}); }
    void fail(const Error& error) const { reply->send(error_response(error, request.path)); }
    std::string user() const;
  };
  using Action = void (Api::*)(Call);
  struct Route {
    std::string method;
    std::vector<std::string> path;  // "{}" stands for one part
    Action action;
  };
  struct Follow;  // one log stream (api_logs.cpp)

  void add_routes();
  void add(const char* method, const char* path, Action action);
  std::optional<JobId> job_id(const Call& call) const;
  JobEntry* entry_of(const Call& call);

  void healthz(Call call);
  void list_jobs(Call call);
  void create_job(Call call);
  void get_job(Call call);
  void cancel_job(Call call);
  void explain_job(Call call);
  void job_events(Call call);
  void get_logs(Call call);
  void stream_logs(Call call);
  void get_queue(Call call);
  void get_cluster(Call call);
  void list_gpus(Call call);
  void list_servers(Call call);
  void declare_server_lost(Call call);
  void list_policies(Call call);
  void describe_policy(Call call);
  void get_policy(Call call);
  void put_policy(Call call);
  void policy_history(Call call);
  void undo_policy(Call call);
  void list_events(Call call);
  void legacy_create(Call call);
  void legacy_list(Call call);
  void legacy_get(Call call);
  void legacy_algorithm(Call call);

  void submit(Call call, bool legacy);
  void read_whole(Call call, const JobEntry& entry, int attempt, std::int64_t from, std::int64_t to,
                  std::shared_ptr<net::Stream> stream);
  void follow_on(const std::shared_ptr<Follow>& follow);
  static void skip(Follow& follow, std::int64_t to);
  void follow_piece(const std::shared_ptr<Follow>& follow, Result<LogPiece> piece);

  Logic& logic_;
  std::function<Instant()> clock_;
  std::vector<Route> routes_;
  std::vector<std::shared_ptr<Follow>> idle_follows_;  // wait for an attempt or a state
  std::int64_t seen_event_ = 0;                        // when they last looked
  Instant looked_;
};

}  // namespace sl::controller
