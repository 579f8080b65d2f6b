// The controller's process, its database, and clients that submit and cancel.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>

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
  // A session of an agent; call while the controller is alive.
  void accept(const Network::SessionPtr& session);

  // ---- clients: they ask while the controller can hear them; what must happen is repeated until answered ----
  void submit(const std::string& key, wire::JobSpec spec);
  void cancel_some();
  void reprioritise_some();
  void intervene_in_some();  // suspends, resumes, migrates, scales
  void cancel(std::int64_t job);
  void release_held(bool also_waiting);         // `also_waiting`: also jobs that wait to be started again
  void switch_policy(const std::string& name);  // NAME.py: a user's own policy, which decides like the built-in NAME
  void drain(int server);
  void undrain(int server);
  void declare_lost(int server);
  void read_some_output();

  const std::map<std::int64_t, store::JobRow>& durable_jobs() const { return disk_.jobs; }
  bool is_quiet() const { return why_not_quiet().empty(); }
  std::string why_not_quiet() const;
  void fill_disk(Duration time) { full_until_ = context_.heap.now() + time; }

 private:
  struct Disk {
    std::map<std::int64_t, store::JobRow> jobs;
    std::map<std::tuple<std::int64_t, std::int64_t, int>, store::PlacementRow> placements;  // by rank
    std::map<std::int64_t, store::IdempotencyRow> keys;                                     // by job
    std::vector<store::ServerRow> servers;
    std::map<std::string, std::string> settings = {{"cluster_id", "c"}};
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
  const store::JobRow* any_job();
  void ask(std::function<void()> what);
  // Whoever asks is answered once, unless the controller dies.
  template <typename Answer>
  std::function<void(Answer)> answer_to(std::function<void(const Answer&)> client);
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
  Instant policies_made_at_;  // when all requested policies will have been made
  int unanswered_ = 0;        // requests
};

}  // namespace sl::dst
