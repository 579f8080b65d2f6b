#include "controller/queue_moves.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

namespace sl::controller {
namespace {

using Priorities = std::vector<Priority>;

Priorities line_of(std::initializer_list<int> priorities) {
  Priorities line;
  for (const int priority : priorities) line.push_back({JobId(static_cast<std::int64_t>(line.size() + 1)), priority});
  return line;
}

Priorities moves(const Priorities& line, int job, int other) {
  const auto moved = priorities_to_serve_before(line, JobId(job), JobId(other));
  return moved.ok() ? *moved : Priorities{{JobId(-1), 0}};
}

TEST(QueueMoves, the_last_of_equals_becomes_the_second) {
  EXPECT_EQ(moves(line_of({0, 0, 0, 0}), 4, 2), (Priorities{{JobId(4), 1}, {JobId(1), 1}}))
      << "equals keep their order";
}

TEST(QueueMoves, no_others_change_where_there_is_room) {
  EXPECT_EQ(moves(line_of({9, 5, 0, 0}), 4, 3), (Priorities{{JobId(4), 1}}));
  EXPECT_EQ(moves(line_of({0, 0, 0}), 3, 1), (Priorities{{JobId(3), 1}}));
}

TEST(QueueMoves, a_job_is_moved_back_too) {
  EXPECT_EQ(moves(line_of({0, 0, 0}), 1, 3), (Priorities{{JobId(2), 1}})) << "it is equal to the one that it is before";
  EXPECT_EQ(moves(line_of({9, 5, 0}), 1, 3), (Priorities{{JobId(1), 1}}));
}

// Members 11, 12 … of group 10, and so on; `priorities` of these.
std::vector<InLine> mixed_line(std::initializer_list<std::pair<int, int>> jobs) {
  std::vector<InLine> line;
  for (const auto& [job, priority] : jobs)
    line.push_back({{JobId(job), priority}, job < 10 ? JobId::none() : JobId(job / 10 * 10)});
  return line;
}

TEST(QueueMoves, members_of_a_group_that_stand_together_move_as_one) {
  const auto line = mixed_line({{1, 0}, {11, 0}, {12, 0}, {2, 0}});
  EXPECT_EQ(with_groups_as_one(line, JobId(2), JobId(1)), (Priorities{{JobId(1), 0}, {JobId(10), 0}, {JobId(2), 0}}));
  EXPECT_EQ(moves(with_groups_as_one(line, JobId(10), JobId(1)), 10, 1), (Priorities{{JobId(10), 1}}));
  EXPECT_EQ(moves(with_groups_as_one(line, JobId(1), JobId(2)), 1, 2), (Priorities{{JobId(10), 1}}))
      << "one change, however many members it has";
}

TEST(QueueMoves, members_stay_apart_where_the_group_could_not_stand_for_them) {
  const auto named = mixed_line({{11, 0}, {12, 0}, {2, 0}});
  EXPECT_EQ(with_groups_as_one(named, JobId(2), JobId(12)).size(), 3U) << "one of them is named";
  const auto apart = mixed_line({{11, 1}, {2, 0}, {12, 0}});
  EXPECT_EQ(with_groups_as_one(apart, JobId(2), JobId(11)).size(), 3U);
  const auto between = mixed_line({{1, 0}, {11, 1}, {2, 0}, {12, 0}, {3, 0}});
  EXPECT_EQ(with_groups_as_one(between, JobId(3), JobId(1)).size(), 5U) << "what raises one need not raise the other";
  EXPECT_EQ(with_groups_as_one(between, JobId(10), JobId(1)),
            (Priorities{{JobId(1), 0}, {JobId(10), 1}, {JobId(2), 0}, {JobId(3), 0}}))
      << "it is named itself";
}

TEST(QueueMoves, what_is_so_already_changes_nothing) { EXPECT_EQ(moves(line_of({0, 0}), 1, 2), Priorities()); }

TEST(QueueMoves, what_cannot_be_is_refused) {
  const Priorities line = line_of({std::numeric_limits<int>::max(), 0});
  EXPECT_EQ(priorities_to_serve_before(line, JobId(2), JobId(1)).error().code, "highest-priority-taken");
  EXPECT_EQ(priorities_to_serve_before(line, JobId(7), JobId(1)).error().code, "job-not-in-line");
  EXPECT_EQ(priorities_to_serve_before(line, JobId(1), JobId(7)).error().pointer, "/before");
  EXPECT_EQ(priorities_to_serve_before(line, JobId(1), JobId(1)).error().code, "bad-priority");
}

// Under a policy that serves higher priorities first and equal ones in an order of its own.
RC_GTEST_PROP(QueueMovesProperty, only_the_moved_job_has_another_place, ()) {
  struct Waiting {
    Priority priority;
    int place;  // among equals
  };
  const auto count = *rc::gen::inRange<std::size_t>(2, 9);
  std::vector<Waiting> jobs;
  for (std::size_t i = 0; i < count; ++i)
    jobs.push_back({{JobId(static_cast<std::int64_t>(i)), *rc::gen::inRange(-2, 3)}, *rc::gen::inRange(0, 1000)});
  const auto sort = [&] {
    std::ranges::sort(jobs, [](const Waiting& a, const Waiting& b) {
      return std::tuple(-a.priority.priority, a.place, a.priority.job) <
             std::tuple(-b.priority.priority, b.place, b.priority.job);
    });
  };
  sort();
  Priorities line;
  for (const Waiting& job : jobs) line.push_back(job.priority);
  const auto from = *rc::gen::inRange<std::size_t>(0, count),
             to = (from + *rc::gen::inRange<std::size_t>(1, count)) % count;
  std::vector<JobId> wanted;
  for (const Priority& each : line) {
    if (each.job == line[to].job) wanted.push_back(line[from].job);
    if (each.job != line[from].job) wanted.push_back(each.job);
  }
  const auto changes = priorities_to_serve_before(line, line[from].job, line[to].job);
  RC_ASSERT(changes.ok());
  for (const Priority& change : *changes) {
    for (Waiting& job : jobs) {
      if (job.priority.job == change.job) job.priority.priority = change.priority;
    }
  }
  sort();
  std::vector<JobId> made;
  for (const Waiting& job : jobs) made.push_back(job.priority.job);
  RC_ASSERT(made == wanted);
}

}  // namespace
}  // namespace sl::controller
