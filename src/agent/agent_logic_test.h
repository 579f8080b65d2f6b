// An agent's logic in a session, and what it asks of the world.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_logic.h"

namespace sl::agent {

// Records what the logic requests.
class Ports : public AgentPorts {
 public:
  void send(const wire::AgentMessage& message) override { sent.push_back(message); }
  Status launch(const std::string& key, const wire::StartAttempt&,
                const std::vector<wire::AttemptPart>& parts) override {
    launched.push_back(key);
    launched_with = parts;
    return cannot_launch;
  }
  Result<int> prepare(const std::string& key, const wire::StartAttempt&) override {
    prepared.push_back(key);
    return cannot_launch.ok() ? Result<int>(7000) : Result<int>(cannot_launch.error());
  }
  void abandon(const std::string& key) override { abandoned.push_back(key); }
  void fetch(const std::string& key, const wire::StartAttempt& order) override {
    fetched.push_back(key + " from " + order.checkpoint->server);
  }
  void find_image(const std::string& key, const wire::StartAttempt&) override { images.push_back(key); }
  void end_find_image(const std::string& key) override { images.push_back("end " + key); }
  void find_code(const std::string& key, const wire::StartAttempt&) override { code.push_back(key); }
  void end_find_code(const std::string& key) override { code.push_back("end " + key); }
  void end_fetch(const std::string& key, bool discards) override {
    fetched.push_back(key + (discards ? " gone" : " cut"));
  }
  void offer(const wire::OfferCheckpoint& order) override { offers.push_back(order); }
  void signal(const std::string& key, int number) override { signals.emplace_back(key, number); }
  void pass_on(const std::string& key, int number) override { passed_on.emplace_back(key, number); }
  void freeze(const std::string& key, bool frozen) override { freezes.push_back((frozen ? "freeze " : "thaw ") + key); }
  Status ask_to_resize(const std::string& key, const wire::ResizeAttempt& order) override {
    asked.push_back(key + " to " + join_gpus(order.placement.gpus));
    return cannot_ask;
  }
  Status keep_gpus(const std::string& key, const ResizedGpus& gpus) override { return kept[key] = gpus, Status(); }
  std::optional<ResizedGpus> kept_gpus(const std::string& key) override {
    const auto at = kept.find(key);
    return at == kept.end() ? std::nullopt : std::optional(at->second);
  }
  void forget(const std::string& key) override { forgotten.push_back(key); }
  void renew(Instant until) override { lease_until = until; }
  void disconnect() override { ++disconnects; }
  void remember(const KnownCluster& known) override { cluster = known; }
  const wire::AttemptReport& last_report() const { return std::get<wire::AttemptChanged>(sent.back()).report; }

  std::vector<wire::AgentMessage> sent;
  std::vector<std::string> images, code, launched, prepared, abandoned, forgotten, fetched, freezes, asked;
  std::map<std::string, ResizedGpus> kept;
  std::vector<wire::OfferCheckpoint> offers;
  std::vector<std::pair<std::string, int>> signals, passed_on;
  Instant lease_until;
  int disconnects = 0;
  KnownCluster cluster;
  Status cannot_launch;  // what launch() and prepare() answer
  Status cannot_ask;     // what ask_to_resize() answers
  std::vector<wire::AttemptPart> launched_with;
};

class AgentLogicTest : public testing::Test {
 protected:
  AgentLogicTest() {
    logic.on_launcher_listed();
    open_session();
  }
  void open_session() {
    logic.on_session_opened({}, now);
    logic.on_message(wire::Welcome{"", 1, 30}, now);
    seq = 0;
  }
  template <typename Order>
  void give(Order order) {
    order.seq = ++seq;
    logic.on_message(order, now);
  }
  void order_start(int attempt = 1, std::vector<int> gpus = {0}) {
    wire::StartAttempt order;
    order.incarnation = {"", 5, attempt, 0};
    order.placement.gpus = std::move(gpus);
    give(order);
  }
  std::int64_t seq = 0;
  Ports ports;
  AgentLogic logic{ports};
  Instant now = Instant::at_seconds(100);
};

}  // namespace sl::agent
