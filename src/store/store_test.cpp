#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "store/writer.h"

namespace sl::store {
namespace {

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-store-XXXXXX";
    dir_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::unique_ptr<Store> open() {
    auto store = open_sqlite(dir_);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(*store);
  }
  std::string dir_;
};

JobRow full_row(std::int64_t id) {
  constexpr std::int64_t big = 5'000'000'000;  // SOCI reads INTEGER columns as 32 bits: no column may
  JobRow row;
  row.id = id;
  row.user = "u", row.name = "n", row.spec_json = "{}", row.state = "running";
  row.submitted_us = big, row.state_since_us = big + 1, row.first_start_us = big + 2, row.last_start_us = big + 3;
  row.attempt = 3, row.run_us = big + 4, row.attained_gpu_us = big + 5;
  row.preemptions = 1, row.migrations = 2, row.resizes = 4, row.failures = 5;
  row.server = "s", row.gpus = "0,1", row.priority = -7, row.held = true, row.cancel_requested = true;
  row.exit_code = 9, row.failure_kind = "exit", row.failure_message = "it's \"broken\"\n",
  row.progress_json = "{\"a\":1}", row.annotation = 2.5, row.extra_json = "x";
  return row;
}

TEST_F(StoreTest, gives_back_every_value_it_was_given) {
  Batch batch;
  batch.jobs = {full_row(5'000'000'001)};
  batch.events = {
      {1, 5'000'000'002, "job.state", 5'000'000'001, "s", "user", "mei", "pending", "running", "text", "{}"}};
  batch.policies = {{5'000'000'003, "fifo", "{\"a\":\"b\"}", "mei", "class Mine:\n  pass\n"}};
  batch.keys = {{"k", "h", 5'000'000'001, 5'000'000'004}};
  batch.servers = {{"s", "id", "{}", 5'000'000'005}};
  batch.settings = {{"last_server", "s"}};
  ASSERT_TRUE(open()->commit(batch).ok());
  auto store = open();
  const auto loaded = store->load(5'000'000'004, 100);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->unfinished_jobs, batch.jobs);
  EXPECT_EQ(loaded->policies, batch.policies);
  EXPECT_EQ(loaded->servers.front().last_contact_us, 5'000'000'005);
  EXPECT_EQ(loaded->settings.front().value, "s");
  EXPECT_EQ(loaded->keys.front().job_id, 5'000'000'001);
  EXPECT_EQ(loaded->next_event_seq, 2);
  EXPECT_EQ(loaded->next_job_id, 5'000'000'002);
  EXPECT_EQ(*store->events(0, 10, {}), batch.events);
  EXPECT_EQ(store->events(0, 10, 1)->size(), 0u);
  EXPECT_EQ(**store->job(5'000'000'001), batch.jobs.front());
}

TEST_F(StoreTest, a_later_row_of_a_job_replaces_the_earlier_one) {
  auto store = open();
  JobRow row = full_row(1);
  ASSERT_TRUE(store->commit({.jobs = {row}}).ok());
  row.state = "succeeded";
  row.finished_us = 6'000'000'000;
  ASSERT_TRUE(store->commit({.jobs = {full_row(1), row}}).ok());
  const auto loaded = store->load(0, 10);
  EXPECT_TRUE(loaded->unfinished_jobs.empty());
  EXPECT_EQ(loaded->finished_jobs, std::vector{row});
}

TEST_F(StoreTest, a_batch_is_written_whole_or_not_at_all) {
  auto store = open();
  ASSERT_TRUE(store->commit({.events = {{.seq = 1, .kind = "a"}}}).ok());
  EXPECT_FALSE(store->commit({.jobs = {full_row(1)}, .events = {{.seq = 1, .kind = "twice"}}}).ok());
  EXPECT_FALSE(store->job(1)->has_value());
  EXPECT_TRUE(store->commit({.jobs = {full_row(1)}}).ok());
}

TEST_F(StoreTest, what_was_committed_survives_a_kill) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = open_sqlite(dir_);
    for (std::int64_t id = 1;; ++id) {
      if (!(*store)->commit({.jobs = {full_row(2 * id), full_row(2 * id + 1)}}).ok()) ::_exit(1);
      if (::write(pipe_ends[1], &id, sizeof id) != sizeof id) ::_exit(1);
    }
  }
  std::int64_t reported = 0;
  while (reported < 50 && ::read(pipe_ends[0], &reported, sizeof reported) == sizeof reported) {
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe_ends[1]);
  for (std::int64_t id = 0; ::read(pipe_ends[0], &id, sizeof id) == sizeof id;) reported = id;
  ::close(pipe_ends[0]);
  const auto loaded = open()->load(0, 10);
  EXPECT_GE(loaded->unfinished_jobs.size(), static_cast<std::size_t>(2 * reported));
  EXPECT_EQ(loaded->unfinished_jobs.size() % 2, 0u);  // no half batch
}

TEST_F(StoreTest, refuses_what_it_cannot_use_and_says_why) {
  auto first = open();
  EXPECT_EQ(open_sqlite(dir_).error().code, "data-directory-in-use");
  EXPECT_EQ(open_sqlite("/proc/no/such").error().code, "data-directory-not-writable");
  std::ofstream(dir_ + "/file") << "x";
  EXPECT_EQ(open_sqlite(dir_ + "/file").error().code, "data-directory-not-writable");
}

TEST_F(StoreTest, a_full_disk_refuses_the_batch_and_the_next_one_fits_when_there_is_room) {
  const std::string mount = dir_ + "/small";
  std::filesystem::create_directory(mount);
  if (std::system(("mount -t tmpfs -o size=1m tmpfs " + mount + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "cannot mount a small disk here";
  {
    auto store = open_sqlite(mount);
    ASSERT_TRUE(store.ok());
    std::ofstream filler(mount + "/filler", std::ios::binary);
    filler << std::string(2 << 20, 'x') << std::flush;
    Status status;
    JobRow row = full_row(1);
    row.spec_json = std::string(200'000, ' ');
    for (int i = 0; i < 20 && status.ok(); ++i) row.id = i + 1, status = (*store)->commit({.jobs = {row}});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, "disk-full") << status.error().message;
    filler.close();
    std::filesystem::remove(mount + "/filler");
    EXPECT_TRUE((*store)->commit({.jobs = {full_row(99)}}).ok());
  }
  EXPECT_EQ(std::system(("umount " + mount).c_str()), 0);
}

TEST_F(StoreTest, the_writer_commits_in_order_and_finishes_what_is_queued) {
  auto store = open();
  std::vector<std::int64_t> done;
  {
    Writer writer(*store);
    for (std::int64_t id = 1; id <= 100; ++id)
      writer.submit({.jobs = {full_row(id)}}, [&done, id](const Status& s) { done.push_back(s.ok() ? id : -1); });
  }
  ASSERT_EQ(done.size(), 100u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(store->load(0, 10)->unfinished_jobs.size(), 100u);
}

}  // namespace
}  // namespace sl::store
