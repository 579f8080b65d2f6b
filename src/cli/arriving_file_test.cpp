#include "cli/arriving_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <vector>

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

class ArrivingFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path place(const char* name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string text_of(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  fs::path folder_ = fs::temp_directory_path() / ("arriving-file-test-" + std::to_string(::getpid()));
};

TEST_F(ArrivingFileTest, has_its_name_when_it_is_whole_and_touches_nothing_else) {
  std::ofstream(place("a.part")) << "mine";
  ArrivingFile file(place("a"));
  EXPECT_TRUE(file.add("one ") && file.add("two"));
  EXPECT_FALSE(fs::exists(place("a")));
  ASSERT_TRUE(file.finish(false).ok());
  EXPECT_EQ(text_of(place("a")) + ", " + text_of(place("a.part")), "one two, mine");
  EXPECT_EQ(files(), 2U);
}

TEST_F(ArrivingFileTest, what_came_there_meanwhile_is_replaced_only_if_that_is_wanted) {
  {
    ArrivingFile file(place("a"));
    file.add("new");
    std::ofstream(place("a")) << "old";
    EXPECT_EQ(file.finish(false).error().code, "file-exists");
  }
  EXPECT_EQ(text_of(place("a")), "old");
  ArrivingFile again(place("a"));
  again.add("new");
  ASSERT_TRUE(again.finish(true).ok());
  EXPECT_EQ(text_of(place("a")), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(ArrivingFileTest, nothing_is_left_of_what_does_not_get_there) {
  { ArrivingFile(place("a")).add("some"); }
  EXPECT_EQ(files(), 0U);
  ArrivingFile nowhere(place("none") / "a");
  EXPECT_FALSE(nowhere.add("some"));
  EXPECT_EQ(nowhere.finish(false).error().code, "cannot-write");
}

TEST_F(ArrivingFileTest, a_signal_ends_the_program_and_leaves_nothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    ArrivingFile file(place("a"));
    file.add("some");
    ::raise(SIGINT);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace sl::cli
