#include "controller/job_files.h"

#include <gtest/gtest.h>

#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

// Finished job 1, unfinished job 2; job 3 was removed.
class Past : public NoPast {
 public:
  Result<std::optional<store::RemovedJob>> removed(std::int64_t job) override {
    return job == 3 ? std::optional(store::RemovedJob{5, "age"}) : std::nullopt;
  }
  Result<std::map<std::int64_t, std::optional<std::int64_t>>> ends(const std::vector<std::int64_t>&) override {
    return std::map<std::int64_t, std::optional<std::int64_t>>{{1, 77}, {2, std::nullopt}};
  }
};

TEST(JobFiles, of_jobs_that_ended_or_were_removed_or_are_of_another_cluster_are_told_apart) {
  Past past;
  const auto fates = JobFiles::fates_of({{"c", 1}, {"c", 2}, {"c", 3}, {"c", 4}, {"", 1}, {"d", 1}}, "c", past);
  std::string states;
  for (const wire::JobFate& fate : *fates) states += fate.state + " ";
  EXPECT_EQ(states, "ended unfinished removed unknown ended unknown ");
  EXPECT_EQ(fates->front().ended_us, 77);
}

// What agents ask is answered on this thread at last.
class JobFilesTest : public LogicTest {
 protected:
  JobFilesTest() {
    hello();
    std::vector<std::unique_ptr<store::Reader>> readers;
    readers.push_back(std::make_unique<Past>());
    history = std::make_unique<History>(std::move(readers), [this](auto work) {
      const std::lock_guard lock(mutex);
      inbox.push_back(std::move(work));
      changed.notify_all();
    });
    files = std::make_unique<JobFiles>(
        *logic, *history, [this] { return now; },
        [this](SessionId, const wire::JobFilesAnswer& answer) { answers.push_back(answer); });
  }
  void hear_history() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !inbox.empty(); });
    const auto work = std::move(inbox.front());
    inbox.pop_front();
    lock.unlock();
    work();
  }
  std::string states(std::size_t answer) const {
    std::string text;
    for (const wire::JobFate& fate : answers.at(answer).fates) text += fate.state + " ";
    return text;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> inbox;
  std::unique_ptr<History> history;
  std::unique_ptr<JobFiles> files;
  std::vector<wire::JobFilesAnswer> answers;
};

TEST_F(JobFilesTest, are_only_asked_about_without_any_event) {
  files->on_query(1, {8, "", {{"c", 1}, {"c", 2}}});
  hear_history();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.front().request, 8);
  EXPECT_EQ(answers.front().now_us, now.us);
  EXPECT_EQ(states(0), "ended unfinished ");
  settle();
  EXPECT_NE(world.events.back().kind, "job.files_removed");
}

TEST_F(JobFilesTest, may_be_removed_once_an_event_of_each_ended_job_is_durable) {
  files->on_query(1, {8, "size", {{"c", 1}, {"c", 2}, {"d", 9}}});
  hear_history();
  logic->turn(now);
  EXPECT_TRUE(answers.empty());
  settle();
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_GE(world.events.size(), 2U);
  const store::EventRow& known = world.events[world.events.size() - 2];
  EXPECT_EQ(known.kind, "job.files_removed");
  EXPECT_EQ(known.job_id, 1);
  EXPECT_EQ(known.server, "s");
  EXPECT_EQ(known.text, "the files of jobs took up more disk space than they may on the server");
  const store::EventRow& unknown = world.events.back();
  EXPECT_FALSE(unknown.job_id.has_value());
  EXPECT_EQ(unknown.text.substr(0, 49), "files of a job 9 that this database does not know");
}

TEST_F(JobFilesTest, of_a_job_that_the_core_has_are_needed_whatever_the_database_says) {
  submit(1), settle();
  files->on_query(1, {8, "age", {{"c", 1}}});
  hear_history();
  settle();
  EXPECT_EQ(states(0), "unfinished ");
  EXPECT_NE(world.events.back().kind, "job.files_removed");
}

TEST_F(JobFilesTest, are_asked_about_by_one_agent_after_the_other) {
  hello({}, 2, "b", "t");
  files->on_query(1, {8, "", {{"c", 1}}});
  files->on_query(2, {9, "", {{"c", 2}}});
  hear_history();
  EXPECT_EQ(answers.size(), 1U);
  hear_history();
  EXPECT_EQ(answers.size(), 2U);
}

TEST_F(JobFilesTest, are_not_asked_about_by_an_agent_that_has_gone_or_asks_too_much) {
  files->on_query(3, {8, "", {{"c", 1}}});
  files->on_query(1, {9, "", {}});
  files->on_query(1, {10, "", std::vector<wire::StoredJob>(query_jobs_max + 1)});
  files->on_query(1, {11, "", {{"c", 1}}});
  hear_history();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.front().request, 11);
}

TEST(OutputRemoved, is_said_of_the_server_that_removed_it) {
  const std::vector<store::EventRow> events = {
      {.kind = "job.files_removed", .job_id = 7, .server = "a", .text = "too old"},
      {.kind = "job.state_changed", .job_id = 7, .server = "b"}};
  const auto error = output_removed(events, "a");
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, "output-removed");
  EXPECT_EQ(error->message, "the output of job 7 was removed from a on 1970-01-01");
  EXPECT_EQ(error->notes, std::vector<std::string>{"too old"});
  EXPECT_FALSE(output_removed(events, "b").has_value());
}

}  // namespace
}  // namespace sl::controller::test
