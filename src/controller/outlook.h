// What is known of the future, ready to be shown: the latest forecast, and how earlier ones held. Written by the
// forecast's thread, read by any.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "forecast/record.h"

namespace sl::controller {

struct Prospects {
  forecast::Forecast forecast;                                            // with the ranges to show
  std::vector<std::string> servers;                                       // names, by index
  std::vector<forecast::HitRate> record;                                  // of ranges whose time is over
  std::size_t open = 0;                                                   // ranges whose time is not over
  std::vector<std::pair<std::string, forecast::Correction>> corrections;  // by target and horizon, for reports
  std::int64_t version = 0;                                               // of the state that it begins with
  Duration took;
};

class Outlook {
 public:
  // Null before the first.
  std::shared_ptr<const Prospects> latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  void publish(std::shared_ptr<const Prospects> next) {
    const std::lock_guard lock(mutex_);
    latest_ = std::move(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Prospects> latest_;
};

}  // namespace sl::controller
