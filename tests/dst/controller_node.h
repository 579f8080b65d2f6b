// The controller's process, its database, and clients that submit and cancel.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "controller/logic.h"
#include "dst/network.h"

namespace sl::dst {

class ControllerNode : private controller::Outside {
 public:
  ControllerNode(Context& context, Network& network) : context_(context), network_(network), node_(context.heap) {
    node_.on_death = [this] { died(); };
  }
  void boot();
  Node& node() { return node_; }
  bool alive() const { return node_.alive(); }
  // A session of an agent; call when it is alive.
  void accept(const Network::SessionPtr& session);

  // ---- clients ----
  void submit(const std::string& key, wire::JobSpec spec);
  void cancel_some();
  void switch_policy(const std::string& name);  // NAME.py: a user's own, which decides as the built-in NAME does

  const std::map<std::int64_t, store::JobRow>& durable_jobs() const { return disk_.jobs; }
  bool is_quiet() const;
  void fill_disk(Duration time) { full_until_ = context_.heap.now() + time; }

 private:
  struct Disk {
    std::map<std::int64_t, store::JobRow> jobs;
    std::map<std::string, store::IdempotencyRow> keys;
    std::vector<store::ServerRow> servers;
    std::map<std::string, std::string> settings;
    std::vector<store::PolicyRow> policies;
    std::int64_t next_event = 1, last_event_us = 0;
  };

  // ---- Outside ----
  void commit(store::Batch batch) override;
  void send(controller::SessionId session, const wire::ControllerMessage& message) override;
  void close(controller::SessionId session, const std::string& why) override;
  void make_policy(const controller::PolicyChange& change) override;

  void died();
  void turn();
  void arm();
  void write(const store::Batch& batch);
  void try_submit(const std::string& key, const wire::JobSpec& spec);
  store::Loaded load() const;

  Context& context_;
  Network& network_;
  Node node_;
  Disk disk_;
  std::optional<store::Batch> in_flight_;
  std::vector<store::Batch> unsynced_;  // only with the planted fault
  Instant full_until_;
  std::unique_ptr<controller::Logic> logic_;
  std::map<controller::SessionId, Network::SessionPtr> sessions_;
  Instant armed_ = Instant::never();
  Instant policies_made_at_;  // all that were asked for
};

}  // namespace sl::dst
