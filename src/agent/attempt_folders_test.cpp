#include "agent/attempt_folders.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "support/full_disk.h"

namespace sl::agent {
namespace {

class FoldersTest : public testing::Test {
 protected:
  ~FoldersTest() override { std::filesystem::remove_all(dir); }
  void make(const std::string& key, std::int64_t first) { EXPECT_TRUE(folders.make(key, first).ok()); }
  bool take_back(const std::string& key) { return folders.take_back(key, folders.of_job(key)); }
  bool is_complete(const std::string& key) const {
    for (const std::string& path :
         {folders.of_attempt(key) + "/tmp", folders.of_job(key) + "/checkpoints", folders.of_job(key) + "/output"}) {
      if (!std::filesystem::is_empty(path)) return false;
    }
    return true;
  }
  std::size_t spare() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(dir + "/spare"), {}));
  }
  std::string dir = "/tmp/schedulearn-folders-XXXXXX";
  std::string made = ::mkdtemp(dir.data());
  AttemptFolders folders{dir};
};

TEST_F(FoldersTest, that_stay_empty_are_those_of_the_next_attempt) {
  make("1.1", 0), make("2.1", 0);
  std::ofstream(folders.of_attempt("1.1") + "/output") << "hello";
  EXPECT_TRUE(take_back("1.1"));
  EXPECT_TRUE(take_back("2.1"));
  EXPECT_EQ(spare(), 2u);
  EXPECT_FALSE(std::filesystem::exists(folders.of_job("1.1")));
  EXPECT_TRUE(std::filesystem::exists(folders.of_attempt("1.1") + "/output"));
  AttemptFolders next(dir);  // also after a restart
  for (int job = 3; job < 6; ++job) {
    const std::string key = std::to_string(job) + ".1";
    EXPECT_TRUE(next.make(key, 0).ok());
    EXPECT_TRUE(is_complete(key)) << key;
  }
  EXPECT_EQ(spare(), 0u);
}

TEST_F(FoldersTest, of_jobs_with_the_same_number_are_apart_and_those_of_one_job_the_same) {
  make("1.1.500.c", 500);
  make("1.1.700.c", 700);  // after a restore
  make("1.2.800.c", 500);
  make("1.3.900.c", 0);  // of a job that an older version had begun
  EXPECT_NE(folders.of_job("1.1.500.c"), folders.of_job("1.1.700.c"));
  EXPECT_EQ(folders.of_job("1.1.500.c"), folders.of_job("1.2.800.c"));
  EXPECT_EQ(folders.of_job("1.3.900.c"), dir + "/jobs/1");
}

TEST_F(FoldersTest, that_cannot_be_made_are_the_server_s_fault) {
  std::filesystem::remove_all(dir + "/jobs");
  std::ofstream(dir + "/jobs") << "in the way";
  const Result<std::string> folder = folders.make("1.1", 0);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, "server_setup");
  EXPECT_NE(folder.error().message.find("/jobs/1"), std::string::npos) << folder.error().message;
}

// Without its number the attempt would be taken for the first of its job, whose checkpoints are elsewhere.
TEST_F(FoldersTest, of_an_attempt_whose_job_cannot_be_written_down_are_not_made) {
  const auto make_on_full_disk = [&] {
    const test::FullDisk full;
    return folders.make("1.2.800.c", 500);
  };
  const Result<std::string> folder = make_on_full_disk();
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, "server_setup");
  EXPECT_NE(folder.error().message.find("1.2.800.c/first"), std::string::npos) << folder.error().message;
}

TEST_F(FoldersTest, in_which_a_job_has_left_anything_are_no_other_jobs) {
  namespace fs = std::filesystem;
  const std::vector<std::function<void(const std::string& attempt, const std::string& job)>> traces = {
      [](const auto& attempt, const auto&) { std::ofstream(attempt + "/tmp/x") << 1; },
      [](const auto&, const auto& job) { fs::create_directory(job + "/output/x"); },
      [](const auto&, const auto& job) { std::ofstream(job + "/checkpoints/x") << 1; },
      [](const auto&, const auto& job) { std::ofstream(job + "/x") << 1; },
      [](const auto&, const auto& job) { fs::permissions(job + "/output", fs::perms::all); },
      [](const auto&, const auto& job) {
        fs::remove(job + "/output"), fs::create_directory_symlink("/", job + "/output");
      },
      [](const auto& attempt, const auto&) { fs::remove(attempt + "/tmp"); },
  };
  for (std::size_t i = 0; i < traces.size(); ++i) {
    make("1.1", 0);
    traces[i](folders.of_attempt("1.1"), folders.of_job("1.1"));
    EXPECT_FALSE(take_back("1.1")) << i;
    EXPECT_EQ(spare(), 0u) << i;
    fs::remove_all(folders.of_job("1.1")), fs::remove_all(folders.of_attempt("1.1"));
  }
}

TEST_F(FoldersTest, of_a_job_stay_as_they_are_when_it_goes_on) {
  make("2.1", 0);
  EXPECT_TRUE(take_back("2.1"));
  make("1.1", 0);
  std::ofstream(folders.of_job("1.1") + "/checkpoints/c") << 1;
  EXPECT_FALSE(take_back("1.1"));
  make("3.1", 0);
  EXPECT_TRUE(take_back("3.1"));
  make("1.2", 0);
  EXPECT_TRUE(std::filesystem::exists(folders.of_job("1.1") + "/checkpoints/c"));
  EXPECT_TRUE(std::filesystem::is_empty(folders.of_attempt("1.2") + "/tmp"));
}

}  // namespace
}  // namespace sl::agent
