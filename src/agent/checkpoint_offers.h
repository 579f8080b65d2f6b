// Gives checkpoints that attempts have left here to the agents of the servers where their jobs start next.
//
// Over HTTP on a port of its own, which is open only while there is something to give, and only to who knows the secret
// that the controller has told both sides; or through the controller. An offer ends when it was taken, or when nobody
// has asked for ten minutes. Files are read on threads of their own.
//
//   GET  /checkpoint/list                 the list of its files (checkpoint_files.h)
//   GET  /checkpoint/data?file=&offset=   its bytes from there (checkpoint_reader.h)
//   POST /checkpoint/done                 it is safe at its destination
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/checkpoint_reader.h"
#include "agent/threads.h"
#include "base/time.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// Where an attempt has left its checkpoint.
struct LeftCheckpoint {
  std::string folder;      // absolute
  std::string subfolder;   // the part of the job's checkpoint folder that it is; empty: all of it
  bool is_shared = false;  // other jobs may have named the folder too
};

class CheckpointOffers : private net::Handler {
 public:
  struct Ports {
    std::function<void(const wire::CheckpointOffered&)> offered;
    std::function<void(const wire::CheckpointPiece&)> send;
  };
  // `address`: to listen on.
  CheckpointOffers(net::EventLoop& loop, std::string address, Ports ports)
      : loop_(loop), address_(std::move(address)), ports_(std::move(ports)) {}

  // offered() is called when it is ready, or cannot be. One that is offered already stays as it is, with the new secret.
  void offer(const wire::OfferCheckpoint& order, const LeftCheckpoint& left);
  // Sends the piece.
  void answer(const wire::CheckpointRead& read);
  void tick(Instant now);  // now and then
  std::size_t size() const { return offers_.size(); }

 private:
  struct Offer;
  using OfferPtr = std::shared_ptr<Offer>;

  void ready(const std::string& key, const OfferPtr& offer);
  int listen();
  OfferPtr find(const net::Request& request) const;
  void stream(const net::Request& request, const OfferPtr& offer, std::shared_ptr<net::Reply> reply);
  void read(const OfferPtr& offer, const wire::CheckpointRead& request);

  // ---- net::Handler ----
  Verdict on_head(const net::Request& head) override;
  void on_request(net::Request request, std::shared_ptr<net::Reply> reply) override;
  bool on_websocket(const net::Request&, std::shared_ptr<net::WebSocket>) override { return false; }
  net::Response on_protocol_error(int status, const std::string& detail) override {
    return {status, "text/plain", {}, detail};
  }

  net::EventLoop& loop_;
  std::string address_;
  Ports ports_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::map<std::string, wire::OfferCheckpoint> preparing_;  // by the key of the attempt that gets it
  std::map<std::string, OfferPtr> offers_;
  std::unique_ptr<net::HttpServer> server_;  // null: nothing to give
  Threads threads_;
};

}  // namespace sl::agent
