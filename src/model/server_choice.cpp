#include "model/server_choice.h"

#include <algorithm>
#include <functional>

namespace sl {
namespace {

bool matches_any(const ServerDescription& server, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == server.name || std::ranges::find(server.labels, word) != server.labels.end();
  });
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

}  // namespace

ServerChoice::ServerChoice(std::vector<std::string> on, std::vector<std::string> not_on) {
  if (!on.empty() || !not_on.empty()) rule_ = std::make_shared<const Rule>(Rule{std::move(on), std::move(not_on)});
}

bool ServerChoice::allows(const ServerDescription& server) const {
  return !rule_ || ((rule_->on.empty() || matches_any(server, rule_->on)) && !matches_any(server, rule_->not_on));
}

std::size_t ServerChoice::hash() const { return std::hash<std::string>()(text()); }

std::string ServerChoice::text() const {
  if (!rule_) return "";
  const std::string on = joined(rule_->on), not_on = joined(rule_->not_on);
  return (on.empty() ? "" : "on " + on) + (on.empty() || not_on.empty() ? "" : ", ") +
         (not_on.empty() ? "" : "not on " + not_on);
}

}  // namespace sl
