#include "agent/output_times.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace sl::agent {
namespace {

using Times = std::vector<wire::OutputTime>;

class OutputTimesTest : public testing::Test {
 protected:
  static constexpr std::int64_t second = 1'000'000;
  OutputTimesTest() {
    std::string pattern = "/tmp/output-times-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~OutputTimesTest() override { std::filesystem::remove_all(dir_); }
  // The job writes so many bytes at that time.
  void write(int bytes, std::int64_t at_s) {
    std::ofstream(dir_ + "/output", std::ios::app) << std::string(static_cast<std::size_t>(bytes), 'x');
    const timespec times[] = {{at_s, 0}, {at_s, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (dir_ + "/output").c_str(), times, 0), 0);
  }
  void note(std::int64_t at_s, bool at_end = false) {
    times_.note("1.1", dir_, Instant{started_s_ * second}, Instant{at_s * second}, at_end);
  }
  int notes() const {
    std::ifstream file(dir_ + "/output_times");
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

  std::string dir_;
  OutputTimes times_;
  std::int64_t started_s_ = 100;
};

TEST_F(OutputTimesTest, what_is_read_has_the_times_at_which_it_was_written) {
  write(5, 101);
  note(101);
  write(5, 103);
  note(104);
  note(105);
  EXPECT_EQ(notes(), 3) << "one per change";
  EXPECT_EQ(read_output_times(dir_, 0, 10), (Times{{5, 101 * second}, {10, 103 * second}}));
  EXPECT_EQ(read_output_times(dir_, 5, 6), (Times{{10, 103 * second}}));
}

TEST_F(OutputTimesTest, what_is_newer_than_the_last_note_is_no_newer_than_the_file) {
  write(5, 101);
  note(101);
  write(2, 109);
  EXPECT_EQ(read_output_times(dir_, 4, 7), (Times{{5, 101 * second}, {7, 109 * second}}));
}

TEST_F(OutputTimesTest, an_old_attempt_has_fewer_notes_and_its_last_one_at_its_end) {
  started_s_ = 0;
  for (int at = 36'000; at < 36'100; ++at) {
    write(1, at);
    note(at);
  }
  EXPECT_NEAR(notes(), 11, 2) << "one per 10 s after ten hours";
  write(1, 36'101);
  note(36'101, true);
  EXPECT_EQ(read_output_times(dir_, 100, 101), (Times{{101, 36'101 * second}}));
}

TEST_F(OutputTimesTest, another_agent_continues_the_notes) {
  write(5, 110);
  note(111);
  times_ = OutputTimes();
  write(5, 120);
  note(121);
  EXPECT_EQ(notes(), 3) << "one of them of the start";
  EXPECT_EQ(read_output_times(dir_, 0, 10), (Times{{5, 110 * second}, {10, 120 * second}}));
}

TEST_F(OutputTimesTest, an_attempt_that_has_written_nothing_has_no_notes) {
  note(101);
  write(0, 101);
  note(102, true);
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/output_times"));
}

TEST_F(OutputTimesTest, a_pipe_in_the_place_of_the_notes_keeps_nobody_waiting) {
  ASSERT_EQ(::mkfifo((dir_ + "/output_times").c_str(), 0600), 0);
  write(5, 101);
  note(101);
  EXPECT_EQ(read_output_times(dir_, 0, 5), Times());
}

}  // namespace
}  // namespace sl::agent
