#include "agent/file_retention.h"

#include <gtest/gtest.h>

#include <map>

namespace sl::agent {
namespace {

using Jobs = std::vector<std::int64_t>;

// A disk and a controller that do what the test says.
class FileRetentionTest : public testing::Test {
 protected:
  void use(const wire::RetentionRule& rule) {
    answered = 0;
    retention = std::make_unique<FileRetention>(
        rule,
        FileRetention::Ports{[this] { ++looks; }, [this](const wire::JobFilesQuery& query) { asked.push_back(query); },
                             [this](const wire::StoredJob& job) { return held.contains(job); },
                             [this](const JobFolders& folders) {
                               if (irremovable.contains(folders.job.job)) return false;
                               removed.push_back(folders.job.job);
                               std::erase_if(disk, [&](const auto& one) { return one.job == folders.job; });
                               return true;
                             }});
    retention->on_session_opened(page);
  }
  // Jobs of 100 bytes each that ended 10 s apart, the last one now.
  void leave(std::int64_t jobs) {
    for (std::int64_t job = 1; job <= jobs; ++job) {
      disk.push_back({{"c", job}, {"/attempts/" + std::to_string(job)}, 0, 100});
      fates[job] = {"ended", now.us - (jobs - job) * 10'000'000};
    }
  }
  wire::JobFilesAnswer answer_to(const wire::JobFilesQuery& query) {
    wire::JobFilesAnswer answer{query.request, now.us, {}};
    for (const wire::StoredJob& job : query.jobs)
      answer.fates.push_back(fates.contains(job.job) ? fates[job.job] : wire::JobFate{"unknown", 0});
    return answer;
  }
  // Until nothing is asked any more. Returns how often was looked.
  int run(int seconds = 30) {
    const int before = looks;
    for (int i = 0; i < seconds * 4; ++i) {
      const int looked = looks;
      retention->tick(local);
      if (looks > looked) retention->on_look(disk, Duration::milliseconds(1), free_bytes, local);
      if (!asked.empty() && asked.back().request > answered) {
        answered = asked.back().request;
        retention->on_answer(answer_to(asked.back()), local);
      }
      local = local + Duration::milliseconds(250);
    }
    return looks - before;
  }
  Jobs removed_by(const wire::RetentionRule& rule) {
    use(rule);
    run();
    return removed;
  }
  std::vector<std::string> limits() const {
    std::vector<std::string> limits;
    for (const wire::JobFilesQuery& query : asked) {
      if (!query.limit.empty()) limits.push_back(query.limit);
    }
    return limits;
  }

