// A policy that a user has follow the live events beside the one in force (forecast/shadow.h): which one, asking now and then
// how much better or worse it would have done, and what was found. It decides nothing. Used by the core's thread; the
// forecast's thread continues the windows.
//
// Another window (past_window.h) begins also when the policy in force changes and after a day.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/past_window.h"
#include "controller/requests.h"

namespace sl::controller {

class Shadow {
 public:
  // `settings`: as the database has them.
  Shadow(Logic& logic, Forecasts& forecasts, const std::vector<store::SettingRow>& settings);

  void start(History& history);  // with what was found earlier
  void on_turn(Instant now);

  // Nothing: no policy follows from now on. `done` is called when that is durable. Errors: those of making a policy;
  // "no-forecasts", "own-shadow".
  void follow(std::optional<PolicyChange> policy, const std::string& by, Instant now, Logic::Told done);
  struct Followed {
    PolicyChange policy;
    std::string by;
    std::int64_t since_us = 0;
  };
  const std::optional<Followed>& followed() const { return followed_; }
  const std::deque<store::RegretRow>& found() const { return found_; }            // oldest first
  std::vector<store::RegretRow> take_rows() { return std::exchange(rows_, {}); }  // to be written with the next commit

 private:
  void ask(std::shared_ptr<const WindowQuestion> past, Instant now);
  void note(const std::optional<forecast::Regret>& regret, std::int64_t window, const std::string& in_force);

  Logic& logic_;
  Forecasts& forecasts_;
  PastWindow window_;
  std::optional<Followed> followed_;
  std::deque<store::RegretRow> found_;
  std::vector<store::RegretRow> rows_;
  Instant next_;
  bool is_busy_ = false;
};

}  // namespace sl::controller
