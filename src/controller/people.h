// Who may ask: the users that have a role, and named tokens, with which a user may ask from anywhere. Both are rows of
// the database; of a token's secret only a hash is there.
//
// Root and the controller's own user are admins, whatever rows say. Another user without a row has the role `user`: whoever holds the controller's token on its machine may submit. A named token
// never allows more than its user's role at the moment of the request; it may be limited to less, and it may expire.
// Only admins let servers in: a token with the role `agent`, whose name is that of its server, holds while its user is one.
//
//   slt_ID_SECRET   as it is given to its holder, once. The ID finds the row, the hash of the whole is compared.
//
// Any thread may ask; changes are made on the core's thread, one after the other, and hold once they are durable.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "controller/identity.h"
#include "store/store.h"

namespace sl::controller {

struct NewToken {
  std::string user, name;
  std::optional<Role> role;  // at most this one; nothing: that of the user
  Instant expires = Instant::never();
};

Error no_such_user(const std::string& name);  // "user-not-found"
Error not_your_server(const std::string& own, const std::string& asked);
// When a token ends that is made now. Error "bad-expiry".
Result<Instant> expiry_of_token(const std::optional<std::int64_t>& expires_in_s, Instant now);

class People {
 public:
  // Writes; `done` is called on the core's thread.
  using Commit = std::function<void(store::Batch, std::function<void(const Status&)> done)>;
  // `admins`: users who always are.
  People(const store::People& rows, Commit commit, std::function<Instant()> clock, std::set<std::string> admins = {});

  // ---- who asks ----
  // Whether a secret has the form of a named token. It need not be one.
  static bool is_named(std::string_view secret);
  // Errors: "wrong-token", "token-expired", "role-above".
  Result<Identity> holder_of(std::string_view secret);
  // The same identity as its role is now. Nothing: what it rests on has been revoked or has expired, or it names another
  // user, which it may not do any more.
  std::optional<Identity> confirm(const Identity& identity) const;
  Role role_of(const std::string& user) const;
  // Who follows a link for `user` that an admin makes, on the basis `maker`. Error "user-not-found": there is neither a row
  // of that user, nor is it one who always is an admin.
  Result<Identity> follower_of_link(const std::string& user, const std::string& maker) const;

  // ---- changes, on the core's thread ----
  using Told = std::function<void(const Status&)>;
  // Errors: "bad-user-name"; "user-exists" if `is_new`, else "user-not-found".
  void set_user(const std::string& name, Role role, bool is_new, const std::string& by, Told done);
  void remove_user(const std::string& name, Told done);  // with his tokens. Error "user-not-found"
  // `done` gets the row and the secret. Errors: "bad-token-name", "token-exists", "user-not-found" unless `by` makes it
  // for himself, "role-above" if it is to allow more than its user or `by` may do, "expiry-beyond" if it is to hold longer
  // than the token that `by` rests on (without an expiry of its own it ends with that one), "too-many-tokens". No two
  // tokens with the role `agent` have the same name.
  struct Made {
    store::TokenRow row;
    std::string secret;
  };
  void add_token(const NewToken& wanted, const Identity& by, std::function<void(Result<Made>)> done);
  void remove_token(const std::string& id, Told done);  // error "token-not-found"
  // Writes when tokens were last used, at most once a minute.
  void on_turn(Instant now);

  // ---- what is shown ----
  std::vector<store::UserRow> users() const;                           // by name
  std::vector<store::TokenRow> tokens(const std::string& user) const;  // by user and name; empty: everybody's
  std::optional<store::TokenRow> find_token(const std::string& id) const;
  Role role_of(const store::TokenRow& token) const;

 private:
  using Rows = std::function<Result<store::People>()>;  // what to write, decided when it is its turn
  void change(Rows rows, Told done);
  void begin_next();
  void take_over(const store::People& rows);
  // Whose rights a basis gives at the moment; of "controller" nobody is named. Nothing: it holds no longer.
  std::optional<Identity> holder_of_basis(const std::string& basis) const;
  std::optional<Identity> holder_of_link(const std::string& basis, const std::string& link) const;
  Role role_locked(const std::string& user) const;
  Role role_locked(const store::TokenRow& token) const;
  Identity identity_locked(const store::TokenRow& token) const;
  // Errors: "token-expired", "role-above".
  Status check_locked(const store::TokenRow& token) const;
  // Whether there may be this token too. Errors: "token-exists", "too-many-tokens".
  Status check_room(const store::TokenRow& row) const;
  Instant expiry_of(const Identity& identity) const;
  bool has_expired(const store::TokenRow& token) const {
    return token.expires_us != 0 && token.expires_us <= clock_().us;
  }

  const Commit commit_;
  const std::function<Instant()> clock_;
  const std::set<std::string> admins_;
  mutable std::mutex mutex_;                       // guards the next two
  std::map<std::string, store::UserRow> users_;    // only written on the core's thread
  std::map<std::string, store::TokenRow> tokens_;  // by id
  // Of the core's thread.
  std::deque<std::pair<Rows, Told>> waiting_;
  bool is_writing_ = false;
  Instant uses_written_;
};

// Error "role-needed".
Status check_role(const Identity& identity, Role needed);

}  // namespace sl::controller
