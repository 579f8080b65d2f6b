// On which servers a job may run: on those with one of certain names or labels, or on all but those. By default on any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/server.h"

namespace sl {

// Cheap to copy, and compared by what it says.
class ServerChoice {
 public:
  ServerChoice() = default;
  // Each is the name of a server ("gpu4") or a label ("rack=a"). `on` empty: any server but those of `not_on`.
  ServerChoice(std::vector<std::string> on, std::vector<std::string> not_on);

  bool is_any() const { return !rule_; }
  bool allows(const ServerDescription& server) const;
  std::size_t hash() const;
  std::string text() const;  // "on gpu4 or rack=a, not on gpu5"
  friend bool operator==(const ServerChoice& a, const ServerChoice& b) {
    return a.rule_ == b.rule_ || (a.rule_ && b.rule_ && *a.rule_ == *b.rule_);
  }
  friend bool operator<(const ServerChoice& a, const ServerChoice& b) {
    return b.rule_ && (!a.rule_ || *a.rule_ < *b.rule_);
  }

 private:
  struct Rule {
    std::vector<std::string> on, not_on;
    friend auto operator<=>(const Rule&, const Rule&) = default;
  };
  std::shared_ptr<const Rule> rule_;  // null: any
};

}  // namespace sl
