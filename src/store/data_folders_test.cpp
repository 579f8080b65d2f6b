// Where a database may lie: in a folder of any name, and on a disk that nothing can be written to.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "store/backup.h"
#include "store/store.h"

namespace sl::store {
namespace {

namespace fs = std::filesystem;

Batch one_job() {
  JobRow row;
  row.id = 7, row.user = "mei", row.name = "mnist", row.spec_json = "{}", row.state = "pending";
  Batch batch;
  batch.jobs = {row};
  return batch;
}

class DataFolders : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "schedulearn-folders-XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string dir_;
};

TEST_F(DataFolders, may_have_any_name) {
  for (const char* name : {"my lab", "a  b \"c\"", "50%", "a?b#c", "r=d timeout=1", "läb", "file:x"}) {
    const std::string folder = dir_ + "/" + name;
    {
      const auto store = open_sqlite(folder);
      ASSERT_TRUE(store.ok()) << name << ": " << store.error().message;
      ASSERT_TRUE((*store)->commit(one_job()).ok()) << name;
      EXPECT_EQ(check_not_in_use(folder).error().code, "data-directory-in-use") << name;
    }
    EXPECT_TRUE(check_not_in_use(folder).ok()) << name;
    EXPECT_GT(std::filesystem::file_size(folder + "/schedulearn.db"), 0u) << name;
    EXPECT_EQ(load_past(folder, 10)->unfinished_jobs.size(), 1u) << name;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_), {}), 7) << "nothing lies beside them";
}

TEST_F(DataFolders, are_where_links_lead) {
  fs::create_directories(dir_ + "/far/real");
  fs::create_directory(dir_ + "/near");
  fs::create_directory_symlink(dir_ + "/far/real", dir_ + "/near/link");
  ASSERT_TRUE((*open_sqlite(dir_ + "/near/link/.."))->commit(one_job()).ok());
  EXPECT_EQ(load_past(dir_ + "/far", 10)->unfinished_jobs.size(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ + "/near"), {}), 1);
}

// Does so in a process for which nothing in the folder can be written. Returns its exit status; 77: the kernel forbids it.
int where_nothing_can_be_written(const std::string& folder, const std::function<int()>& does) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_apart =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    const bool is_closed = is_apart && ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
                           ::mount("none", folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    ::_exit(is_closed ? does() : 77);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(DataFolders, that_cannot_be_written_are_read) {
  const std::string whole = dir_ + "/whole", with_log = dir_ + "/with-log";
  {
    const auto store = open_sqlite(whole);
    ASSERT_TRUE((*store)->commit(one_job()).ok());
    fs::copy(whole, with_log);
    fs::remove(with_log + "/schedulearn.db-shm");  // with it SQLite could read the log
  }
  const int read = where_nothing_can_be_written(dir_, [&] {
    if (!check_database(database_of(whole)).ok()) return 1;
    return load_past(whole, 10)->unfinished_jobs.size() == 1 ? 0 : 2;
  });
  if (read == 77) GTEST_SKIP() << "no mounts of one's own here";
  EXPECT_EQ(read, 0);
  const int unmerged = where_nothing_can_be_written(dir_, [&] {
    const auto checked = check_database(database_of(with_log));
    return !checked.ok() && checked.error().code == "database-unreadable" ? 0 : 1;
  });
  EXPECT_EQ(unmerged, 0) << "the job is in the log alone, and nobody may think the database damaged";
}

}  // namespace
}  // namespace sl::store
