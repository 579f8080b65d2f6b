// The policy `auto` on a live cluster: while it is in force and jobs wait, its candidates are continued from the present now
// and then (tried_policies.h), or the jobs of the last hours run again under each (past_window.h), and the best becomes the acting one (forecast/choice.h): a change of its parameter like one
// by a user, so it is recorded and durable. Used by the core's thread.
#pragma once

#include <string>

#include "controller/past_window.h"
#include "forecast/choice.h"
#include "policies/adaptive/auto.h"

namespace sl::controller {

class AutoPolicy {
 public:
  AutoPolicy(Logic& logic, Forecasts& forecasts)
      : logic_(logic), forecasts_(forecasts), window_(logic, forecast::window_jobs_most, Duration::infinite()) {}
  void on_turn(Instant now);

 private:
  void read_parameters();
  void ask(Instant now);
  void look_back(Instant now);
  void change(const std::vector<forecast::Trial>& trials, Instant now);

  Logic& logic_;
  Forecasts& forecasts_;
  std::int64_t since_us_ = -1;  // of the policy in force whose parameters these are
  PolicyChange current_;
  AutoParameters parameters_;
  forecast::ChoiceRules rules_;
  PastWindow window_;
  forecast::PastCosts past_;
  Instant next_;
  bool is_busy_ = false;
};

}  // namespace sl::controller
