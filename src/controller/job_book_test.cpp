// Which jobs stay in memory, and how many there are in each state.
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

store::JobRow row(std::int64_t id) {
  store::JobRow row;
  row.id = id;
  return row;
}

TEST(JobBook, the_first_to_end_makes_room_and_unfinished_jobs_stay) {
  JobBook book(2);
  for (std::int64_t id = 1; id <= 5; ++id) book.add(row(id));
  for (const std::int64_t id : {4, 4, 2, 1}) book.retire(JobId(id));
  EXPECT_EQ(book.find(JobId(4)), nullptr);
  for (const std::int64_t id : {1, 2, 3, 5}) EXPECT_NE(book.find(JobId(id)), nullptr) << id;
}

TEST(JobBook, counts_what_unfinished_jobs_of_a_user_take_and_finished_ones_make_room_by_it) {
  JobBook book(100, 25);
  for (std::int64_t id = 1; id <= 4; ++id) {
    store::JobRow job = row(id);
    job.user = id == 4 ? "tom" : "mei", job.spec_json = std::string(10, ' ');
    book.add(std::move(job)).row.spec_json += "edited";
  }
  EXPECT_EQ(book.bytes_of("mei"), 30u);
  book.retire(JobId(1)), book.retire(JobId(1)), book.retire(JobId(2));
  EXPECT_EQ(book.bytes_of("mei"), 10u);
  EXPECT_NE(book.find(JobId(1)), nullptr);
  book.forget(JobId(1));
  book.retire(JobId(3));
  EXPECT_NE(book.find(JobId(2)), nullptr) << "what was forgotten takes nothing";
  EXPECT_EQ(book.bytes_of("mei"), 0u);
  book.retire(JobId(4));
  EXPECT_EQ(book.find(JobId(2)), nullptr);
  EXPECT_NE(book.find(JobId(4)), nullptr);
}

TEST(JobBook, jobs_are_walked_from_the_newest_down) {
  JobBook book;
  for (const std::int64_t id : {3, 7, 5}) book.add(row(id));
  EXPECT_EQ(book.newest_below(JobId(100))->row.id, 7);
  EXPECT_EQ(book.newest_below(JobId(7))->row.id, 5);
  EXPECT_EQ(book.newest_below(JobId(3)), nullptr);
  EXPECT_EQ(book.oldest_above(JobId(0))->row.id, 3);
  EXPECT_EQ(book.oldest_above(JobId(3))->row.id, 5);
  EXPECT_EQ(book.oldest_above(JobId(7)), nullptr);
}

TEST(JobBook, says_when_a_job_may_have_left_since) {
  JobBook book(3);
  for (std::int64_t id = 1; id <= 8; ++id) book.add(row(id));
  book.retire(JobId(1)), book.retire(JobId(2));
  const std::uint64_t mark = book.mark();
  for (const std::int64_t id : {3, 4, 5, 6}) {
    EXPECT_TRUE(book.has_kept(mark)) << id;
    EXPECT_NE(book.find(JobId(3)), nullptr) << "the first to end after the mark";
    book.retire(JobId(id));
  }
  EXPECT_FALSE(book.has_kept(mark));
  EXPECT_EQ(book.find(JobId(3)), nullptr);
}

class CountTest : public LogicTest {
 protected:
  // "1 pending, 2 failed"
  std::string counts() const {
    std::string text;
    for (int s = 0; s <= static_cast<int>(JobState::cancelled); ++s) {
      const auto state = static_cast<JobState>(s);
      if (const std::int64_t jobs = logic->book().count(state); jobs != 0)
        text += (text.empty() ? "" : ", ") + std::to_string(jobs) + " " + to_string(state);
    }
    return text;
  }
};

TEST_F(CountTest, jobs_are_counted_in_the_state_they_are_in) {
  hello();
  for (int i = 0; i < 3; ++i) submit(2), settle();
  EXPECT_EQ(counts(), "2 pending, 1 starting");
  tell(report(1, 1, "running"));
  EXPECT_EQ(counts(), "2 pending, 1 running");
  tell(report(1, 1, "exited", 0));
  logic->cancel(JobId(3), "mei", now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(counts(), "1 starting, 1 succeeded, 1 cancelled");
}

TEST_F(CountTest, a_job_that_was_refused_is_not_counted) {
  submit(1);
  logic->turn(now);
  commit(unavailable("disk-full", "no space left"));
  pass(2);
  EXPECT_EQ(counts(), "");
}

TEST_F(CountTest, after_a_restart_those_are_counted_that_the_database_tells_of) {
  hello();
  for (int i = 0; i < 3; ++i) submit(2), settle();
  world.jobs[3].spec_json = "damaged";
  totals = {{"succeeded", 40}, {"cancelled", 2}};
  restart();
  EXPECT_EQ(counts(), "1 pending, 1 starting, 40 succeeded, 1 failed, 2 cancelled");
}

TEST_F(CountTest, a_job_cancelled_while_it_waits_leaves_memory_like_any_other) {
  for (int i = 0; i < 1'200; ++i) submit(1);
  settle();
  for (int i = 1; i <= 1'200; ++i) logic->cancel(JobId(i), "mei", now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(logic->book().size(), 1'000u);
}

}  // namespace
}  // namespace sl::controller::test
