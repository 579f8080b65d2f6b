// Who is told what, and in which form.
#include "notify/notice.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include "notify/message.h"
#include "wire/base64.h"
#include "wire/json.h"

namespace sl::notify {
namespace {

store::EventRow to_state(const std::string& from, const std::string& to, const std::string& text = "") {
  return {.seq = 10, .at_us = 5'000'000, .kind = "job.state", .job_id = 7, .from = from, .to = to, .text = text};
}

store::JobRow job(const std::string& notify = "[]") {
  store::JobRow row;
  row.id = 7, row.user = "mei", row.name = "train", row.state = "failed", row.server = "gpu4", row.attempt = 1;
  row.first_start_us = 1, row.run_us = 1'320'000'000, row.exit_code = 1, row.failure_message = "CUDA out of memory";
  row.spec_json = R"({"user": "mei", "command": "true", "notify": )" + notify + "}";
  return row;
}

Channel channel(const std::string& name, std::vector<std::string> on = {}, const std::string& owner = "mei",
                bool shared = false) {
  Channel made{owner, name, {}};
  made.settings.kind = "slack", made.settings.secret = "s", made.settings.on = std::move(on);
  made.settings.shared = shared;
  return made;
}

using Words = std::vector<std::string>;

TEST(Notice, events_have_the_words_of_users) {
  EXPECT_EQ(words_of(to_state("running", "failed", "exit")), (Words{"failed", "finished"}));
  EXPECT_EQ(words_of(to_state("running", "stopping", "preempted")), (Words{"preempted"}));
  EXPECT_EQ(words_of(to_state("starting", "running")), (Words{"started"}));
  EXPECT_EQ(words_of(to_state("running", "migrating")), (Words{"migrated"}));
  EXPECT_EQ(words_of({.kind = "job.group_started", .job_id = 7}), (Words{"started"}));
  EXPECT_EQ(words_of(to_state("pending", "starting")), Words());
  EXPECT_EQ(words_of({.kind = "job.progress", .job_id = 7, .to = "failed"}), Words());
  EXPECT_EQ(words_of({.kind = "server.state", .server = "gpu4", .to = "down"}), (Words{"server_down"}));
  EXPECT_EQ(words_of({.kind = "server.state", .server = "gpu4", .to = "up"}), Words());
}

TEST(Notice, says_what_happened_in_one_sentence) {
  const store::JobRow row = job();
  EXPECT_EQ(make_notice(to_state("running", "failed", "exit"), &row).text,
            "Job 7 train has failed after 22 min: CUDA out of memory");
  EXPECT_EQ(make_notice(to_state("starting", "running"), &row).text, "Job 7 train has started on gpu4");
  EXPECT_EQ(make_notice(to_state("running", "stopping", "preempted"), &row).text, "Job 7 train was preempted");
  EXPECT_EQ(make_notice({.kind = "server.state", .server = "gpu4", .to = "down"}, nullptr).text,
            "Server gpu4 is down: nothing starts there until its agent answers again");
}

struct Told {
  std::string notify;
  std::vector<Channel> channels;
  std::string expected;
  std::string from = "running", to = "failed";
};

TEST(Notice, is_for_those_who_asked) {
  const Told cases[] = {
      {"[]", {channel("team")}, ""},
      {R"([{"on": ["finished"], "to": "team"}])", {channel("team")}, "mei/team "},
      {R"([{"on": ["preempted"], "to": "team"}])", {channel("team")}, ""},
      {R"([{"to": "team:#vision"}])", {channel("team")}, "mei/team:#vision "},
      {R"([{"to": "team"}, {"on": ["failed"], "to": "team"}])", {channel("team")}, "mei/team "},
      {R"([{"to": "lab"}])", {channel("lab", {}, "root", true)}, "root/lab "},
      {R"([{"to": "lab"}])", {channel("lab", {}, "bella")}, ""},
      {R"([{"to": "lab"}])", {channel("lab", {}, "bella", true), channel("lab")}, "mei/lab "},
      {"[]", {channel("own", {"failed"})}, "mei/own "},
      {"[]", {channel("own", {"started"})}, ""},
      {"[]", {channel("others", {"failed"}, "bella")}, ""},
      {"[]", {channel("all", {"finished"}, "root", true)}, "root/all "},
      {"[]", {channel("own", {"started", "succeeded"})}, "", "running", "suspended"},
  };
  for (const Told& each : cases) {
    Channels channels;
    for (const Channel& one : each.channels) channels.put(one);
    const store::JobRow row = job(each.notify);
    std::string told;
    for (const Target& target : targets_of(to_state(each.from, each.to), &row, channels))
      told += target.channel->owner + "/" + target.channel->name +
              (target.receiver.empty() ? "" : ":" + target.receiver) + " ";
    EXPECT_EQ(told, each.expected) << each.notify;
  }
}

TEST(Notice, a_channel_is_told_only_of_what_happened_after_it_was_made) {
  Channel late = channel("own", {"failed"});
  late.settings.after_event = 10;
  Channels channels;
  channels.put(late);
  const store::JobRow row = job();
  EXPECT_TRUE(targets_of(to_state("running", "failed"), &row, channels).empty());
  late.settings.after_event = 9;
  channels.put(late);
  EXPECT_EQ(targets_of(to_state("running", "failed"), &row, channels).size(), 1U);
}

TEST(Notice, of_an_array_the_whole_is_told) {
  Channels channels;
  channels.put(channel("own", {"failed"}));
  store::JobRow member = job();
  member.group_id = 6;
  EXPECT_TRUE(targets_of(to_state("running", "failed"), &member, channels).empty());
  store::JobRow array = job();
  array.run_us = 0, array.first_start_us = 5'000'000, array.finished_us = 14'000'000;
  array.failure_message = "1 member failed";
  array.extra_json = R"({"succeeded":3,"failed":1})";
  EXPECT_EQ(make_notice(to_state("pending", "failed", "exit"), &array).text,
            "Job 7 train has failed after 9 s: 3 succeeded, 1 failed");
}

TEST(Notice, servers_are_told_of_where_it_was_asked_for) {
  Channels channels;
  channels.put(channel("ops", {"server_down"}, "root"));
  channels.put(channel("team", {"failed"}));
  const auto targets = targets_of({.seq = 1, .kind = "server.state", .server = "a", .to = "down"}, nullptr, channels);
  ASSERT_EQ(targets.size(), 1U);
  EXPECT_EQ(targets[0].channel->name, "ops");
}

// ---- forms ----

store::DeliveryRow delivery(const std::string& text) {
  Notice notice{.id = "d1", .event = "failed", .at = {0}, .text = text};
  store::DeliveryRow row{.id = "d1", .made_us = 1'700'000'000'000'000, .job_id = 7};
  row.body = wire::write_json(notice);
  return row;
}

TEST(Message, a_webhook_is_signed_so_that_its_receiver_can_check_it) {
  // python3: hmac.new(b"key", b"1700000000.{}", "sha256").hexdigest()
  EXPECT_EQ(signature_of("key", "1700000000", "{}"),
            "v1=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae");
  Channel hook{"mei", "ci", {}};
  hook.settings.kind = "webhook", hook.settings.url = "https://ci.lab/hook";
  const store::DeliveryRow row = delivery("x");
  const auto post = std::get<courier::HttpPost>(make_message(hook, row, "key", 1'700'000'000'999'999));
  EXPECT_EQ(post.url, "https://ci.lab/hook");
  EXPECT_EQ(post.body, row.body);
  EXPECT_EQ(post.headers,
            (std::vector<std::string>{"Content-Type: application/json", "X-Schedulearn-Delivery: d1",
                                      "X-Schedulearn-Timestamp: 1700000000",
                                      "X-Schedulearn-Signature: " + signature_of("key", "1700000000", row.body)}));
}

TEST(Message, names_become_no_mentions_in_slack) {
  const auto post = std::get<courier::HttpPost>(
      make_message(channel("team"), delivery("a <!channel> & \"b\""), "https://hook/T\n", 0));
  EXPECT_EQ(post.url, "https://hook/T");
  EXPECT_EQ(post.body, R"({"text":"a &lt;!channel&gt; &amp; \"b\""})");
  store::DeliveryRow to_room = delivery("x");
  to_room.receiver = "#vision";
  EXPECT_EQ(std::get<courier::HttpPost>(make_message(channel("team"), to_room, "u", 0)).body,
            R"({"text":"x","channel":"#vision"})");
}

TEST(Message, a_mail_has_headers_of_its_own_whatever_names_hold) {
  Channel me{"mei", "me", {}};
  me.settings.kind = "mail", me.settings.url = "smtp://mail", me.settings.to = "mei@lab.example";
  me.settings.login = "robot@lab.example", me.settings.secret = "pw";
  const std::string text = "Jöb 7 " + std::string(90, 'x') + "\r\nBcc: all@lab.example";
  const auto mail = std::get<courier::Mail>(make_message(me, delivery(text), "hunter2", 0));
  EXPECT_EQ(mail.from, "robot@lab.example");
  EXPECT_EQ(mail.to, "mei@lab.example");
  EXPECT_EQ(mail.password, "hunter2");
  EXPECT_EQ(mail.message.find("hunter2"), std::string::npos);
  EXPECT_EQ(mail.message.find("\r\nBcc"), std::string::npos);
  EXPECT_NE(mail.message.find("\r\nDate: Tue, 14 Nov 2023 22:13:20 +0000\r\n"), std::string::npos) << mail.message;
  EXPECT_NE(mail.message.find("\r\nMessage-ID: <d1@"), std::string::npos);
  std::string subject, rest = mail.message.substr(mail.message.find("Subject: "));
  rest = rest.substr(0, rest.find("\r\nDate"));
  for (std::size_t at = 0; (at = rest.find("=?UTF-8?B?", at)) != std::string::npos; ++at)
    subject += wire::decode_base64(rest.substr(at + 10, rest.find("?=", at + 10) - at - 10)).value_or("broken");
  EXPECT_EQ(subject, text);
  for (std::size_t at = 0; at < mail.message.size();) {
    const std::size_t end = mail.message.find("\r\n", at);
    EXPECT_LE(end - at, 78U) << mail.message.substr(at, end - at);
    at = end + 2;
  }
}

// ---- channels ----

std::string refusal(const ChannelBody& body, bool is_admin = false, const std::string& name = "team") {
  const Status good = check_channel(name, body, is_admin, {});
  return good.ok() ? "" : good.error().code + " " + good.error().pointer;
}

TEST(Channels, need_what_their_kind_needs_and_nothing_else) {
  const ChannelBody hook{.kind = "webhook", .url = "https://ci.lab/h", .secret = "key"};
  const ChannelBody mail{.kind = "mail", .url = "smtp://mail.lab", .to = "mei@lab.example"};
  const auto with = [](ChannelBody body, auto change) { return change(body), body; };
  EXPECT_EQ(refusal(hook), "");
  EXPECT_EQ(refusal(mail), "");
  EXPECT_EQ(refusal({.kind = "slack", .secret = "hook"}), "");
  EXPECT_EQ(refusal({.kind = "pigeon"}), "bad-channel /kind");
  EXPECT_EQ(refusal({.kind = "slack"}), "bad-channel /secret");
  EXPECT_EQ(refusal({.kind = "webhook", .url = "https://a"}), "bad-channel /secret");
  EXPECT_EQ(refusal({.kind = "webhook", .secret = "key"}), "bad-channel /url");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.login = "mei"; })), "bad-channel /login");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.url = "https://a\r\nX: y"; })), "bad-channel /url");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.url = "smtp://a"; })), "bad-url /url");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.url = "http://127.0.0.1/"; })), "host-not-allowed /url");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.secret = "a/b"; })), "bad-secret ");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.on = {"failing"}; })), "bad-notify /on/0");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.shared = true; })), "admins-only ");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.on = {"server_down"}; })), "admins-only ");
  EXPECT_EQ(refusal(with(hook, [](auto& b) { b.shared = true, b.on = {"server_down"}; }), true), "");
  EXPECT_EQ(refusal(hook, false, "a b"), "bad-channel ");
  EXPECT_EQ(refusal(with(mail, [](auto& b) { b.to = "mei"; })), "bad-channel /to");
  EXPECT_EQ(refusal(with(mail, [](auto& b) { b.to = "a@b,c@d"; })), "bad-channel /to");
  EXPECT_EQ(refusal(with(mail, [](auto& b) { b.from = "<a@b>"; })), "bad-channel /from");
  EXPECT_EQ(refusal(with(mail, [](auto& b) { b.login = "mei"; })), "bad-channel /secret");
  EXPECT_EQ(refusal(with(mail, [](auto& b) { b.secret = "pw"; })), "bad-channel /login");
  EXPECT_EQ(refusal(with(mail, [](auto& b) { b.url = "https://mail"; })), "bad-url /url");
}

TEST(Channels, are_read_back_as_they_were_written) {
  Channel made = channel("team", {"failed"}, "mei", true);
  made.settings.made_us = 5, made.settings.after_event = 6;
  Channels channels;
  channels.load({to_row(made),
                 {"mei", "broken", "{"},
                 {"mei", "no_url", R"({"kind": "webhook", "secret": "s"})"},
                 {"mei", "new_kind", R"({"kind": "pigeon"})"}});
  const auto read = channels.find("mei", "team");
  ASSERT_TRUE(read);
  EXPECT_EQ(to_row(*read), to_row(made));
  EXPECT_EQ(channels.all().size(), 1U);
}

}  // namespace
}  // namespace sl::notify
