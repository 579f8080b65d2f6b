// Where users want to be told of their jobs. Secrets are not kept here: a channel names one that its owner has stored
// (controller/secret_store.h).
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "courier/hosts.h"
#include "store/notification_rows.h"
#include "wire/notify.h"

namespace sl::notify {

// As users send it.
struct ChannelBody {
  std::string kind;                     // webhook, slack or mail
  std::optional<std::string> url;       // of the webhook, or of the mail server: smtp://mail.lab:587
  std::optional<std::string> secret;    // name of a stored one: key of signatures, URL of the Slack hook, password
  std::optional<std::string> login;     // at the mail server
  std::optional<std::string> from, to;  // addresses of mails; `to` of Slack: a room, where the hook may choose it
  std::vector<std::string> on;          // told of all jobs of its owner, without a job asking for it
  bool shared = false;                  // all users may name it, and `on` is of the jobs of all users
};
BOOST_DESCRIBE_STRUCT(ChannelBody, (), (kind, url, secret, login, from, to, on, shared))

struct ChannelSettings : ChannelBody {
  std::int64_t made_us = 0;
  std::int64_t after_event = 0;  // `on` is of later events
};
BOOST_DESCRIBE_STRUCT(ChannelSettings, (ChannelBody), (made_us, after_event))

struct Channel {
  std::string owner, name;
  ChannelSettings settings;
};

// Whether this can be a channel of a user. Errors: "bad-channel", "bad-url", "host-not-allowed", "no-libcurl",
// "bad-notify", "admins-only" for what only admins may do: share it, be told of servers.
Status check_channel(const std::string& name, const ChannelBody& body, bool is_admin,
                     const courier::AllowedHosts& allowed);

// Whether it is shared, or told of servers: for channels of admins.
bool is_for_admins(const ChannelBody& body);

// Whether a message through the channel can go to this receiver; empty: that of the channel. Error: "bad-notify".
Status check_receiver(const Channel& channel, const std::string& receiver);

// Any thread may call.
class Channels {
 public:
  using Pointer = std::shared_ptr<const Channel>;         // threads that send hold one while it may be replaced
  void load(const std::vector<store::ChannelRow>& rows);  // rows that cannot be read are left out
  void put(Channel channel);
  void remove(const std::string& owner, const std::string& name);

  Pointer find(const std::string& owner, const std::string& name) const;  // null: there is none
  // The one that a user means by this name: his own, else a shared one. Null: there is none.
  Pointer resolve(const std::string& user, const std::string& name) const;
  // His own and the shared ones, by name.
  std::vector<Pointer> visible_to(const std::string& user) const;
  std::vector<Pointer> all() const;
  std::size_t count_of(const std::string& user) const;
  bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Pointer> all_;  // by owner and name
};

store::ChannelRow to_row(const Channel& channel);

}  // namespace sl::notify
