#include "controller/people.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "controller/admission.h"
#include "controller/sign_in_failures.h"

namespace sl::controller {
namespace {

// People with a disk that writes at once, unless it is told to wait or to fail.
struct Registry {
  Instant now{1'000'000'000};
  std::vector<store::People> written;
  std::deque<std::function<void(const Status&)>> waiting;
  bool waits = false;
  Status outcome;
  People people{{},
                [this](const store::Batch& batch, std::function<void(const Status&)> done) {
                  written.push_back(batch.people);
                  waits ? waiting.push_back(std::move(done)) : done(outcome);
                },
                [this] { return now; },
                {"root", "1234"}};

  std::string set(const std::string& name, Role role, bool is_new = true) {
    std::string code = "unanswered";
    people.set_user(name, role, is_new, "root", [&](const Status& s) { code = s.ok() ? "" : s.error().code; });
    return code;
  }
  Result<People::Made> add(NewToken wanted, const std::string& by = "root", Role most = Role::admin,
                           const std::string& basis = "controller") {
    Result<People::Made> made = invalid("unanswered", "");
    people.add_token(wanted, {by, most, basis}, [&](Result<People::Made> result) { made = std::move(result); });
    return made;
  }
  std::string add_code(NewToken wanted, const std::string& by = "root", Role most = Role::admin,
                       const std::string& basis = "controller") {
    const auto made = add(std::move(wanted), by, most, basis);
    return made.ok() ? "" : made.error().code;
  }
  std::string revoke(const std::string& id) {
    std::string code = "unanswered";
    people.remove_token(id, [&](const Status& s) { code = s.ok() ? "" : s.error().code; });
    return code;
  }
  // "mei user", or the error's code.
  std::string who(const std::string& secret) {
    const auto holder = people.holder_of(secret);
    return holder.ok() ? holder->user + " " + std::string(name_of(holder->role)) : holder.error().code;
  }
};

TEST(People, a_token_is_its_user_with_the_role_that_user_has_now) {
  Registry all;
  EXPECT_EQ(all.set("mei", Role::user), "");
  const auto made = all.add({.user = "mei", .name = "laptop"});
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(People::is_named(made->secret));
  EXPECT_EQ(all.who(made->secret), "mei user");
  all.set("mei", Role::admin, false);
  EXPECT_EQ(all.who(made->secret), "mei admin");
  all.set("mei", Role::viewer, false);
  EXPECT_EQ(all.who(made->secret), "mei viewer");
}

TEST(People, are_ten_thousand_at_most) {
  Registry all;
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(all.set("u" + std::to_string(i), Role::viewer), "");
  EXPECT_EQ(all.set("more", Role::viewer), "too-many-users");
  EXPECT_EQ(all.set("u7", Role::admin, false), "") << "those that are there can be changed";
}

TEST(People, a_token_may_be_limited_to_less_than_its_user_and_never_to_more) {
  Registry all;
  all.set("mei", Role::user);
  EXPECT_EQ(all.who(all.add({.user = "mei", .name = "screen", .role = Role::viewer})->secret), "mei viewer");
  EXPECT_EQ(all.add_code({.user = "mei", .name = "more", .role = Role::admin}), "role-above");
  EXPECT_EQ(all.add_code({.user = "mei", .name = "own", .role = Role::user}, "mei", Role::viewer), "role-above")
      << "a token makes none that may do more than itself";
  EXPECT_EQ(all.who(all.add({.user = "mei", .name = "unsaid"}, "mei", Role::viewer)->secret), "mei viewer")
      << "also where none is named";
  const auto high = all.add({.user = "mei", .name = "high", .role = Role::user});
  all.set("mei", Role::viewer, false);
  EXPECT_EQ(all.who(high->secret), "mei viewer");
}

TEST(People, a_token_made_with_a_token_ends_no_later_than_that_one) {
  Registry all;
  all.set("mei", Role::user);
  const auto after = [&](int seconds) { return all.now + Duration::whole_seconds(seconds); };
  const auto day = all.add({.user = "mei", .name = "day", .expires = after(100)});
  const std::string by_day = day->row.id, basis = "token:" + by_day;
  EXPECT_EQ(all.add_code({.user = "mei", .name = "later", .expires = after(101)}, "mei", Role::user, basis),
            "expiry-beyond");
  EXPECT_EQ(all.add({.user = "mei", .name = "same", .expires = after(100)}, "mei", Role::user, basis)->row.expires_us,
            after(100).us);
  EXPECT_EQ(all.add({.user = "mei", .name = "unsaid"}, "mei", Role::user, basis)->row.expires_us, after(100).us);
  EXPECT_EQ(all.add({.user = "mei", .name = "soon", .expires = after(5)}, "mei", Role::user, basis)->row.expires_us,
            after(5).us);
  const auto endless = all.add({.user = "mei", .name = "endless"});
  EXPECT_EQ(all.add({.user = "mei", .name = "more"}, "mei", Role::user, "token:" + endless->row.id)->row.expires_us, 0);
  all.revoke(by_day);
  EXPECT_EQ(all.add_code({.user = "mei", .name = "late", .expires = after(5)}, "mei", Role::user, basis),
            "expiry-beyond")
      << "it was revoked while the request was on its way";
}

TEST(People, only_the_whole_secret_is_a_token) {
  Registry all;
  all.set("mei", Role::user);
  const std::string secret = all.add({.user = "mei", .name = "laptop"})->secret;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string other = secret;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_EQ(all.who(other), "wrong-token") << i;
  }
  EXPECT_EQ(all.who(secret.substr(0, secret.size() - 1)), "wrong-token");
  EXPECT_EQ(all.who(secret + "0"), "wrong-token");
  EXPECT_EQ(all.who("slt_"), "wrong-token");
  EXPECT_EQ(all.who(all.written.back().tokens.front().hash), "wrong-token") << "what the database has";
  EXPECT_EQ(all.written.back().tokens.front().hash.find(secret), std::string::npos);
}

TEST(People, a_token_ends_when_it_is_revoked_when_it_expires_and_with_its_user) {
  Registry all;
  all.set("mei", Role::user);
  const auto day = all.add({.user = "mei", .name = "day", .expires = all.now + Duration::whole_seconds(86400)});
  const auto other = all.add({.user = "mei", .name = "other"}), third = all.add({.user = "mei", .name = "third"});
  const Identity by_day = *all.people.holder_of(day->secret), by_other = *all.people.holder_of(other->secret);
  all.now = all.now + Duration::whole_seconds(86400) - Duration{1};
  EXPECT_TRUE(all.people.confirm(by_day));
  all.now = all.now + Duration{1};
  EXPECT_EQ(all.who(day->secret), "token-expired");
  EXPECT_FALSE(all.people.confirm(by_day));
  EXPECT_TRUE(all.people.confirm(by_other));
  EXPECT_EQ(all.revoke(other->row.id), "");
  EXPECT_EQ(all.who(other->secret), "wrong-token");
  EXPECT_FALSE(all.people.confirm(by_other));
  EXPECT_EQ(all.revoke(other->row.id), "token-not-found");
  EXPECT_EQ(all.who(third->secret), "mei user");
  all.people.remove_user("mei", [](const Status&) {});
  EXPECT_EQ(all.who(third->secret), "wrong-token");
}

TEST(People, what_an_identity_rests_on_decides_whether_it_still_holds) {
  Registry all;
  all.set("mei", Role::admin);
  const auto made = all.add({.user = "mei", .name = "laptop"});
  const auto now = [&](const std::string& user, const std::string& basis) {
    const auto found = all.people.confirm({user, Role::viewer, basis});
    return found ? found->user + " " + std::string(name_of(found->role)) : "nobody";
  };
  const std::string by_token = "token:" + made->row.id;
  EXPECT_EQ(now("bella", by_token), "bella admin") << "admins act for others";
  EXPECT_EQ(now("bella", "name:mei"), "bella admin");
  EXPECT_EQ(now("bella", "controller"), "bella admin");
  all.set("mei", Role::user, false);
  EXPECT_EQ(now("mei", by_token), "mei user");
  EXPECT_EQ(now("mei", "name:mei"), "mei user");
  EXPECT_EQ(now("bella", by_token), "nobody");
  EXPECT_EQ(now("bella", "name:mei"), "nobody");
  for (const char* basis : {"", "admin", "token:", "token:none", "name", "controllers:x"})
    EXPECT_EQ(now("mei", basis), "nobody") << basis;
}

TEST(People, a_link_for_a_user_does_not_count_for_another_who_gets_the_name_later) {
  Registry all;
  all.set("mei@lab", Role::viewer), all.set("ada", Role::admin);
  const auto boss = all.add({.user = "ada", .name = "boss"});
  const auto link = all.people.follower_of_link("mei@lab", "token:" + boss->row.id);
  const auto role = [&](const Identity& identity) {
    const auto found = all.people.confirm(identity);
    return found && found->user == identity.user ? name_of(found->role) : "nobody";
  };
  EXPECT_EQ(role(*link), "viewer");
  EXPECT_EQ(token_of(link->basis), boss->row.id);
  all.now = all.now + Duration::whole_seconds(1);
  all.set("mei@lab", Role::user, false);
  EXPECT_EQ(role(*link), "user") << "it is the same user";
  all.people.remove_user("mei@lab", [](const Status&) {});
  EXPECT_EQ(role(*link), "nobody");
  all.set("mei@lab", Role::admin);
  EXPECT_EQ(role(*link), "nobody");
  EXPECT_EQ(role(*all.people.follower_of_link("mei@lab", "controller")), "admin");
  EXPECT_EQ(role(*all.people.follower_of_link("root", link->basis)), "nobody") << "nor does what rests on it";
  EXPECT_EQ(role({"ada", Role::viewer, "link:ada:controller"}), "nobody") << "as links were before";
  EXPECT_EQ(all.people.follower_of_link("tom", "controller").error().code, "user-not-found");
}

TEST(People, what_cannot_be_is_refused_and_changes_nothing) {
  Registry all;
  all.set("mei", Role::user);
  ASSERT_TRUE(all.add({.user = "mei", .name = "laptop"}).ok());
  const std::size_t before = all.written.size();
  EXPECT_EQ(all.set("mei", Role::user), "user-exists");
  EXPECT_EQ(all.set("bella", Role::user, false), "user-not-found");
  for (const char* name : {"", "-x", "a b", "a\nb", "a/b", "../x"})
    EXPECT_EQ(all.set(name, Role::user), "bad-user-name") << name;
  for (const char* name : {"", "-x", "a b", "a/b"})
    EXPECT_EQ(all.add_code({.user = "mei", .name = name}), "bad-token-name") << name;
  EXPECT_EQ(all.add_code({.user = "mei", .name = "laptop"}), "token-exists");
  EXPECT_EQ(all.add_code({.user = "bella", .name = "laptop"}), "user-not-found");
  EXPECT_EQ(all.written.size(), before);
  EXPECT_EQ(all.add_code({.user = "bella", .name = "laptop"}, "bella", Role::user), "") << "of its own, without a row";
}

TEST(People, changes_are_made_one_after_the_other_and_hold_once_they_are_durable) {
  Registry all;
  all.waits = true;
  std::string earlier = "unanswered", later = "unanswered";
  const auto code = [](std::string& into) { return [&into](const Status& s) { into = s.ok() ? "" : s.error().code; }; };
  all.people.set_user("mei", Role::admin, true, "root", code(earlier));
  all.people.set_user("mei", Role::user, true, "root", code(later));
  EXPECT_EQ(all.people.role_of("mei"), Role::user);
  ASSERT_EQ(all.waiting.size(), 1U);
  std::exchange(all.waiting, {}).front()(Status());
  EXPECT_EQ(earlier, "");
  EXPECT_EQ(later, "user-exists");
  EXPECT_EQ(all.people.role_of("mei"), Role::admin);
  all.waits = false;
  all.outcome = unavailable("disk-full", "no room");
  EXPECT_EQ(all.set("mei", Role::viewer, false), "disk-full");
  EXPECT_EQ(all.people.role_of("mei"), Role::admin);
}

TEST(People, what_was_written_is_there_after_a_restart_and_when_tokens_were_used_is_written_once_a_minute) {
  Registry all;
  all.set("mei", Role::user);
  const auto made = all.add({.user = "mei", .name = "laptop"});
  const auto writes_on_turn = [&](Duration later) {
    const std::size_t before = all.written.size();
    all.people.on_turn(all.now = all.now + later);
    return all.written.size() - before;
  };
  EXPECT_EQ(writes_on_turn({}), 0U);
  all.now = all.now + Duration::whole_seconds(1);
  ASSERT_TRUE(all.people.holder_of(made->secret).ok());
  EXPECT_EQ(writes_on_turn(Duration::whole_seconds(1)), 0U);
  EXPECT_EQ(writes_on_turn(Duration::whole_seconds(60)), 1U);
  EXPECT_EQ(writes_on_turn(Duration::whole_seconds(60)), 0U);
  const store::TokenRow used = all.written.back().tokens.front();
  EXPECT_EQ(used.used_us, 1'001'000'000);
  People again({.users = all.written.front().users, .tokens = {used}}, {}, [&] { return all.now; });
  EXPECT_EQ(again.holder_of(made->secret)->user, "mei");
  EXPECT_EQ(again.role_of("mei"), Role::user);
}

// ---- tokens of servers ----

TEST(TokensOfServers, one_speaks_for_its_server_and_may_do_nothing_that_users_do) {
  Registry all;
  const auto made = all.add({.user = "root", .name = "gpu4", .role = Role::agent});
  ASSERT_TRUE(made.ok());
  const auto agent = all.people.holder_of(made->secret);
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(agent->role, Role::agent);
  EXPECT_EQ(agent->server, "gpu4");
  EXPECT_EQ(all.people.confirm(*agent)->server, "gpu4");
  EXPECT_FALSE(check_role(*agent, Role::viewer).ok());
  all.set("mei", Role::user);
  EXPECT_EQ(all.people.holder_of(all.add({.user = "mei", .name = "laptop"})->secret)->server, "");
}

TEST(TokensOfServers, there_is_one_of_a_name_whoever_has_made_it) {
  Registry all;
  all.set("ada", Role::admin), all.set("mei", Role::user);
  EXPECT_EQ(all.add_code({.user = "root", .name = "gpu4", .role = Role::agent}), "");
  EXPECT_EQ(all.add_code({.user = "ada", .name = "gpu4", .role = Role::agent}, "ada"), "token-exists");
  EXPECT_EQ(all.add_code({.user = "root", .name = "gpu4"}), "token-exists") << "its user revokes it by its name";
  EXPECT_EQ(all.add_code({.user = "mei", .name = "gpu4"}), "");
  EXPECT_EQ(all.add_code({.user = "ada", .name = "gpu5", .role = Role::agent}, "ada"), "");
  for (const char* name : {"", "-x", ".", "..", ".x", "a b", "a/b", "a;b", "ä", "a\nb"})
    EXPECT_EQ(all.add_code({.user = "root", .name = name, .role = Role::agent}), "bad-token-name") << name;
}

TEST(TokensOfServers, they_do_not_count_among_those_of_their_user) {
  Registry all;
  for (int i = 0; i < 150; ++i)
    ASSERT_EQ(all.add_code({.user = "root", .name = "gpu" + std::to_string(i), .role = Role::agent}), "");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(all.add_code({.user = "root", .name = "t" + std::to_string(i)}), "");
  EXPECT_EQ(all.add_code({.user = "root", .name = "more"}), "too-many-tokens");
  EXPECT_EQ(all.add_code({.user = "root", .name = "gpu150", .role = Role::agent}), "");
}

TEST(TokensOfServers, only_admins_let_servers_in) {
  Registry all;
  all.set("mei", Role::user), all.set("ada", Role::admin);
  EXPECT_EQ(all.add_code({.user = "mei", .name = "gpu4", .role = Role::agent}, "mei", Role::user), "role-above");
  EXPECT_EQ(all.add_code({.user = "mei", .name = "gpu4", .role = Role::agent}), "role-above") << "in another's name";
  const auto made = all.add({.user = "ada", .name = "gpu4", .role = Role::agent}, "ada");
  const Identity agent = *all.people.holder_of(made->secret);
  all.set("ada", Role::user, false);
  EXPECT_EQ(all.who(made->secret), "role-above");
  EXPECT_FALSE(all.people.confirm(agent));
  all.set("ada", Role::admin, false);
  EXPECT_EQ(all.who(made->secret), "ada agent");
}

TEST(Roles, each_may_do_what_those_before_it_may_do) {
  for (const Role role : {Role::agent, Role::viewer, Role::user, Role::admin}) {
    for (const Role needed : {Role::agent, Role::viewer, Role::user, Role::admin}) {
      const Status may = check_role({"mei", role, ""}, needed);
      EXPECT_EQ(may.ok(), role >= needed);
      EXPECT_TRUE(may.ok() || may.error().message.find(name_of(needed)) != std::string::npos);
    }
    EXPECT_EQ(role_of_name(name_of(role)), role);
  }
  EXPECT_FALSE(role_of_name("root"));
}

// ---- admission with named tokens ----

TEST(Admission, a_named_token_counts_more_than_the_kernel_s_word_and_its_end_is_an_end) {
  Registry all;
  all.set("mei", Role::user);
  const auto made = all.add({.user = "mei", .name = "laptop"});
  const BrowserSessions sessions("the-controller-s-token", all.people, [&] { return all.now; });
  Admission admission("0.0.0.0", "the-controller-s-token", 1234, sessions, all.people);
  const auto who = [&](const std::string& secret, std::optional<std::uint32_t> uid, const std::string& named = "") {
    net::Request head;
    head.headers = {{"host", "127.0.0.1:5000"}, {"authorization", "Bearer " + secret}};
    if (!named.empty()) head.headers.emplace_back("x-schedulearn-user", named);
    head.peer_uid = uid;
    const auto identity = admission.identify(head);
    return identity.ok() ? identity->user + " " + std::string(name_of(identity->role)) : identity.error().code;
  };
  for (const std::optional<std::uint32_t> uid : {std::optional<std::uint32_t>(), {0U}, {1234U}, {4321U}})
    EXPECT_EQ(who(made->secret, uid), "mei user");
  EXPECT_EQ(who(made->secret, {}, "bella"), "not-your-name");
  EXPECT_EQ(who(made->secret, {}, "mei"), "mei user");
  EXPECT_EQ(admission.sign_in({.headers = {{"host", "127.0.0.1"}}}, made->secret)->user, "mei");
  const auto session = sessions.begin(*all.people.holder_of(made->secret));
  net::Request browser;
  browser.headers = {{"cookie", session->cookie.substr(0, session->cookie.find(';'))},
                     {"x-schedulearn-session", session->key}};
  ASSERT_TRUE(sessions.find(browser));
  EXPECT_EQ(sessions.find(browser)->role, Role::user);
  all.set("mei", Role::viewer, false);
  EXPECT_EQ(sessions.find(browser)->role, Role::viewer) << "as it is now, not as it was";
  all.revoke(made->row.id);
  EXPECT_FALSE(sessions.find(browser));
  EXPECT_EQ(who(made->secret, 0U), "wrong-token") << "also of root: it is not what was asked with";
}

TEST(Admission, a_local_user_has_the_role_that_is_set_and_the_controller_s_user_always_is_admin) {
  Registry all;
  EXPECT_EQ(all.set("root", Role::viewer), "user-exists");
  EXPECT_EQ(all.set("1234", Role::viewer), "user-exists");
  EXPECT_EQ(all.who(all.add({.user = "root", .name = "own"}, "root")->secret), "root admin");
  all.set("4321", Role::admin);
  const BrowserSessions sessions("a-token", all.people, [&] { return all.now; });
  Admission admission("127.0.0.1", "a-token", 1234, sessions, all.people);
  const auto role = [&](std::uint32_t uid) {
    net::Request head;
    head.headers = {{"host", "127.0.0.1:5000"}, {"authorization", "Bearer a-token"}};
    head.peer_uid = uid;
    return admission.identify(head)->role;
  };
  EXPECT_EQ(role(0), Role::admin);
  EXPECT_EQ(role(1234), Role::admin);
  EXPECT_EQ(role(4321), Role::admin);
  all.set("4321", Role::viewer, false);
  EXPECT_EQ(role(4321), Role::viewer);
  EXPECT_EQ(role(5432), Role::user);
}

// ---- guessing ----

TEST(SignInFailures, who_guesses_waits_and_nobody_else_does) {
  SignInFailures failures;
  Instant now{1'000'000};
  std::vector<double> delays;
  for (int i = 0; i < 10; ++i) delays.push_back(failures.failed("10.0.0.7", now).delay.to_seconds());
  EXPECT_EQ(delays, (std::vector<double>{0, 0, 0, 1, 2, 3, 4, 5, 5, 5}));
  EXPECT_EQ(failures.failed("10.0.0.8", now).delay, Duration());
  now = now + Duration::whole_seconds(60);
  EXPECT_EQ(failures.failed("10.0.0.7", now).delay, Duration());
}

TEST(SignInFailures, few_of_them_become_events) {
  SignInFailures failures;
  Instant now{1'000'000};
  std::vector<int> recorded;
  for (int i = 0; i < 1500; ++i) {
    if (const auto times = failures.failed("10.0.0.7", now).to_record) recorded.push_back(*times);
  }
  EXPECT_EQ(recorded, (std::vector<int>{1, 10, 100, 1000}));
  int of_many = 0;
  for (int i = 0; i < 50'000; ++i) of_many += failures.failed(std::to_string(i), now).to_record.has_value();
  EXPECT_EQ(of_many, 96);
  now = now + Duration::whole_seconds(3600);
  EXPECT_EQ(failures.failed("10.0.0.7", now).to_record, 1);
}

}  // namespace
}  // namespace sl::controller
