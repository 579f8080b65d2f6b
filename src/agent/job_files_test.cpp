#include "agent/job_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

class JobFilesTest : public testing::Test {
 protected:
  ~JobFilesTest() override { fs::remove_all(dir); }

  std::string path(const std::string& name) const { return dir + "/" + name; }
  void write(const std::string& name, std::size_t bytes = 10) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << std::string(bytes, 'x');
  }
  std::vector<JobFolders> find(const std::set<wire::StoredJob>& held = {}) {
    return find_job_files(dir, held, measured, stop);
  }
  // "17@c: attempts/17.1.500.c jobs/17.500.c"
  std::vector<std::string> found() {
    std::vector<std::string> texts;
    for (const JobFolders& folders : find()) {
      std::string text = std::to_string(folders.job.job) + "@" + folders.job.cluster + ":";
      std::vector<std::string> paths = folders.paths;
      std::sort(paths.begin(), paths.end());
      for (const std::string& one : paths) text += " " + one.substr(dir.size() + 1);
      texts.push_back(text);
    }
    return texts;
  }
  // Sets it aside and deletes it; what stays, and why.
  std::vector<Error> remove(const std::string& name) {
    EXPECT_TRUE(set_aside(path(name)).ok());
    EXPECT_FALSE(fs::exists(path(name)));
    return clear_set_aside(dir, failed, stop);
  }
  // Gives everything to a user who is not root, except what is called "of other", and does the work as that user.
  template <typename Work>
  void as_user(Work work) const {
    constexpr uid_t user = 65'533, other = 65'534;
    ASSERT_EQ(::chown(dir.c_str(), user, user), 0);
    for (const auto& entry : fs::recursive_directory_iterator(dir))
      ASSERT_EQ(::chown(entry.path().c_str(), entry.path().filename() == "of other" ? other : user, user), 0);
    ASSERT_EQ(::seteuid(user), 0);
    work();
    ASSERT_EQ(::seteuid(0), 0);
  }
  bool is_clear(const std::string& folder) const { return fs::is_empty(path(folder)); }

  std::string dir = "/tmp/schedulearn-job-files-XXXXXX";
  std::string made = ::mkdtemp(dir.data());
  Measurements measured;
  std::set<std::string> failed;
  std::atomic<bool> stop = false;
};

TEST_F(JobFilesTest, belong_to_a_job_with_all_its_attempts_also_those_of_older_versions) {
  write("attempts/17.1.500.c/output"), write("attempts/17.2.600.c/output"), write("jobs/17.500.c/checkpoints/model");
  write("attempts/17.1/output"), write("jobs/17/output/x"), write("attempts/17.1.500.other/output");
  EXPECT_EQ(found(), (std::vector<std::string>{"17@: attempts/17.1 jobs/17",
                                               "17@c: attempts/17.1.500.c attempts/17.2.600.c jobs/17.500.c",
                                               "17@other: attempts/17.1.500.other"}));
}

TEST_F(JobFilesTest, are_nothing_else) {
  write("attempts/lost+found/x"), write("attempts/x.1/x"), write("attempts/.removed.1.1/x"), write("attempts/-1.1/x");
  write("jobs/backup/x"), write("jobs/.removed.1/x"), write("spare/1/x"), write("17.1/x");
  EXPECT_EQ(found(), std::vector<std::string>());
}

