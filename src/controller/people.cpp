#include "controller/people.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "controller/secret_text.h"
#include "net/http.h"
#include "wire/names.h"
#include "wire/secrets.h"

namespace sl::controller {
namespace {

constexpr std::string_view secret_prefix = wire::named_token_prefix;
constexpr std::size_t id_bytes = 6, secret_bytes = 20;
constexpr std::size_t tokens_of_user_max = 100, tokens_of_servers_max = 10'000, users_max = 10'000;
constexpr std::int64_t expires_in_s_max = 10LL * 365 * 24 * 3600;
constexpr Duration uses_written_every = Duration::whole_seconds(60);
constexpr std::array roles = {"agent", "viewer", "user", "admin"};

// "ID" of "slt_ID_SECRET".
std::string_view id_of(std::string_view secret) {
  const std::size_t end = secret.find('_', secret_prefix.size());
  return end == std::string_view::npos ? "" : secret.substr(secret_prefix.size(), end - secret_prefix.size());
}

bool is_of_server(const store::TokenRow& token) { return token.role == name_of(Role::agent); }

Error wrong_token() { return denied("wrong-token", "this is not a token of this controller, or it has been revoked"); }

}  // namespace

Result<Instant> expiry_of_token(const std::optional<std::int64_t>& expires_in_s, Instant now) {
  if (!expires_in_s) return Instant::never();
  if (*expires_in_s < 1 || *expires_in_s > expires_in_s_max)
    return invalid("bad-expiry", "a token expires within 1 second to 10 years").at("/expires_in_s");
  return now + Duration::whole_seconds(*expires_in_s);
}

Error no_such_user(const std::string& name) {
  return not_found("user-not-found", "there is no user " + name).hint("schedulearn user add " + name);
}

Error not_your_server(const std::string& own, const std::string& asked) {
  return denied("not-your-server", fmt::format("this token was made for the server {}, not for {}", own, asked))
      .hint("schedulearn servers add " + asked);
}

std::string_view name_of(Role role) { return roles.at(static_cast<std::size_t>(role)); }

std::optional<Role> role_of_name(std::string_view name) {
  const auto found = std::ranges::find(roles, name);
  return found == roles.end() ? std::nullopt : std::optional(static_cast<Role>(found - roles.begin()));
}

Status check_role(const Identity& identity, Role needed) {
  if (identity.role >= needed) return {};
  if (identity.role == Role::agent && !identity.server.empty())
    return denied("role-needed", fmt::format("this needs the role {}, and this token is good for the server {} only",
                                             name_of(needed), identity.server))
        .hint("schedulearn token add NAME makes one for a user");
  return denied("role-needed", fmt::format("this needs the role {}, and {} has the role {}", name_of(needed),
                                           identity.user, name_of(identity.role)));
}

People::People(const store::People& rows, Commit commit, std::function<Instant()> clock, std::set<std::string> admins)
    : commit_(std::move(commit)), clock_(std::move(clock)), admins_(std::move(admins)) {
  take_over(rows);
}

// ---- who asks ----

bool People::is_named(std::string_view secret) { return secret.starts_with(secret_prefix); }

Result<Identity> People::holder_of(std::string_view secret) {
  const std::string digest = digest_of(secret);
  const std::lock_guard lock(mutex_);
  const auto at = tokens_.find(std::string(id_of(secret)));
  if (at == tokens_.end() || !same_secret(at->second.hash, digest)) return wrong_token();
  store::TokenRow& token = at->second;
  if (Status holds = check_locked(token); !holds.ok()) return holds.error();
  token.used_us = clock_().us;
  return identity_locked(token);
}

std::optional<Identity> People::confirm(const Identity& identity) const {
  auto now = holder_of_basis(identity.basis);
  const bool is_own = now && (now->user.empty() || now->user == identity.user);
  if (!now || (!is_own && now->role != Role::admin)) return std::nullopt;
  now->user = identity.user;
  return now;
}

std::optional<Identity> People::holder_of_basis(const std::string& basis) const {
  const std::size_t colon = basis.find(':');
  const std::string kind = basis.substr(0, colon), rest = colon == std::string::npos ? "" : basis.substr(colon + 1);
  if (kind == "controller") return Identity{"", Role::admin, basis};
  if (colon == std::string::npos) return std::nullopt;
  if (kind == "link") return holder_of_link(basis, rest);
  const std::lock_guard lock(mutex_);
  if (kind != "token") return Identity{rest, role_locked(rest), basis};
  const auto at = tokens_.find(rest);
  return at == tokens_.end() || !check_locked(at->second).ok() ? std::nullopt
                                                               : std::optional(identity_locked(at->second));
}

// `link`: "USER@SINCE:BASIS". Whoever was removed is signed out, also if there is a user of that name again, and so is
// everybody for whom one made a link who may not any more.
std::optional<Identity> People::holder_of_link(const std::string& basis, const std::string& link) const {
  const std::size_t colon = link.find(':');
  const auto maker = colon == std::string::npos ? std::nullopt : holder_of_basis(link.substr(colon + 1));
  if (!maker || maker->role != Role::admin) return std::nullopt;
  const auto now = follower_of_link(net::percent_decode(link.substr(0, link.find('@')), false), maker->basis);
  return now.ok() && now->basis == basis ? std::optional(*now) : std::nullopt;
}

Result<Identity> People::follower_of_link(const std::string& user, const std::string& maker) const {
  const std::lock_guard lock(mutex_);
  const auto at = users_.find(user);
  const bool is_always = admins_.contains(user);
  if (!is_always && at == users_.end()) return no_such_user(user);
  const std::int64_t since = is_always ? 0 : at->second.made_us;
  return Identity{user, role_locked(user), fmt::format("link:{}@{}:{}", net::percent_encode(user), since, maker)};
}

Role People::role_of(const std::string& user) const {
  const std::lock_guard lock(mutex_);
  return role_locked(user);
}
Role People::role_of(const store::TokenRow& token) const {
  const std::lock_guard lock(mutex_);
  return role_locked(token);
}

Role People::role_locked(const std::string& user) const {
  if (admins_.contains(user)) return Role::admin;
  const auto at = users_.find(user);
  return at == users_.end() ? Role::user : role_of_name(at->second.role).value_or(Role::viewer);
}
Role People::role_locked(const store::TokenRow& token) const {
  const Role most = token.role.empty() ? Role::admin : role_of_name(token.role).value_or(Role::viewer);
  return std::min(most, role_locked(token.user));
}

Identity People::identity_locked(const store::TokenRow& token) const {
  const Role role = role_locked(token);
  return {token.user, role, "token:" + token.id, role == Role::agent ? token.name : ""};
}

Status People::check_locked(const store::TokenRow& token) const {
  if (has_expired(token))
    return denied("token-expired", fmt::format("the token {} of {} has expired", token.name, token.user));
  if (is_of_server(token) && role_locked(token.user) != Role::admin)
    return denied("role-above", fmt::format("only admins let servers in, and {}, whose token {} is, is none any more",
                                            token.user, token.name));
  return {};
}

// ---- changes ----

void People::change(Rows rows, Told done) {
  waiting_.emplace_back(std::move(rows), std::move(done));
  if (!is_writing_) begin_next();
}

void People::begin_next() {
  while (!waiting_.empty()) {
    const auto [rows, done] = std::move(waiting_.front());
    waiting_.pop_front();
    const Result<store::People> wanted = rows();
    if (!wanted.ok()) {
      done(wanted.error());
      continue;
    }
    is_writing_ = true;
    store::Batch batch;
    batch.people = *wanted;
    return commit_(std::move(batch), [this, wanted, done](const Status& status) {
      if (status.ok()) take_over(*wanted);
      is_writing_ = false;
      done(status);
      if (!is_writing_) begin_next();
    });
  }
}

void People::take_over(const store::People& rows) {
  const std::lock_guard lock(mutex_);
  for (const store::UserRow& row : rows.users)
    row.role.empty() ? void(users_.erase(row.name)) : void(users_[row.name] = row);
  for (const store::TokenRow& row : rows.tokens)
    row.hash.empty() ? void(tokens_.erase(row.id)) : void(tokens_[row.id] = row);
}

void People::set_user(const std::string& name, Role role, bool is_new, const std::string& by, Told done) {
  if (!wire::is_name(name, "._-@+"))
    return done(invalid("bad-user-name", "a user's name has up to 64 letters, digits and . _ - @ +").at("/name"));
  if (admins_.contains(name)) return done(conflict("user-exists", name + " is always an admin of this controller"));
  change(
      [this, name, role, is_new, by]() -> Result<store::People> {
        const auto at = users_.find(name);
        if (is_new && at != users_.end())
          return conflict("user-exists", fmt::format("{} is a user already, with the role {}", name, at->second.role))
              .hint(fmt::format("schedulearn user set {} --role {}", name, name_of(role)));
        if (is_new && users_.size() >= users_max)
          return conflict("too-many-users", fmt::format("there are {} users", users_.size()));
        if (!is_new && at == users_.end()) return no_such_user(name);
        const std::int64_t made = is_new ? clock_().us : at->second.made_us;
        return store::People{.users = {{made, name, std::string(name_of(role)), by}}};
      },
      std::move(done));
}

void People::remove_user(const std::string& name, Told done) {
  change(
      [this, name]() -> Result<store::People> {
        const auto at = users_.find(name);
        if (at == users_.end()) return no_such_user(name);
        store::People rows{.users = {at->second}, .tokens = tokens(name)};
        rows.users.front().role.clear();
        for (store::TokenRow& token : rows.tokens) token.hash.clear();
        return rows;
      },
      std::move(done));
}

// Of the token that it rests on.
Instant People::expiry_of(const Identity& identity) const {
  const std::string_view id = token_of(identity.basis);
  if (id.empty()) return Instant::never();
  const auto token = find_token(std::string(id));
  if (!token) return clock_();  // revoked meanwhile
  return token->expires_us == 0 ? Instant::never() : Instant{token->expires_us};
}

// Tokens of servers are counted together, and those of each user.
Status People::check_room(const store::TokenRow& row) const {
  std::size_t alike = 0;
  for (const auto& [id, other] : tokens_) {
    const bool is_own = other.user == row.user;
    const bool is_alike = is_of_server(other) == is_of_server(row) && (is_of_server(row) || is_own);
    if (other.name == row.name && (is_alike || is_own))
      return conflict("token-exists", fmt::format("{} has a token {}", other.user, row.name))
          .hint(fmt::format("revoke it: schedulearn token rm {} --user {}", row.name, other.user))
          .hint("or choose another name")
          .at("/name");
    alike += is_alike ? 1 : 0;
  }
  if (alike < (is_of_server(row) ? tokens_of_servers_max : tokens_of_user_max)) return {};
  return conflict("too-many-tokens",
                  fmt::format("{} {} tokens", is_of_server(row) ? "servers have" : row.user + " has", alike));
}

void People::add_token(const NewToken& wanted, const Identity& by, std::function<void(Result<Made>)> done) {
  const Role most = by.role;
  const Instant latest = expiry_of(by);
  if (!wire::is_name(wanted.name, "._-"))
    return done(invalid("bad-token-name", "the name of a token or a server has up to 64 letters, digits and . _ -")
                    .at("/name"));
  if (!wanted.expires.is_never() && wanted.expires > latest)
    return done(denied("expiry-beyond", "a token made with a token expires no later than that one does")
                    .hint("leave the expiry out: it then ends at the same time")
                    .at("/expires_in_s"));
  const Instant expires = std::min(wanted.expires, latest);
  const std::string id = random_text(id_bytes);
  // Who may do less than an admin, perhaps by a token that allows less than its user may, hands on no more than that.
  const bool is_limited = wanted.role || most != Role::admin;
  Made made{.secret = fmt::format("{}{}_{}", secret_prefix, id, random_text(secret_bytes))};
  made.row = {.made_us = clock_().us,
              .expires_us = expires.is_never() ? 0 : expires.us,
              .id = id,
              .hash = digest_of(made.secret),
              .user = wanted.user,
              .name = wanted.name,
              .role = is_limited ? std::string(name_of(wanted.role.value_or(most))) : "",
              .by = by.user};
  change(
      [this, row = made.row, most]() -> Result<store::People> {
        if (row.user != row.by && !users_.contains(row.user) && !admins_.contains(row.user))
          return no_such_user(row.user);
        if (Status has_room = check_room(row); !has_room.ok()) return has_room.error();
        const Role highest = std::min(most, role_locked(row.user));
        const Role needed = is_of_server(row) ? Role::admin : role_of_name(row.role).value_or(highest);
        if (needed > highest)
          return denied("role-above",
                        fmt::format("a token of {} allows no more than the role {}", row.user, name_of(highest)))
              .at("/role");
        return store::People{.tokens = {row}};
      },
      [made, done = std::move(done)](const Status& status) { status.ok() ? done(made) : done(status.error()); });
}

void People::remove_token(const std::string& id, Told done) {
  change(
      [this, id]() -> Result<store::People> {
        auto row = find_token(id);
        if (!row) return not_found("token-not-found", "there is no token " + id).hint("schedulearn token ls");
        row->hash.clear();
        return store::People{.tokens = {*row}};
      },
      std::move(done));
}

void People::on_turn(Instant now) {
  if (is_writing_ || (uses_written_.happened() && now < uses_written_ + uses_written_every)) return;
  const Instant since = std::exchange(uses_written_, now);
  store::Batch batch;
  for (const store::TokenRow& row : tokens("")) {
    if (since.happened() && row.used_us >= since.us) batch.people.tokens.push_back(row);
  }
  if (batch.people.tokens.empty()) return;
  is_writing_ = true;
  commit_(std::move(batch), [this](const Status&) {
    is_writing_ = false;
    begin_next();
  });
}

// ---- what is shown ----

std::vector<store::UserRow> People::users() const {
  const std::lock_guard lock(mutex_);
  std::vector<store::UserRow> rows;
  for (const auto& [name, row] : users_) rows.push_back(row);
  return rows;
}

std::vector<store::TokenRow> People::tokens(const std::string& user) const {
  const std::lock_guard lock(mutex_);
  std::vector<store::TokenRow> rows;
  for (const auto& [id, row] : tokens_) {
    if (user.empty() || row.user == user) rows.push_back(row);
  }
  std::ranges::sort(rows, {}, [](const store::TokenRow& row) { return std::pair(row.user, row.name); });
  return rows;
}

std::optional<store::TokenRow> People::find_token(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto at = tokens_.find(id);
  return at == tokens_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace sl::controller
