// The launcher's journal on a disk that is full, and as a launcher that was killed then has left it.
#include "agent/journal.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/full_disk.h"

namespace sl::agent {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() { journal.begin({.started = {{"1.1", started("1.1")}}, .ends = {}}); }
  ~JournalTest() override { std::filesystem::remove_all(dir); }
  static Started started(const std::string& key) { return {.key = key, .pid = 50, .gpus = "0", .boot = "b"}; }
  static LauncherState end(const std::string& key) { return {.key = key, .state = "exited", .exit_code = 3}; }
  // As a process does that is started.
  void record(const Started& start) {
    const std::string line = to_line(start);
    ASSERT_EQ(::write(journal.descriptor(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  std::uintmax_t size() const { return std::filesystem::file_size(path); }
  // What a launcher would find that starts now.
  std::string found() const {
    std::string keys;
    const JournalContents contents = read_journal(path);
    for (const auto& [key, start] : contents.started) keys += (keys.empty() ? "" : " ") + ("start " + key);
    for (const auto& [key, state] : contents.ends) keys += (keys.empty() ? "" : " ") + ("end " + key);
    return keys;
  }
  std::string dir = "/tmp/schedulearn-journal-XXXXXX";
  std::string made = ::mkdtemp(dir.data());
  std::string path = dir + "/journal";
  Journal journal{path};
};

TEST_F(JournalTest, of_a_record_that_was_cut_short_nothing_counts_and_none_follows_it) {
  {
    const test::FullDisk full(size() + 10);
    journal.write_end(end("2.1"));
    EXPECT_FALSE(journal.make_whole());
    EXPECT_EQ(found(), "start 1.1");
  }
  journal.write_end(end("3.1"));
  EXPECT_EQ(found(), "start 1.1 end 2.1 end 3.1");
}

TEST_F(JournalTest, a_record_for_which_there_was_no_room_is_made_up_for) {
  for (const bool is_later : {false, true}) {
    {
      const test::FullDisk full;
      is_later ? journal.write_forgotten("2.1") : journal.write_end(end("2.1"));
      EXPECT_FALSE(journal.make_whole());
    }
    is_later ? journal.write_end(end("3.1")) : journal.tidy();
    EXPECT_EQ(found(), is_later ? "start 1.1 end 3.1" : "start 1.1 end 2.1");
  }
}

TEST_F(JournalTest, a_start_counts_once_its_process_runs_its_program) {
  record(started("2.1"));
  journal.note_start(started("2.1"));
  journal.write_end(end("1.1"));
  EXPECT_EQ(read_journal(path).ends.count("1.1"), 1u);
  record(started("3.1"));  // and it has ended
  EXPECT_EQ(found(), "start 1.1 start 2.1 start 3.1 end 1.1");
  EXPECT_TRUE(journal.make_whole());
  EXPECT_EQ(found(), "start 2.1 end 1.1");
}

TEST_F(JournalTest, a_launcher_that_finds_no_room_begins_when_there_is_some) {
  std::ofstream(path, std::ios::app)
      << "end\t1.1\t50\t1\t2\t3\t\tout_of_memory\tit wan";  // and its predecessor was killed
  Journal next(path);
  {
    const test::FullDisk full;
    next.begin(read_journal(path));
    EXPECT_FALSE(next.make_whole());
  }
  EXPECT_EQ(found(), "start 1.1");
  next.write_end(end("1.1"));
  EXPECT_TRUE(next.make_whole());
  EXPECT_EQ(found(), "end 1.1");
}

}  // namespace
}  // namespace sl::agent