TEST_F(JobFilesTest, are_measured_with_everything_below_and_only_once_unless_the_job_runs) {
  write("attempts/1.1/output", 1'000'000), write("jobs/1/checkpoints/a/b/model", 500'000);
  fs::create_directory_symlink("/usr", path("jobs/1/checkpoints/usr"));
  EXPECT_NEAR(static_cast<double>(find({{"", 1}}).front().bytes), 1'500'000, 100'000);
  write("jobs/1/checkpoints/later", 1'000'000);
  EXPECT_NEAR(static_cast<double>(find().front().bytes), 2'500'000, 100'000) << "it had run since";
  write("jobs/1/checkpoints/by somebody else", 1'000'000);
  EXPECT_NEAR(static_cast<double>(find().front().bytes), 2'500'000, 100'000);
  write("attempts/1.2/output");
  EXPECT_NEAR(static_cast<double>(find().front().bytes), 3'500'000, 100'000) << "it has run again";
}

TEST_F(JobFilesTest, that_are_removed_are_gone_whatever_they_are) {
  write("attempts/1.1/output"), write("attempts/1.1/tmp/a/b/c");
  for (int i = 0; i < 5'000; ++i) std::ofstream(path("attempts/1.1/tmp/") + std::to_string(i));
  ::mkfifo(path("attempts/1.1/fifo").c_str(), 0600);
  write("attempts/2.1/output");
  EXPECT_EQ(remove("attempts/1.1").size(), 0U);
  EXPECT_EQ(found(), std::vector<std::string>{"2@: attempts/2.1"});
  EXPECT_FALSE(fs::exists(path("attempts/.removed.1.1")));
}

TEST_F(JobFilesTest, are_removed_without_following_links) {
  write("precious/file");
  write("attempts/1.1/output");
  fs::create_directory_symlink(path("precious"), path("attempts/1.1/folder"));
  fs::create_symlink(path("precious/file"), path("attempts/1.1/file"));
  fs::create_directory_symlink(path("precious"), path("attempts/2.1"));
  EXPECT_EQ(remove("attempts/1.1").size(), 0U);
  EXPECT_EQ(remove("attempts/2.1").size(), 0U);
  EXPECT_TRUE(is_clear("attempts"));
  EXPECT_TRUE(fs::exists(path("precious/file")));
}

TEST_F(JobFilesTest, that_nobody_may_read_or_change_are_removed_by_their_owner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write("attempts/1.1/tmp/closed/file"), write("attempts/1.1/tmp/fixed/file");
  fs::permissions(path("attempts/1.1/tmp/closed"), fs::perms::none);
  fs::permissions(path("attempts/1.1/tmp/fixed"), fs::perms::owner_read | fs::perms::owner_exec);
  as_user([&] { EXPECT_EQ(remove("attempts/1.1").size(), 0U); });
  EXPECT_TRUE(is_clear("attempts"));
}

TEST_F(JobFilesTest, on_other_file_systems_are_neither_measured_nor_removed) {
  write("attempts/1.1/output");
  fs::create_directories(path("attempts/1.1/tmp/mounted"));
  if (::mount("none", path("attempts/1.1/tmp/mounted").c_str(), "tmpfs", 0, nullptr) != 0)
    GTEST_SKIP() << "only root can mount";
  write("attempts/1.1/tmp/mounted/precious", 1'000'000);
  EXPECT_LT(find().front().bytes, 500'000);
  const std::vector<Error> errors = remove("attempts/1.1");
  const std::string mounted = path("attempts/.removed.1.1/tmp/mounted");
  EXPECT_TRUE(fs::exists(mounted + "/precious"));
  ::umount2(mounted.c_str(), MNT_DETACH);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().code, "cannot-remove");
  EXPECT_EQ(errors.front().message, "cannot remove " + mounted + ": another file system is mounted there");
  EXPECT_FALSE(fs::exists(path("attempts/.removed.1.1/output")));
}

TEST_F(JobFilesTest, however_deep_are_removed_with_few_descriptors) {
  fs::create_directories(path("attempts/1.1"));
  int at = ::open(path("attempts/1.1").c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 3'000; ++i) {
    ::mkdirat(at, "moved-up-0", 0700);
    const int next = ::openat(at, "moved-up-0", O_RDONLY | O_DIRECTORY);
    ::close(std::exchange(at, next));
  }
  ::close(at);
  EXPECT_EQ(remove("attempts/1.1").size(), 0U);
  EXPECT_TRUE(is_clear("attempts"));
}

TEST_F(JobFilesTest, whose_removal_was_interrupted_are_removed_later) {
  write("attempts/1.1/output"), write("jobs/1/checkpoints/model");
  EXPECT_TRUE(set_aside(path("attempts/1.1")).ok());
  EXPECT_TRUE(set_aside(path("jobs/1")).ok());
  stop = true;
  EXPECT_EQ(clear_set_aside(dir, failed, stop).size(), 0U);
  EXPECT_FALSE(is_clear("attempts"));
  EXPECT_EQ(found(), std::vector<std::string>());
  stop = false;
  EXPECT_EQ(clear_set_aside(dir, failed, stop).size(), 0U);
  EXPECT_TRUE(is_clear("attempts"));
  EXPECT_TRUE(is_clear("jobs"));
}

TEST_F(JobFilesTest, that_cannot_be_removed_are_told_once_and_left_alone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write("attempts/1.1/output"), write("attempts/1.1/tmp/of other/file"), write("attempts/2.1/output");
  as_user([&] {
    const std::vector<Error> errors = remove("attempts/1.1");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors.front().message,
              "cannot remove " + path("attempts/.removed.1.1/tmp/of other/file") + ": Permission denied");
    EXPECT_EQ(remove("attempts/2.1").size(), 0U) << "the first one is not told again";
  });
  EXPECT_FALSE(fs::exists(path("attempts/.removed.2.1")));
  EXPECT_FALSE(fs::exists(path("attempts/.removed.1.1/output")));
}

TEST_F(JobFilesTest, that_are_not_there_need_no_removal) { EXPECT_TRUE(set_aside(path("attempts/1.1")).ok()); }

}  // namespace
}  // namespace sl::agent
