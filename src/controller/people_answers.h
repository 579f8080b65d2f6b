// Users, tokens, sign-ins and announcements as REST answers them.
#pragma once

#include "controller/answers.h"

namespace sl::controller::answers {

inline std::optional<Time> time_unless_zero(std::int64_t us) {
  return us == 0 ? std::nullopt : std::optional(Time{us});
}

struct SignedOut {
  bool signed_out = true;
};
BOOST_DESCRIBE_STRUCT(SignedOut, (), (signed_out))

struct Link {
  Text code, fragment;
  Time expires_at;
};
BOOST_DESCRIBE_STRUCT(Link, (), (code, fragment, expires_at))

struct User {
  Text name, role;
  Time since;
  Text by;
  Number tokens = 0;
};
BOOST_DESCRIBE_STRUCT(User, (), (name, role, since, by, tokens))

struct RemovedUser {
  Text name;
  bool removed = true;
};
BOOST_DESCRIBE_STRUCT(RemovedUser, (), (name, removed))

// Without its secret.
struct Token {
  Text id, name, user, role;  // `role`: what it allows now
  Time made_at;
  std::optional<Time> expires_at, used_at;
  Text by;
  bool expired = false;
};
BOOST_DESCRIBE_STRUCT(Token, (), (id, name, user, role, made_at, expires_at, used_at, by, expired))

struct NewToken : Token {
  Text token;  // the secret: only now
};
BOOST_DESCRIBE_STRUCT(NewToken, (Token), (token))

// One that may join.
struct NewServer {
  Text name, url;
  Text command;          // to be run there
  Text token, token_id;  // the secret is only here, and in `command`
  std::optional<Time> expires_at;
};
BOOST_DESCRIBE_STRUCT(NewServer, (), (name, url, command, token, token_id, expires_at))

struct RemovedToken {
  Text id;
  bool removed = true;
};
BOOST_DESCRIBE_STRUCT(RemovedToken, (), (id, removed))

struct Announcement {
  Text id, text, by;
  Time made_at;
  std::optional<Time> until;
};
BOOST_DESCRIBE_STRUCT(Announcement, (), (id, text, by, made_at, until))

struct RemovedAnnouncement {
  Text id;
  bool removed = true;
};
BOOST_DESCRIBE_STRUCT(RemovedAnnouncement, (), (id, removed))

}  // namespace sl::controller::answers
