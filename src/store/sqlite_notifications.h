// Notifications in SQLite, for this folder only.
#pragma once

#include "store/notification_rows.h"
#include "store/sqlite.h"

namespace sl::store {

class WriteNotifications {
 public:
  explicit WriteNotifications(soci::session& sql);
  void run(const Batch& batch);

 private:
  soci::session& sql_;
  Write channel_, delivery_;
};

std::vector<ChannelRow> select_channels(soci::session& sql);
// `rest` begins after "FROM deliveries ".
std::vector<DeliveryRow> select_deliveries(soci::session& sql, const std::string& rest);
std::string condition_of(const DeliveryQuery& query);

}  // namespace sl::store
