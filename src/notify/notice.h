// What is told: made from an event and the job that it is about. It does not depend on who is told.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "notify/channels.h"
#include "store/store.h"
#include "wire/schema.h"

namespace sl::notify {

struct NoticeOfJob {
  std::int64_t id = 0;
  std::string name, user, state;
  std::optional<std::string> server;
  int attempt = 0;
  std::optional<int> exit_code, signal;
  std::optional<std::string> failure_kind, failure_message;
  wire::Time created_at;
  std::optional<wire::Time> started_at, finished_at;
  double run_s = 0;
};
BOOST_DESCRIBE_STRUCT(NoticeOfJob, (),
                      (id, name, user, state, server, attempt, exit_code, signal, failure_kind, failure_message,
                       created_at, started_at, finished_at, run_s))

// The body of a webhook, described in docs/guide/notifications.md.
struct Notice {
  std::string id;     // of the delivery: the same in every try
  std::string event;  // "failed", "server_down", "test"
  wire::Time at;
  std::string text;  // one sentence
  std::optional<NoticeOfJob> job;
  std::optional<std::string> server;
  std::string cluster_id;
};
BOOST_DESCRIBE_STRUCT(Notice, (), (id, event, at, text, job, server, cluster_id))

// The words by which one asks to be told of this event, the most exact one first; none: nobody can be told of it.
std::vector<std::string> words_of(const store::EventRow& event);

// `job`: the row of the event's job, as it is by now; null: the event is about none.
Notice make_notice(const store::EventRow& event, const store::JobRow* job);

// Who is told of an event: one entry per channel and receiver.
struct Target {
  Channels::Pointer channel;
  std::string receiver;  // empty: that of the channel
};
std::vector<Target> targets_of(const store::EventRow& event, const store::JobRow* job, const Channels& channels);

}  // namespace sl::notify
