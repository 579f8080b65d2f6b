// The thread of notifications over a real database and real receivers.
#include "notify/notifications.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "store/writer.h"
#include "support/receiver.h"

namespace sl::notify {
namespace {

using test::Receiver;

class NotificationsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-notify-XXXXXX";
    folder = ::mkdtemp(name);
    store = std::move(*store::open_sqlite(folder));
    writer = std::make_unique<store::Writer>(*store);
    begin();
  }
  void TearDown() override {
    end();
    writer.reset(), store.reset();
    std::filesystem::remove_all(folder);
  }
  // As a controller starts it, and ends it: nothing of its thread is kept.
  void begin() {
    Surroundings around;
    around.commit = [this](store::Batch batch, std::function<void(Status)> done) {
      if (is_disk_full) return done(unavailable("disk-full", "no room"));
      writer->submit(std::move(batch), std::move(done));
    };
    around.secret = [](const std::string&, const std::string& name) {
      return name == "gone" ? std::nullopt : std::optional<std::string>("key");
    };
    around.post = [](const std::function<void()>& work) { work(); };
    around.clock = [this] { return Instant{now_us.load()}; };
    auto reader = std::move(*store::open_reader(folder));
    auto opened = Notifications::open({.allowed = *courier::AllowedHosts::parse({"127.0.0.1"})}, "lab",
                                      std::move(reader), std::move(around));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    notifications = std::move(*opened);
    notifications->start();
  }
  void end() {
    notifications->stop();
    writer = std::make_unique<store::Writer>(*store);  // what it still commits has ended
    notifications.reset();
  }
  void write(const store::Batch& batch) {
    std::promise<void> written;
    writer->submit(batch, [&](const Status& status) {
      EXPECT_TRUE(status.ok()) << status.error().message;
      written.set_value();
    });
    written.get_future().get();
    notifications->on_commit();
  }
  Status put(const std::string& name, const std::string& url, const std::string& secret = "key") {
    std::promise<Status> told;
    notifications->put("mei", name, {.kind = "webhook", .url = url, .secret = secret}, false, last_event,
                       [&](const Status& status) { told.set_value(status); });
    return told.get_future().get();
  }
  // Jobs that ended, one event each, asking for the channels.
  void fail_jobs(int count, const std::string& channel) {
    store::Batch batch;
    for (int i = 0; i < count; ++i) {
      store::JobRow job;
      job.id = ++last_event, job.user = "mei", job.name = "train", job.state = "failed", job.finished_us = 1,
      job.run_us = 1'024'583;
      job.spec_json = R"({"command": "true", "notify": [{"on": ["failed"], "to": ")" + channel + "\"}]}";
      batch.jobs.push_back(job);
      batch.events.push_back({.seq = last_event, .at_us = 1, .kind = "job.state", .job_id = job.id, .to = "failed"});
    }
    write(batch);
  }
  std::vector<store::DeliveryRow> rows() {
    return std::move(*(*store::open_reader(folder))->deliveries({.limit = 10'000}));
  }
  // Waits until so many deliveries are in this state.
  bool come(std::size_t count, const std::string& state) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      const auto all = rows();
      if (static_cast<std::size_t>(std::ranges::count(all, state, &store::DeliveryRow::state)) >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  void pass(double seconds) {
    now_us += static_cast<std::int64_t>(seconds * 1e6);
    notifications->on_commit();  // looks at the clock
  }
  static std::string id_in(const std::string& request) {
    const std::size_t at = request.find("X-Schedulearn-Delivery: ");
    return request.substr(at + 24, 32);
  }

  std::string folder;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<store::Writer> writer;
  std::unique_ptr<Notifications> notifications;
  std::atomic<std::int64_t> now_us = 1'000'000'000'000;
  std::atomic<bool> is_disk_full = false;
  std::int64_t last_event = 0;
};

TEST_F(NotificationsTest, an_event_is_told_once_and_the_log_says_so) {
  Receiver receiver(Receiver::answering(200));
  ASSERT_TRUE(put("hook", receiver.url()).ok());
  fail_jobs(1, "hook");
  ASSERT_TRUE(come(1, "delivered"));
  const std::string request = receiver.requests().at(0);
  EXPECT_NE(request.find(R"("event":"failed")"), std::string::npos) << request;
  EXPECT_NE(request.find(R"("cluster_id":"lab")"), std::string::npos);
  EXPECT_NE(request.find(R"("run_s":1.024583})"), std::string::npos) << request;
  end(), begin();
  fail_jobs(1, "hook");
  ASSERT_TRUE(come(2, "delivered"));
  EXPECT_EQ(receiver.requests().size(), 2U) << "after a restart nothing is told again";
}

TEST_F(NotificationsTest, a_receiver_that_is_away_gets_it_when_it_is_back_under_the_same_id) {
  auto receiver = std::make_unique<Receiver>(Receiver::answering(500));
  const std::uint16_t port = receiver->port();
  ASSERT_TRUE(put("hook", receiver->url()).ok());
  fail_jobs(1, "hook");
  ASSERT_TRUE(receiver->has(1));
  ASSERT_TRUE(come(1, "waiting"));
  const std::string id = id_in(receiver->requests()[0]);
  receiver.reset();
  while (rows()[0].tries < 1) std::this_thread::yield();
  pass(6);
  while (rows()[0].tries < 2) std::this_thread::yield();
  EXPECT_EQ(rows()[0].why, "it cannot be connected to");
  receiver = std::make_unique<Receiver>(Receiver::answering(200), port);
  pass(11);
  ASSERT_TRUE(come(1, "delivered"));
  EXPECT_EQ(id_in(receiver->requests().at(0)), id);
  EXPECT_EQ(rows()[0].tries, 3);
}

TEST_F(NotificationsTest, what_waits_outlives_the_controller) {
  auto receiver = std::make_unique<Receiver>(Receiver::answering(500));
  const std::uint16_t port = receiver->port();
  ASSERT_TRUE(put("hook", receiver->url()).ok());
  fail_jobs(3, "hook");
  ASSERT_TRUE(receiver->has(3));
  end();
  receiver.reset();
  receiver = std::make_unique<Receiver>(Receiver::answering(200), port);
  now_us += 10'000'000;
  begin();
  ASSERT_TRUE(come(3, "delivered"));
}

// The controller ended between the removal and the messages' end.
TEST_F(NotificationsTest, what_waited_for_a_channel_that_was_removed_is_not_sent_after_a_restart) {
  Receiver receiver(Receiver::answering(500));
  ASSERT_TRUE(put("hook", receiver.url()).ok());
  fail_jobs(1, "hook");
  while (rows().empty() || rows()[0].tries < 1) std::this_thread::yield();
  end();
  ASSERT_TRUE(store->commit({.channels = {{"mei", "hook", ""}}}).ok());
  begin();
  ASSERT_TRUE(put("hook", receiver.url()).ok());  // another one of that name
  pass(6);
  ASSERT_TRUE(come(1, "failed"));
  EXPECT_EQ(rows()[0].why, "its channel was removed");
  EXPECT_EQ(receiver.requests().size(), 1U);
}

TEST_F(NotificationsTest, what_happened_while_nothing_ran_is_told_afterwards) {
  Receiver receiver(Receiver::answering(200));
  ASSERT_TRUE(put("hook", receiver.url()).ok());
  notifications->stop();
  fail_jobs(2, "hook");
  end(), begin();
  ASSERT_TRUE(come(2, "delivered"));
  EXPECT_EQ(receiver.requests().size(), 2U);
}

TEST_F(NotificationsTest, while_the_disk_is_full_nothing_is_told_and_nothing_lost) {
  Receiver receiver(Receiver::answering(200));
  ASSERT_TRUE(put("hook", receiver.url()).ok());
  is_disk_full = true;
  fail_jobs(2, "hook");
  EXPECT_EQ(put("other", receiver.url()).error().code, "disk-full");
  std::promise<Result<store::DeliveryRow>> tested;
  notifications->test("mei", "hook", "", [&](const auto& row) { tested.set_value(row); });
  auto failed = tested.get_future();
  while (failed.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) pass(2);
  EXPECT_EQ(failed.get().error().code, "disk-full");
  EXPECT_TRUE(receiver.requests().empty());
  is_disk_full = false;
  pass(2);
  ASSERT_TRUE(come(2, "delivered"));
  EXPECT_EQ(receiver.requests().size(), 2U);
}

TEST_F(NotificationsTest, too_many_for_one_channel_are_dropped_and_others_go_on) {
  Receiver deaf([](const auto&) {}, 0, false), good(Receiver::answering(200));
  ASSERT_TRUE(put("deaf", deaf.url()).ok());
  ASSERT_TRUE(put("good", good.url()).ok());
  fail_jobs(static_cast<int>(open_per_channel_max) + 7, "deaf");
  fail_jobs(1, "good");
  ASSERT_TRUE(come(1, "delivered"));
  ASSERT_TRUE(come(7, "dropped"));
  EXPECT_EQ(rows().size(), open_per_channel_max + 8);
}

TEST_F(NotificationsTest, what_waits_for_a_channel_that_was_removed_is_not_sent) {
  Receiver receiver(Receiver::answering(500));
  ASSERT_TRUE(put("hook", receiver.url()).ok());
  fail_jobs(1, "hook");
  ASSERT_TRUE(receiver.has(1));
  while (rows().empty() || rows()[0].tries < 1) std::this_thread::yield();
  std::promise<Status> removed;
  notifications->remove("mei", "hook", [&](const Status& status) { removed.set_value(status); });
  EXPECT_TRUE(removed.get_future().get().ok());
  ASSERT_TRUE(put("hook", receiver.url()).ok());  // another one of that name
  pass(6);
  ASSERT_TRUE(come(1, "failed"));
  EXPECT_EQ(rows()[0].why, "its channel was removed");
  EXPECT_EQ(receiver.requests().size(), 1U);
}

TEST_F(NotificationsTest, a_test_says_how_it_went) {
  Receiver receiver(Receiver::answering(403));
  ASSERT_TRUE(put("hook", receiver.url()).ok());
  std::promise<Result<store::DeliveryRow>> tested;
  notifications->test("mei", "hook", "", [&](const auto& row) { tested.set_value(row); });
  const auto row = tested.get_future().get();
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->state, "failed");
  EXPECT_EQ(row->why, "it answered 403");
  ASSERT_TRUE(come(1, "failed")) << "it is in the log";
  std::string code;
  notifications->test("mei", "other", "", [&](const auto& answer) { code = answer.error().code; });
  EXPECT_EQ(code, "no-such-channel");
  EXPECT_EQ(put("x", receiver.url(), "gone").error().code, "no-such-secret");
}

TEST_F(NotificationsTest, a_user_tests_two_at_a_time_and_messages_are_not_held_up) {
  Receiver deaf([](const auto&) {}, 0, false), good(Receiver::answering(200));
  ASSERT_TRUE(put("deaf", deaf.url()).ok());
  ASSERT_TRUE(put("good", good.url()).ok());
  std::promise<std::string> refused;
  std::atomic<int> refusals = 0;
  for (int i = 0; i < 40; ++i)
    notifications->test("mei", "deaf", "", [&](const auto& row) {
      if (!row.ok() && row.error().code == "too-many-requests" && ++refusals == 38) refused.set_value("");
    });
  ASSERT_EQ(refused.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  fail_jobs(1, "good");
  ASSERT_TRUE(come(1, "delivered"));
  EXPECT_EQ(rows().size(), 3U) << "what was refused is not written down";
}

TEST_F(NotificationsTest, a_user_has_fifty_channels_at_most) {
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(put("c" + std::to_string(i), "http://127.0.0.1:9/").ok());
  EXPECT_EQ(put("more", "http://127.0.0.1:9/").error().code, "too-many-channels");
  EXPECT_TRUE(put("c7", "http://127.0.0.1:10/").ok()) << "those that are there can be changed";
}

TEST_F(NotificationsTest, the_channels_of_one_who_is_no_admin_any_more_are_private) {
  std::promise<Status> told, done;
  notifications->put("mei", "lab",
                     {.kind = "webhook",
                      .url = "http://127.0.0.1:9/",
                      .secret = "key",
                      .on = {"failed", "server_down"},
                      .shared = true},
                     true, 0, [&](const Status& status) { told.set_value(status); });
  ASSERT_TRUE(told.get_future().get().ok());
  EXPECT_TRUE(notifications->check("bella", {{{"failed"}, "lab"}}).ok());
  notifications->make_private("mei", [&](const Status& status) { done.set_value(status); });
  ASSERT_TRUE(done.get_future().get().ok());
  end(), begin();
  EXPECT_FALSE(notifications->check("bella", {{{"failed"}, "lab"}}).ok());
  EXPECT_EQ(notifications->channels().find("mei", "lab")->settings.on, std::vector<std::string>{"failed"});
}

TEST_F(NotificationsTest, jobs_name_channels_that_are_there) {
  Receiver receiver(Receiver::answering(200));
  ASSERT_TRUE(put("hook", receiver.url()).ok());
  EXPECT_TRUE(notifications->check("mei", {{{"failed"}, "hook"}}).ok());
  EXPECT_EQ(notifications->check("mei", {{{"failed"}, "other"}}).error().pointer, "/notify/0/to");
  EXPECT_EQ(notifications->check("bella", {{{"failed"}, "hook"}}).error().code, "no-such-channel");
  EXPECT_EQ(notifications->check("mei", {{{"failed"}, "hook:#room"}}).error().code, "bad-notify");
}

}  // namespace
}  // namespace sl::notify
