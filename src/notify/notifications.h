// The thread of notifications: reads events as they become durable, writes down whom each is to be told to, sends, and
// tries again. The core's thread never waits for it; what it cannot take on yet stays in the database.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "courier/courier.h"
#include "notify/delivery_queue.h"
#include "notify/notice.h"
#include "store/store.h"

namespace sl::notify {

// What it needs of the controller. Any thread may call each.
struct Surroundings {
  // Writes in one transaction; `done` may be called on any thread.
  std::function<void(store::Batch, std::function<void(Status)> done)> commit;
  // Of a user; nothing: he has stored none of this name.
  std::function<std::optional<std::string>(const std::string& user, const std::string& name)> secret;
  std::function<void(std::function<void()>)> post;  // runs work on the core's thread, later
  std::function<Instant()> clock;
};

Error no_such_channel(const std::string& name);  // "no-such-channel"

class Notifications {
 public:
  // Reads what there is already. Errors: those of the reader.
  static Result<std::unique_ptr<Notifications>> open(courier::CourierSettings settings, std::string cluster_id,
                                                     std::unique_ptr<store::Reader> reader, Surroundings surroundings);
  ~Notifications();
  Notifications(const Notifications&) = delete;
  Notifications& operator=(const Notifications&) = delete;

  void start();
  // Ends the thread; what is under way is sent again after the next start. Commits may still end afterwards.
  void stop();
  // Events have become durable.
  void on_commit();

  // ---- for users; called on the core's thread, and so is `done` ----
  using Told = std::function<void(const Status&)>;
  // `newest_event`: the channel's `on` is of later ones. Errors: those of check_channel(), "no-such-secret",
  // "too-many-channels".
  void put(const std::string& owner, const std::string& name, ChannelBody body, bool is_admin,
           std::int64_t newest_event, Told done);
  void remove(const std::string& owner, const std::string& name, Told done);  // error "no-such-channel"
  void remove_all(const std::string& owner, Told done);                       // also of one who has none
  // Its owner is no admin any more: takes back what only admins may do (check_channel).
  void make_private(const std::string& owner, Told done);
  // Sends a message and waits for how that goes. Errors: "no-such-channel", "bad-notify", those of the store;
  // "too-many-requests", if as many of this user's tests as are allowed have not ended yet.
  using Tested = std::function<void(Result<store::DeliveryRow>)>;
  void test(const std::string& user, const std::string& name, const std::string& receiver, Tested done);
  // Whether there are all the channels that this user's job names. Errors: "no-such-channel", "bad-notify".
  Status check(const std::string& user, const std::vector<wire::NotifySpec>& notify) const;
  const Channels& channels() const { return channels_; }

 private:
  Notifications(courier::CourierSettings settings, std::string cluster_id, std::unique_ptr<store::Reader> reader,
                Surroundings surroundings);
  Status load();
  void put_in(std::function<void()> work);
  void forget(const std::string& owner, const std::string& name);
  void run();
  std::chrono::milliseconds time_to_next() const;

  // ---- on the own thread ----
  void look_for_events(Instant now);
  Status read_events();
  Status plan(const store::EventRow& event);
  void add(const Target& target, const store::EventRow& event, const store::JobRow* job);
  void send_due(Instant now);
  void send(const store::DeliveryRow& row, Instant now);
  void on_outcome(const std::string& id, const courier::Outcome& outcome);
  void write_down(Instant now);
  void on_written(const Status& status);
  struct Test {
    std::string user;
    Tested done;
  };
  void begin_test(const Channel& channel, const std::string& receiver, Test test);
  void answer_test(const std::string& id, Result<store::DeliveryRow> result);

  courier::Courier courier_;
  std::string cluster_id_;
  std::unique_ptr<store::Reader> reader_;
  Surroundings around_;
  Channels channels_;

  std::mutex mutex_;  // guards the next line
  std::deque<std::function<void()>> inputs_;
  std::atomic<bool> is_ending_ = false, has_new_events_ = true;
  std::thread thread_;

  // Of the own thread.
  DeliveryQueue queue_;
  std::int64_t cursor_ = 0, cursor_written_ = 0;  // the last event that was looked at
  std::vector<store::DeliveryRow> fresh_;         // new, to be written before they are sent
  std::set<std::string> orphans_;                 // ids of `fresh_` whose channel was removed meanwhile
  std::vector<store::DeliveryRow> tried_;         // to be written
  store::Batch writing_;                          // under way
  bool is_writing_ = false;
  Instant not_before_;                 // of reading and writing, after a failure
  std::map<std::string, Test> tests_;  // by id, those that have not been answered
};

}  // namespace sl::notify
