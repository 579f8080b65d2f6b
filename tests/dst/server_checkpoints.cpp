// Checkpoints on the disk of a simulated server, and their way to another one. Every attempt with a checkpoint folder
// writes its name into it when it starts.
#include "dst/server_worlds.h"

namespace sl::dst {

void ServerNode::use_checkpoint(AttemptKey key) {
  const auto found = disk_.checkpoints.find(key.job);
  context_.judge.continues(key, found == disk_.checkpoints.end() ? std::optional<AttemptKey>() : found->second);
  disk_.checkpoints[key.job] = key;
}

void ServerNode::offer(const wire::OfferCheckpoint& order) {
  agent_node_.post(context_.between(0.001, 0.5), [this, order] {
    wire::CheckpointOffered offered;
    offered.incarnation = order.incarnation;
    const auto found = disk_.checkpoints.find(order.source.job);
    const bool is_there = found != disk_.checkpoints.end();
    if (!is_there && !context_.judge.has_containers(order.source.job))
      throw Violation("there is no checkpoint of " + key_of(order.source));
    if (context_.chance(0.03)) {
      offered.error = "it cannot be read";
      if (is_there) context_.judge.cannot_be_copied(found->second);
    } else {
      offers_.insert(key_of(order.incarnation));
    }
    agent_->on_offered(offered);
  });
}

void ServerNode::fetch(const std::string& key, const std::string& source) {
  const int number = ++fetches_ever_;
  fetches_[key] = {source, number};
  note(fmt::format("fetches the checkpoint of {} from {}", key, source));
  agent_node_.post(context_.between(0.01, context_.chance(0.2) ? 60 : 3),
                   [this, key, number] { look_at_fetch(key, number); });
}

bool ServerNode::gives(const std::string& key, int to) const {
  return has_power_ && agent_ && agent_node_.alive() && !agent_node_.frozen() && offers_.contains(key) &&
         !network_.is_cut(number_) && !network_.is_cut(to);
}

// What has come is complete, or it is cut and goes on later.
void ServerNode::look_at_fetch(const std::string& key, int number) {
  const auto at = fetches_.find(key);
  if (at == fetches_.end() || at->second.number != number) return;
  ServerNode& source = *context_.servers.at(at->second.source);
  if (!source.gives(key, number_) || context_.chance(0.2)) {
    agent_node_.post(context_.between(0.1, 5), [this, key, number] { look_at_fetch(key, number); });
    return;
  }
  fetches_.erase(at);
  if (!context_.calm && context_.heap.now() < full_until_)
    return agent_->on_fetched(key, unavailable("server_setup", "no space left"), boot_clock());
  const std::int64_t job = attempt_of(key).job;
  if (const auto left = source.disk_.checkpoints.find(job); left != source.disk_.checkpoints.end())
    disk_.checkpoints[job] = left->second;
  agent_->on_fetched(key, wire::CheckpointCopy{"copied", "", 1, 1}, boot_clock());
}

}  // namespace sl::dst
