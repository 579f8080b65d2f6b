#include "notify/channels.h"

#include <algorithm>

#include "wire/json.h"
#include "wire/secrets.h"

namespace sl::notify {
namespace {

constexpr std::size_t url_bytes_max = 2'000;

bool is_mail_address(std::string_view text) {
  const std::size_t at = text.find('@');
  return text.size() <= 200 && at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
         text.find('@', at + 1) == std::string_view::npos && std::ranges::all_of(text, [](char c) {
           return c > ' ' && c < 127 && std::string_view("<>()[],;:\\\"").find(c) == std::string_view::npos;
         });
}

Error bad(const std::string& key, const std::string& why, const std::string& hint) {
  return invalid("bad-channel", why).hint(hint).at("/" + key);
}

// A kind of channel: which keys it needs, and which it may have besides.
struct Kind {
  std::string_view name;
  std::vector<std::string_view> needs, may;
  std::vector<std::string_view> schemes;  // of its URL
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"webhook", {"url", "secret"}, {}, {"http", "https"}},
      {"slack", {"secret"}, {"to"}, {}},
      {"mail", {"url", "to"}, {"from", "login", "secret"}, {"smtp", "smtps"}},
  };
  return all;
}

constexpr std::pair<std::string_view, std::optional<std::string> ChannelBody::*> texts[] = {
    {"url", &ChannelBody::url},
    {"secret", &ChannelBody::secret},
    {"login", &ChannelBody::login},
    {"from", &ChannelBody::from},
    {"to", &ChannelBody::to}};

bool names(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

Status check_keys(const Kind& kind, const ChannelBody& body) {
  const std::string of = "a channel of the kind " + std::string(kind.name);
  for (const auto& [key, text] : texts) {
    const bool is_given = (body.*text).has_value() && !(body.*text)->empty();
    if (!is_given && names(kind.needs, key))
      return bad(std::string(key), of + " needs a value for " + std::string(key),
                 key == "secret" ? "schedulearn secret set NAME   stores it; then add --secret NAME"
                                 : "see: schedulearn notify add --help");
    if (is_given && !names(kind.needs, key) && !names(kind.may, key))
      return bad(std::string(key), of + " has no " + std::string(key), "leave it out");
    if (is_given && std::ranges::any_of(*(body.*text), [](char c) { return c <= ' ' || c >= 127; }))
      return bad(std::string(key), std::string(key) + " has blanks or characters beyond ASCII", "correct it");
  }
  return {};
}

Status check_mail(const ChannelBody& body) {
  for (const auto& [key, text] : {std::pair("to", &body.to), std::pair("from", &body.from)}) {
    if (*text && !text->value().empty() && !is_mail_address(**text))
      return bad(key, "'" + **text + "' is no e-mail address", "write it as mei@lab.example");
  }
  const bool has_login = body.login && !body.login->empty(), has_secret = body.secret && !body.secret->empty();
  if (has_login != has_secret)
    return bad(has_login ? "secret" : "login", "a login and its password go together",
               "--login NAME --secret SECRET, or neither");
  return {};
}

}  // namespace

Status check_channel(const std::string& name, const ChannelBody& body, bool is_admin,
                     const courier::AllowedHosts& allowed) {
  if (!wire::is_secret_name(name))
    return invalid("bad-channel", "'" + name + "' is no name of a channel")
        .hint("letters, digits, - and _, at most 64");
  const auto kind = std::ranges::find(kinds(), body.kind, &Kind::name);
  if (kind == kinds().end()) return bad("kind", "'" + body.kind + "' is no kind of channel", "webhook, slack or mail");
  if (Status keys = check_keys(*kind, body); !keys.ok()) return keys;
  if (body.secret && !body.secret->empty()) {
    if (Status is_name = wire::validate_secret_name(*body.secret); !is_name.ok()) return is_name;
  }
  if (body.kind == "mail") {
    if (Status mail = check_mail(body); !mail.ok()) return mail;
  }
  if (!kind->schemes.empty()) {
    if (body.url->size() > url_bytes_max) return bad("url", "this URL is too long", "at most 2000 characters");
    const auto to = courier::parse_destination(*body.url, kind->schemes, allowed);
    if (!to.ok()) return Error(to.error()).at("/url");
  }
  if (Status events = wire::validate_notify_events(body.on, true, "/on"); !events.ok()) return events;
  if (!is_admin && is_for_admins(body))
    return denied("admins-only", body.shared ? "only an admin shares a channel" : "only an admin is told of servers");
  return {};
}

bool is_for_admins(const ChannelBody& body) {
  return body.shared || std::ranges::find(body.on, wire::server_down_event) != body.on.end();
}

Status check_receiver(const Channel& channel, const std::string& receiver) {
  if (receiver.empty()) return {};
  if (channel.settings.kind == "webhook")
    return invalid("bad-notify", "a webhook has one receiver: its URL").hint("name only the channel: " + channel.name);
  if (channel.settings.kind == "mail" && !is_mail_address(receiver))
    return invalid("bad-notify", "'" + receiver + "' is no e-mail address").hint(channel.name + ":mei@lab.example");
  return {};
}

store::ChannelRow to_row(const Channel& channel) {
  return {channel.owner, channel.name, wire::write_json(channel.settings)};
}

void Channels::load(const std::vector<store::ChannelRow>& rows) {
  for (const store::ChannelRow& row : rows) {
    auto settings = wire::read_json<ChannelSettings>(row.settings_json, wire::Unknown::ignore);
    const auto kind = settings.ok() ? std::ranges::find(kinds(), settings->kind, &Kind::name) : kinds().end();
    if (kind != kinds().end() && check_keys(*kind, *settings).ok()) put({row.owner, row.name, std::move(*settings)});
  }
}

void Channels::put(Channel channel) {
  const std::lock_guard lock(mutex_);
  const std::pair key(channel.owner, channel.name);
  all_[key] = std::make_shared<const Channel>(std::move(channel));
}

void Channels::remove(const std::string& owner, const std::string& name) {
  const std::lock_guard lock(mutex_);
  all_.erase({owner, name});
}

Channels::Pointer Channels::find(const std::string& owner, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = all_.find({owner, name});
  return at == all_.end() ? nullptr : at->second;
}

Channels::Pointer Channels::resolve(const std::string& user, const std::string& name) const {
  if (Pointer own = find(user, name)) return own;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, channel] : all_) {
    if (key.second == name && channel->settings.shared) return channel;
  }
  return nullptr;
}

std::vector<Channels::Pointer> Channels::visible_to(const std::string& user) const {
  std::vector<Pointer> visible;
  for (const Pointer& channel : all()) {
    if (channel->owner == user || channel->settings.shared) visible.push_back(channel);
  }
  std::ranges::stable_sort(visible, {}, [](const Pointer& channel) { return channel->name; });
  return visible;
}

std::vector<Channels::Pointer> Channels::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Pointer> channels;
  for (const auto& [_, channel] : all_) channels.push_back(channel);
  return channels;
}

std::size_t Channels::count_of(const std::string& user) const {
  const auto channels = all();
  return static_cast<std::size_t>(
      std::ranges::count_if(channels, [&](const Pointer& channel) { return channel->owner == user; }));
}

bool Channels::empty() const {
  const std::lock_guard lock(mutex_);
  return all_.empty();
}

}  // namespace sl::notify
