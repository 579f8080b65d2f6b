#include "store/sqlite_notifications.h"

namespace sl::store {
namespace {

const std::string delivery_columns =
    "made_us, next_us, tried_us, tries, status, job_id, id, owner, channel, receiver, user_name, event, state, why, "
    "body";
constexpr std::size_t delivery_number_count = 6, delivery_text_count = 9;

template <typename Row>  // DeliveryRow or const DeliveryRow
auto delivery_texts_of(Row& r) {
  return std::array{&r.id, &r.owner, &r.channel, &r.receiver, &r.user, &r.event, &r.state, &r.why, &r.body};
}

std::string replacing_query() {
  return insert_query("INSERT", "deliveries", delivery_columns, delivery_number_count + delivery_text_count) +
         " ON CONFLICT(id) DO UPDATE SET next_us=excluded.next_us, tried_us=excluded.tried_us, tries=excluded.tries, "
         "status=excluded.status, state=excluded.state, why=excluded.why";
}

}  // namespace

WriteNotifications::WriteNotifications(soci::session& sql)
    : sql_(sql),
      channel_(sql, insert_query("REPLACE", "channels", "owner, name, settings_json", 3), 0, 3),
      delivery_(sql, replacing_query(), delivery_number_count, delivery_text_count) {}

void WriteNotifications::run(const Batch& batch) {
  for (const ChannelRow& row : batch.channels) {
    channel_.text(0, row.owner), channel_.text(1, row.name), channel_.text(2, row.settings_json);
    channel_.run();
  }
  for (const DeliveryRow& row : batch.deliveries) {
    const std::array<Number, delivery_number_count> numbers = {row.made_us, row.next_us, row.tried_us,
                                                               row.tries,   row.status,  row.job_id};
    for (std::size_t i = 0; i < numbers.size(); ++i) delivery_.number(i, numbers[i]);
    const auto texts = delivery_texts_of(row);
    for (std::size_t i = 0; i < texts.size(); ++i) delivery_.text(i, *texts[i]);
    delivery_.run();
  }
  if (!batch.deliveries.empty())
    sql_ << "DELETE FROM deliveries WHERE next_us = 0 AND number <= (SELECT number FROM deliveries WHERE next_us = 0 "
            "ORDER BY number DESC LIMIT 1 OFFSET " +
                std::to_string(deliveries_max) + ")";
}

std::vector<ChannelRow> select_channels(soci::session& sql) {
  std::vector<ChannelRow> rows;
  Select s(sql, "SELECT owner, name, settings_json FROM channels WHERE settings_json <> '' ORDER BY owner, name", 0, 3);
  while (s.next()) rows.push_back({s.text(0), s.text(1), s.text(2)});
  return rows;
}

std::vector<DeliveryRow> select_deliveries(soci::session& sql, const std::string& rest) {
  Select s(sql, "SELECT number, " + delivery_columns + " FROM deliveries " + rest, delivery_number_count + 1,
           delivery_text_count);
  std::vector<DeliveryRow> rows;
  while (s.next()) {
    DeliveryRow& row = rows.emplace_back();
    row.number = s.whole(0), row.made_us = s.whole(1), row.next_us = s.whole(2), row.tried_us = s.whole(3);
    row.tries = static_cast<int>(s.whole(4)), row.status = static_cast<int>(s.whole(5)), row.job_id = s.number(6);
    const auto texts = delivery_texts_of(row);
    for (std::size_t i = 0; i < texts.size(); ++i) *texts[i] = s.text(i);
  }
  return rows;
}

std::string condition_of(const DeliveryQuery& query) {
  std::string sql = "WHERE number < " + std::to_string(query.before);
  const std::string reader = sql_literal(query.reader);
  if (!query.reader.empty()) sql += " AND (owner = " + reader + " OR user_name = " + reader + ")";
  if (!query.channel.empty()) sql += " AND channel = " + sql_literal(query.channel);
  return sql + " ORDER BY number DESC LIMIT " + std::to_string(query.limit);
}

}  // namespace sl::store
