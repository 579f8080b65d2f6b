// What users talk to directly: shells of running jobs, and the ports that jobs publish. The request of a user is sent on as
// it is to a connection that the agent of the job's server opens for it, and the answer comes back the same way; none of
// these bytes is seen by the core. Belongs to the loop's thread.
//
//   user ── GET /api/v1/jobs/5/shell ──▶ begin() ── OpenChannel ──▶ agent
//                                        accept() ◀── GET /api/v1/agent/channels/CHANNEL ── connected to the shell or port
//   user ◀────────────────────────── bytes ────────────────────────▶ shell or port
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "controller/identity.h"
#include "controller/outside.h"
#include "net/event_loop.h"
#include "net/taken_request.h"

namespace sl::controller {

// What a request wants to talk to.
struct ChannelTarget {
  std::string job;   // "5", "12_3"
  std::string port;  // its name; empty: a shell
  std::string path;  // of a port: what follows its name, as it was sent: "/tree?a=b"
};

// Where that is, as long as the job runs.
struct ChannelPlace {
  SessionId session = 0;  // of the agent
  Incarnation incarnation;
  std::string owner;
  bool keep_path = false;  // wire::PortSpec
};

class Channels {
 public:
  struct Ports {
    // Finds out whether and where it is, then calls `found`; or refuses. Called on the loop's thread, as both are.
    std::function<void(const ChannelTarget&, const net::Request&, const Identity&,
                       std::function<void(ChannelPlace)> found, std::function<void(net::Response)> refuse)>
        find;
    std::function<void(SessionId, const wire::OpenChannel&)> ask;  // the agent
    std::function<bool(const std::string& cookie)> is_ours;        // a cookie's name
    std::string token;                                             // the controller's: no job sees it
  };
  Channels(net::EventLoop& loop, Ports ports) : loop_(loop), ports_(std::move(ports)) {}
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  // Nothing: the request is none for channels.
  static std::optional<ChannelTarget> target_of(const net::Request& head);
  // "/api/v1/agent/channels/CHANNEL"; nothing: it is another request.
  static std::optional<std::string> channel_of(const net::Request& head);

  void begin(const ChannelTarget& target, net::Request head, const Identity& identity,
             std::shared_ptr<net::TakenRequest> taken);
  // An agent has connected a channel.
  void accept(const std::string& channel, std::shared_ptr<net::TakenRequest> taken);
  void refuse(SessionId session, const wire::ChannelRefused& refused);
  // Closes those of whom `may` says that they may not be here any more.
  void end_unless(const std::function<bool(const Identity&)>& may);

 private:
  struct Channel {
    ChannelTarget target;
    net::Request head;
    Identity identity;
    std::shared_ptr<net::TakenRequest> taken;
    std::shared_ptr<net::TakenRequest> from_agent = {};  // null: it is awaited
    ChannelPlace place = {};
    std::shared_ptr<net::EventLoop::Timer> patience = {};
  };
  Status check_room(const ChannelTarget& target, const Identity& identity) const;
  void refuse(const std::string& channel, net::Response response);
  void found(const std::string& channel, ChannelPlace place);
  void connect(const std::string& channel, const std::shared_ptr<net::ByteStream>& stream);
  net::Forwarding forwarding(const Channel& channel) const;
  net::Headers headers_for(const Channel& channel) const;
  bool is_ours(const std::string& authorization) const;  // the controller's token, or a named one
  std::string cookies_for(const std::string& cookies) const;

  net::EventLoop& loop_;
  Ports ports_;
  std::map<std::string, Channel> channels_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace sl::controller
