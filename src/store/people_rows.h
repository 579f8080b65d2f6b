// Who may ask (controller/people.h), and what admins tell all of them (controller/announcements.h). Rows are complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sl::store {

struct UserRow {
  std::int64_t made_us = 0;
  std::string name, role;  // "viewer", "user", "admin"; empty: removed
  std::string by;          // the admin who set the role
  friend bool operator==(const UserRow&, const UserRow&) = default;
};

struct TokenRow {
  std::int64_t made_us = 0, expires_us = 0, used_us = 0;  // 0: never
  std::string id, hash;    // `hash`: SHA-256 of the secret, in hexadecimal; empty: the token has been removed
  std::string user, name;  // one name once per user
  std::string role;        // at most this one; empty: whatever the user has
  std::string by;          // who made it
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

struct AnnouncementRow {
  std::int64_t made_us = 0, until_us = 0;  // `until_us` 0: until it is removed
  std::string id, text;                    // empty text: removed
  std::string by;
  friend bool operator==(const AnnouncementRow&, const AnnouncementRow&) = default;
};

struct People {
  std::vector<UserRow> users;                  // by name
  std::vector<TokenRow> tokens;                // by user and name
  std::vector<AnnouncementRow> announcements;  // the oldest first
  friend bool operator==(const People&, const People&) = default;
};

}  // namespace sl::store