  Instant now = Instant::at_seconds(1'000'000'000);  // the controller's clock
  Instant local = Instant::at_seconds(77);           // the agent's
  int page = 500, looks = 0;
  std::int64_t free_bytes = 1'000'000;
  std::int64_t answered = 0;
  std::vector<JobFolders> disk;
  std::map<std::int64_t, wire::JobFate> fates;
  std::set<wire::StoredJob> held;
  std::set<std::int64_t> irremovable;
  std::vector<wire::JobFilesQuery> asked;
  Jobs removed;
  std::unique_ptr<FileRetention> retention;
};

TEST_F(FileRetentionTest, removes_what_is_too_old_by_the_controllers_clock) {
  leave(5);
  EXPECT_EQ(removed_by({.age_s = 25}), (Jobs{1, 2}));
  EXPECT_EQ(limits(), std::vector<std::string>{"age"});
}

TEST_F(FileRetentionTest, removes_the_oldest_of_too_many) {
  leave(5);
  EXPECT_EQ(removed_by({.jobs = 2}), (Jobs{1, 2, 3}));
  EXPECT_EQ(limits(), std::vector<std::string>{"number"});
}

TEST_F(FileRetentionTest, removes_the_oldest_while_they_are_too_large) {
  leave(5);
  EXPECT_EQ(removed_by({.bytes = 420}), Jobs{1});
  EXPECT_EQ(limits(), std::vector<std::string>{"size"});
}

TEST_F(FileRetentionTest, removes_the_oldest_while_too_little_of_the_disk_is_free) {
  leave(5);
  free_bytes = 250;
  EXPECT_EQ(removed_by({.free_bytes = 420}), (Jobs{1, 2}));
  EXPECT_EQ(limits(), std::vector<std::string>{"free"});
}

TEST_F(FileRetentionTest, what_other_limits_remove_counts_as_free) {
  leave(5);
  free_bytes = 250;
  EXPECT_EQ(removed_by({.jobs = 3, .free_bytes = 420}), (Jobs{1, 2}));
  EXPECT_EQ(limits(), std::vector<std::string>{"number"});
}

TEST_F(FileRetentionTest, applies_all_limits_one_after_the_other) {
  leave(5);
  EXPECT_EQ(removed_by({.age_s = 35, .jobs = 3, .bytes = 250}), (Jobs{1, 2, 3}));
  EXPECT_EQ(limits(), (std::vector<std::string>{"age", "number", "size"}));
}

TEST_F(FileRetentionTest, removes_nothing_without_limits) {
  leave(5);
  EXPECT_EQ(removed_by({.age_s = 0}), Jobs());
}

TEST_F(FileRetentionTest, follows_the_controllers_removals_whatever_its_own_rule) {
  leave(3);
  fates[2] = {"removed", 0};
  EXPECT_EQ(removed_by({.age_s = 0}), Jobs{2});
  EXPECT_EQ(limits(), std::vector<std::string>()) << "nobody can ask for its history";
}

TEST_F(FileRetentionTest, keeps_and_does_not_count_unfinished_jobs) {
  leave(5);
  fates[1] = fates[2] = {"unfinished", 0};
  EXPECT_EQ(removed_by({.age_s = 1, .jobs = 1, .bytes = 1}), (Jobs{3, 4, 5}));
  EXPECT_EQ(limits(), (std::vector<std::string>{"age", "size"}));
  removed.clear(), disk.clear(), asked.clear();
  leave(5);
  fates[1] = fates[2] = {"unfinished", 0};
  disk[0].changed_us = disk[1].changed_us = now.us;
  EXPECT_EQ(removed_by({.age_s = 0, .jobs = 2}), Jobs{3});
  EXPECT_EQ(removed_by({.age_s = 0, .bytes = 200}), Jobs{3}) << "200 of the 400 bytes are of unfinished jobs";
}

TEST_F(FileRetentionTest, neither_asks_about_nor_removes_what_may_run_here) {
  leave(2);
  held = {{"c", 1}};
  EXPECT_EQ(removed_by({.age_s = 1}), Jobs());
  for (const auto& query : asked) EXPECT_EQ(query.jobs, (std::vector<wire::StoredJob>{{"c", 2}}));
}

TEST_F(FileRetentionTest, removes_nothing_that_came_back_after_the_look) {
  leave(2);
  use({.age_s = 5});
  retention->tick(local);
  retention->on_look(disk, {}, free_bytes, local);
  retention->tick(local);
  held = {{"c", 1}};
  retention->on_answer(answer_to(asked.back()), local);
  retention->tick(local + Duration::whole_seconds(2));
  ASSERT_EQ(asked.back().limit, "age");
  retention->on_answer(answer_to(asked.back()), local);
  EXPECT_EQ(removed, Jobs());
}

TEST_F(FileRetentionTest, removes_only_what_has_still_ended_when_the_removal_is_recorded) {
  leave(3);
  use({.jobs = 1});
  retention->tick(local);
  retention->on_look(disk, {}, free_bytes, local);
  retention->tick(local);
  retention->on_answer(answer_to(asked.back()), local);
  EXPECT_EQ(removed, Jobs()) << "before it is recorded";
  retention->tick(local + Duration::whole_seconds(2));
  fates[1] = {"unfinished", 0};
  retention->on_answer(answer_to(asked.back()), local);
  EXPECT_EQ(removed, Jobs{2});
}

TEST_F(FileRetentionTest, takes_the_last_change_for_the_end_of_a_job_nobody_knows) {
  leave(3);
  fates.clear();
  disk[0].changed_us = now.us - 30'000'000, disk[1].changed_us = now.us - 10'000'000, disk[2].changed_us = now.us;
  EXPECT_EQ(removed_by({.age_s = 20}), Jobs{1});
}

TEST_F(FileRetentionTest, asks_in_pages_and_not_too_often) {
  leave(1'000);
  page = 10;
  use({.age_s = 0});
  EXPECT_EQ(run(50), 1);
  EXPECT_NEAR(static_cast<double>(asked.size()), 50, 1) << "a page per second";
  run(55);
  EXPECT_EQ(asked.size(), 100U);
  EXPECT_EQ(run(600), 0) << "a round of 100 s, then a pause nine times as long";
  EXPECT_EQ(run(400), 1);
}

TEST_F(FileRetentionTest, leaves_alone_what_cannot_be_removed) {
  leave(3);
  irremovable = {1};
  use({.age_s = 1});
  run(600);
  EXPECT_EQ(removed, Jobs{2});
  EXPECT_EQ(limits().size(), 1U);
}

TEST_F(FileRetentionTest, asks_again_later_when_no_answer_comes) {
  leave(1);
  use({.age_s = 0});
  retention->tick(local);
  retention->on_look(disk, {}, free_bytes, local);
  retention->tick(local);
  ASSERT_EQ(asked.size(), 1U);
  answered = 1;
  EXPECT_EQ(run(60), 0);
  EXPECT_EQ(run(500), 0) << "it waited 60 s, so it pauses for nine times as long";
  EXPECT_EQ(run(90), 1);
}

TEST_F(FileRetentionTest, hears_no_answer_of_an_earlier_session) {
  leave(1);
  fates[1] = {"removed", 0};
  use({.age_s = 0});
  retention->tick(local);
  retention->on_look(disk, {}, free_bytes, local);
  retention->tick(local);
  retention->on_session_closed();
  retention->on_answer(answer_to(asked.back()), local);
  EXPECT_EQ(removed, Jobs());
  answered = asked.back().request;
  EXPECT_EQ(run(), 0) << "without a session";
  retention->on_session_opened(page);
  run();
  EXPECT_EQ(removed, Jobs{1});
}

TEST_F(FileRetentionTest, asks_nothing_of_a_controller_that_does_not_know_the_question) {
  leave(1);
  page = 0;
  use({.age_s = 1});
  EXPECT_EQ(run(), 0);
}

}  // namespace
}  // namespace sl::agent
