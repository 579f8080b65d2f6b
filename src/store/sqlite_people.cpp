#include "store/sqlite_people.h"

#include <array>

namespace sl::store {
namespace {

// Each row as its numbers and its texts, in the order of the columns.
template <typename Row>
struct Columns;

template <>
struct Columns<UserRow> {
  static constexpr const char *table = "users", *names = "made_us, name, role, by_whom", *removed = "role";
  static constexpr const char* order = "name";
  static auto numbers(auto& r) { return std::array{&r.made_us}; }
  static auto texts(auto& r) { return std::array{&r.name, &r.role, &r.by}; }
};
template <>
struct Columns<TokenRow> {
  static constexpr const char *table = "tokens", *removed = "hash", *order = "user_name, name";
  static constexpr const char* names = "made_us, expires_us, used_us, id, hash, user_name, name, role, by_whom";
  static auto numbers(auto& r) { return std::array{&r.made_us, &r.expires_us, &r.used_us}; }
  static auto texts(auto& r) { return std::array{&r.id, &r.hash, &r.user, &r.name, &r.role, &r.by}; }
};
template <>
struct Columns<AnnouncementRow> {
  static constexpr const char *table = "announcements", *names = "made_us, until_us, id, text, by_whom";
  static constexpr const char *removed = "text", *order = "made_us, id";
  static auto numbers(auto& r) { return std::array{&r.made_us, &r.until_us}; }
  static auto texts(auto& r) { return std::array{&r.id, &r.text, &r.by}; }
};

template <typename Row>
constexpr std::size_t number_count = std::tuple_size_v<decltype(Columns<Row>::numbers(std::declval<Row&>()))>;
template <typename Row>
constexpr std::size_t text_count = std::tuple_size_v<decltype(Columns<Row>::texts(std::declval<Row&>()))>;

template <typename Row>
Write writing(soci::session& sql) {
  return {sql, insert_query("REPLACE", Columns<Row>::table, Columns<Row>::names, number_count<Row> + text_count<Row>),
          number_count<Row>, text_count<Row>};
}

template <typename Row>
void write_all(Write& write, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::size_t i = 0, k = 0;
    for (const std::int64_t* number : Columns<Row>::numbers(row)) write.number(i++, *number);
    for (const std::string* text : Columns<Row>::texts(row)) write.text(k++, *text);
    write.run();
  }
}

template <typename Row>
std::vector<Row> select_all(soci::session& sql) {
  using C = Columns<Row>;
  Select s(
      sql,
      std::string("SELECT ") + C::names + " FROM " + C::table + " WHERE " + C::removed + " <> '' ORDER BY " + C::order,
      number_count<Row>, text_count<Row>);
  std::vector<Row> rows;
  while (s.next()) {
    Row& row = rows.emplace_back();
    std::size_t i = 0, k = 0;
    for (std::int64_t* number : C::numbers(row)) *number = s.whole(i++);
    for (std::string* text : C::texts(row)) *text = s.text(k++);
  }
  return rows;
}

template <typename Row>
void forget_removed(soci::session& sql) {
  sql << std::string("DELETE FROM ") + Columns<Row>::table + " WHERE " + Columns<Row>::removed + " = ''";
}

}  // namespace

WritePeople::WritePeople(soci::session& sql)
    : user_(writing<UserRow>(sql)), token_(writing<TokenRow>(sql)), announcement_(writing<AnnouncementRow>(sql)) {}

void WritePeople::run(const People& people) {
  write_all(user_, people.users);
  write_all(token_, people.tokens);
  write_all(announcement_, people.announcements);
}

People select_people(soci::session& sql) {
  return {select_all<UserRow>(sql), select_all<TokenRow>(sql), select_all<AnnouncementRow>(sql)};
}

void forget_removed_people(soci::session& sql) {
  forget_removed<UserRow>(sql);
  forget_removed<TokenRow>(sql);
  forget_removed<AnnouncementRow>(sql);
}

}  // namespace sl::store
