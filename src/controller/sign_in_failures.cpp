#include "controller/sign_in_failures.h"

#include <algorithm>

namespace sl::controller {
namespace {

constexpr Duration quiet = Duration::whole_seconds(60), hour = Duration::whole_seconds(3600);
constexpr int free_failures = 3;  // typing errors
constexpr int delay_s_max = 5;
constexpr int events_of_hour_max = 100;
constexpr std::size_t senders_max = 10'000;

bool is_power_of_ten(int n) {
  while (n > 1 && n % 10 == 0) n /= 10;
  return n == 1;
}

}  // namespace

SignInFailures::Consequence SignInFailures::failed(const std::string& name, Instant now) {
  if (senders_.size() >= senders_max && !senders_.contains(name)) {
    std::erase_if(senders_, [now](const auto& item) { return item.second.last + quiet <= now; });
    if (senders_.size() >= senders_max) senders_.clear();
  }
  Sender& sender = senders_[name];
  if (!sender.since.happened() || sender.since + hour <= now) sender.since = now, sender.failures = 0;
  if (!sender.last.happened() || sender.last + quiet <= now) sender.in_a_row = 0;
  sender.last = now, ++sender.failures, ++sender.in_a_row;
  if (!hour_.happened() || hour_ + hour <= now) hour_ = now, recorded_ = 0;
  Consequence consequence{Duration::whole_seconds(std::clamp(sender.in_a_row - free_failures, 0, delay_s_max)), {}};
  if (is_power_of_ten(sender.failures) && recorded_ < events_of_hour_max) {
    ++recorded_;
    consequence.to_record = sender.failures;
  }
  return consequence;
}

}  // namespace sl::controller
