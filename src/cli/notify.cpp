#include "cli/notify.h"

#include <cstdio>

#include "cli/render.h"
#include "cli/usage.h"
#include "net/http.h"
#include "wire/notify.h"

namespace sl::cli {
namespace {

std::string path_of(const std::string& channel) {
  return "/api/v1/notifications/channels/" + net::percent_encode(channel);
}

const net::Headers json_type = {{"Content-Type", "application/json"}};

std::string joined(const json::value& list) {
  std::string text;
  if (!list.is_array()) return text;
  for (const json::value& item : list.get_array()) text += (text.empty() ? "" : ",") + std::string(item.get_string());
  return text;
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return "";
}

// What a delivery came to: "answered 500", "delivered".
std::string result_text(const json::value& delivery) {
  std::string text = text_at(delivery, "state");
  const std::string why = text_at(delivery, "why");
  if (!why.empty()) text += ": " + why;
  const std::string next = text_at(delivery, "next_at");
  return next.empty() || text_at(delivery, "tried_at").empty() ? text : text + "; again at " + clock_text(next);
}

int list_channels(const Context& context) {
  const auto channels = context.get("/api/v1/notifications/channels");
  if (!channels.ok()) return fail(channels.error());
  if (context.as_json) return context.print_json(*channels), 0;
  Table table({"NAME", "KIND", "TO", "ALWAYS TOLD OF", "OWNER"});
  for (const json::value& item : value_at(*channels, "items").as_array()) {
    if (context.quiet) {
      std::printf("%s\n", text_at(item, "name").c_str());
      continue;
    }
    const std::string to = first_of({text_at(item, "to"), text_at(item, "url"),
                                     text_at(item, "secret").empty() ? "" : "the secret " + text_at(item, "secret")});
    table.add({text_at(item, "name"), text_at(item, "kind"), to.empty() ? "-" : to,
               first_of({joined(value_at(item, "on")), "-"}),
               text_at(item, "owner") + (value_at(item, "shared") == json::value(true) ? " (shared)" : "")});
  }
  if (context.quiet) return 0;
  if (table.empty()) return say_none(context, "No channels; see how to add one: schedulearn notify add --help"), 0;
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

int remove_channel(const Context& context, const std::string& name) {
  const auto removed = context.call("DELETE", path_of(name), "");
  if (!removed.ok()) return fail(removed.error());
  if (context.as_json) return context.print_json(*removed), 0;
  if (!context.quiet) std::printf("channel %s is removed; what waits for it is not sent\n", name.c_str());
  return 0;
}

// Its status is 1 if the message did not arrive.
int test_channel(const Context& context, const std::string& text) {
  const wire::NotifyTarget target = wire::parse_notify_target(text);
  json::object body;
  if (!target.receiver.empty()) body["to"] = target.receiver;
  const auto sent = context.call("POST", path_of(target.channel) + "/test", json::serialize(body), json_type);
  if (!sent.ok()) return fail(sent.error());
  const bool is_delivered = text_at(*sent, "state") == "delivered";
  if (context.as_json) return context.print_json(*sent), is_delivered ? 0 : 1;
  if (!is_delivered) {
    std::fprintf(stderr, "the test did not arrive at %s: %s\n", text.c_str(), text_at(*sent, "why").c_str());
    return 1;
  }
  if (!context.quiet) std::printf("%s a test message has arrived at %s\n", context.unicode ? "✓" : "+", text.c_str());
  return 0;
}

int show_deliveries(const Context& context, const std::string& channel, int limit) {
  const std::string of_channel = channel.empty() ? "" : "&channel=" + net::percent_encode(channel);
  const auto deliveries = context.get("/api/v1/notifications/deliveries?limit=" + std::to_string(limit) + of_channel);
  if (!deliveries.ok()) return fail(deliveries.error());
  if (context.as_json) return context.print_json(*deliveries), 0;
  Table table({"WHEN", "CHANNEL", "JOB", "EVENT", "TRIES", "RESULT"}, {2, 4});
  for (const json::value& item : value_at(*deliveries, "items").as_array()) {
    const std::string receiver = text_at(item, "receiver");
    const json::value& job = value_at(item, "job_id");
    table.add({clock_text(context, text_at(item, "made_at")),
               text_at(item, "channel") + (receiver.empty() ? "" : ":" + receiver),
               job.is_null() ? "-" : json::serialize(job), text_at(item, "event"),
               json::serialize(value_at(item, "tries")), result_text(item)});
  }
  if (table.empty()) return say_none(context, "Nothing was sent yet."), 0;
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

}  // namespace

int NotifyCommands::add() const {
  const Context context = context_();
  const int kinds = (new_.webhook.empty() ? 0 : 1) + (new_.mail.empty() ? 0 : 1) + (new_.slack ? 1 : 0);
  if (kinds != 1)
    return fail(invalid("bad-flag", kinds == 0 ? "say what kind of channel this is" : "a channel is of one kind")
                    .hint("one of --webhook URL, --slack and --mail ADDRESS"));
  json::object body{{"kind", new_.slack ? "slack" : new_.mail.empty() ? "webhook" : "mail"}};
  const auto put = [&](const char* key, const std::string& text) {
    if (!text.empty()) body[key] = text;
  };
  put("url", new_.mail.empty() ? new_.webhook : new_.server);
  put("secret", new_.secret), put("login", new_.login), put("from", new_.from);
  put("to", new_.mail.empty() ? new_.room : new_.mail);
  body["on"] = json::array(new_.on.begin(), new_.on.end());
  body["shared"] = new_.shared;
  const auto stored = context.call("PUT", path_of(name_), json::serialize(body), json_type);
  if (!stored.ok()) return fail(stored.error());
  if (context.as_json) return context.print_json(*stored), 0;
  if (!context.quiet)
    std::printf(
        "channel %s is ready\n\n  schedulearn notify test %s               send a message through it\n"
        "  schedulearn submit --notify %s ...         be told when a job ends\n",
        name_.c_str(), name_.c_str(), name_.c_str());
  return 0;
}

void NotifyCommands::add_options(CLI::App& command) {
  command.add_option("name", name_, "letters, digits, - and _")->required();
  command.add_option("--webhook", new_.webhook, "URL to which a signed JSON document is posted");
  command.add_flag("--slack", new_.slack, "a hook of Slack, Mattermost and the like; its URL is the secret");
  command.add_option("--mail", new_.mail, "address to which an e-mail is sent");
  command.add_option("--server", new_.server, "of e-mails: smtp://mail.lab:587 or smtps://mail.lab");
  command.add_option("--secret", new_.secret,
                     "name of a stored secret: the key that signs, the URL of the hook, the password of the login");
  command.add_option("--login", new_.login, "at the server of e-mails");
  command.add_option("--from", new_.from, "sender of e-mails");
  command.add_option("--room", new_.room, "where the hook posts, if it lets its sender choose: #vision");
  command.add_option("--on", new_.on, "always be told of these: failed,preempted")->delimiter(',');
  command.add_flag("--shared", new_.shared, "all users may name it, and --on is of the jobs of all (admins)");
}

void NotifyCommands::add_to(CLI::App& app) {
  CLI::App* notify = app.add_subcommand("notify", "Be told of your jobs elsewhere: add, ls, test, log, rm.");
  notify->require_subcommand(1);
  notify->fallthrough();
  add_options(*command_(*notify, "add", "Add a channel, or change it: a webhook, a hook of Slack, e-mail.",
                        "  schedulearn secret set hook-url\n  schedulearn notify add team --slack --secret hook-url\n"
                        "  schedulearn notify add me --mail mei@lab.example --server smtp://mail.lab.example\n"
                        "  schedulearn notify add ci --webhook https://ci.lab/hook --secret ci-key --on failed\n",
                        [this] { return add(); }));
  command_(*notify, "ls", "Your channels, and those that are shared with you.", "  schedulearn notify ls\n",
           [this] { return list_channels(context_()); });
  command_(*notify, "test", "Send a message through a channel and say how that went.",
           "  schedulearn notify test team\n  schedulearn notify test me:bella@lab.example\n",
           [this] { return test_channel(context_(), name_); })
      ->add_option("channel", name_, "see: schedulearn notify ls; with another receiver: team:#vision")
      ->required();
  CLI::App* log = command_(*notify, "log", "What was sent, or waits to be sent, newest first.",
                           "  schedulearn notify log\n  schedulearn notify log team --limit 5\n",
                           [this] { return show_deliveries(context_(), name_, limit_); });
  log->add_option("channel", name_, "only through this one");
  log->add_option("--limit", limit_, "at most this many (30)")->check(between(1, 1'000));
  command_(*notify, "rm", "Remove a channel.", "  schedulearn notify rm team\n",
           [this] { return remove_channel(context_(), name_); })
      ->add_option("channel", name_, "see: schedulearn notify ls")
      ->required();
}

}  // namespace sl::cli
