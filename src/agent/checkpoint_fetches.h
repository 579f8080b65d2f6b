// Fetches the checkpoints of attempts that are to start here from the servers where they were left: directly from the
// agent there, or through the controller while that does not work. Each on a thread of its own, which retries until it
// has it, or until somebody says that it is of no use any more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/checkpoint_writer.h"
#include "agent/threads.h"
#include "net/event_loop.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

class CheckpointFetches {
 public:
  struct Ports {
    // The checkpoint is there, or there is none to be had; or an error: this server has no room for it ("server_setup").
    std::function<void(const std::string& key, const Result<wire::CheckpointCopy>&)> ended;
    std::function<void(const wire::CheckpointRead&)> ask;  // the controller; then on_piece(), or never
    std::function<void(const wire::CheckpointProgress&)> tell;
  };
  CheckpointFetches(net::EventLoop& loop, Ports ports) : loop_(loop), ports_(std::move(ports)) {}
  ~CheckpointFetches();

  // If it is being fetched already, it continues with the new source.
  void begin(const Incarnation& incarnation, const wire::CheckpointSource& source, const CheckpointPlace& place);
  // It is not needed any more. What has come stays for the next attempt to fetch it, unless `discards`.
  void end(const std::string& key, bool discards);
  // What is left of a copy that was given up, and the record of it.
  void remove_left(const std::string& folder, const std::string& record);
  void on_piece(const wire::CheckpointPiece& piece);
  void tick();  // a few times a second: reports progress

  class Fetch;

 private:
  net::EventLoop& loop_;
  Ports ports_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::map<std::string, std::shared_ptr<Fetch>> fetches_;  // by the attempt's key
  std::map<std::string, std::weak_ptr<Fetch>> latest_;     // by the folder
  int ticks_ = 0;
  Threads threads_;
};

}  // namespace sl::agent
