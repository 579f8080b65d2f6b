#include "policies/adaptive/auto.h"

#include "base/check.h"
#include "policies/registry.h"
#include "policy/policy_wrapper.h"

namespace sl {
namespace {

constexpr const char* first_of_them = "first";

std::vector<ParameterInfo> auto_parameters(const std::vector<std::string>& names) {
  std::vector<std::string> acting = names;
  acting.insert(acting.begin(), first_of_them);
  return {
      {"candidates", ParameterType::names, "", "srsf,tiresias,fifo_easy", 0, 0, names,
       "the policies to choose among; the first acts until a forecast says otherwise"},
      {"objective",
       ParameterType::choice,
       "",
       "mean_jct",
       0,
       0,
       {"mean_jct", "makespan", "deadlines", "fairness"},
       "what is to be small: mean completion time, time until all jobs have ended, missed deadlines, unequal waiting"},
      {"every_s", ParameterType::number, "s", "300", 1, 1e6, {}, "how often the policies are compared"},
      {"hold_s", ParameterType::number, "s", "900", 0, 1e7, {}, "no change sooner than that after another one"},
      {"ahead_s",
       ParameterType::number,
       "s",
       "3600",
       1,
       1e7,
       {},
       "how far ahead time is counted for mean_jct, and for how long jobs come as they came in as long a time before"},
      {"gain_pct",
       ParameterType::number,
       "%",
       "2",
       0,
       100,
       {},
       "what a change must save of what is still ahead; by deadlines anything it saves counts"},
      {"acting", ParameterType::choice, "", first_of_them, 0, 0, acting,
       "the policy that decides, until the next change"},
  };
}

}  // namespace

AutoParameters read_auto(const Parameters& given) {
  AutoParameters read{.candidates = given.names("candidates"),
                      .objective = given.text("objective"),
                      .acting = given.text("acting"),
                      .every_s = given.number("every_s"),
                      .hold_s = given.number("hold_s"),
                      .ahead_s = given.number("ahead_s"),
                      .gain_pct = given.number("gain_pct")};
  if (read.acting == first_of_them) read.acting = read.candidates.front();
  return read;
}

PolicyEntry auto_entry(const std::vector<std::string>& names) {
  PolicyInfo info;
  info.name = auto_name;
  info.title = "Auto";
  info.summary = "Tries several policies on the present, again and again, and lets the best by an objective decide.";
  info.good_for = "loads whose nature changes, and clusters of which nobody knows which policy suits them";
  info.weak_for = "jobs about whose length nothing is known: the forecasts then say nothing";
  info.placement = "the server that the policy chooses which acts";
  info.needs = {run_time_or_history()};
  info.parameters = auto_parameters(names);
  info.preemptive = true;
  info.elastic = true;
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            auto acting = make_policy(read_auto(given).acting);
            SL_CHECK(acting.ok(), "a name that was checked is a policy's");
            return std::make_unique<PolicyWrapper>(std::move(*acting));
          }};
}

}  // namespace sl
