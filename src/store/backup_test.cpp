#include "store/backup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "store/store.h"

namespace sl::store {
namespace {

namespace fs = std::filesystem;

class Backup : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-backup-XXXXXX";
    dir_ = ::mkdtemp(name);
    data_ = dir_ + "/data";
    copy_ = dir_ + "/copy.db";
    write_jobs(1);
  }
  void TearDown() override { fs::remove_all(dir_); }
  void write_jobs(std::int64_t count) {
    auto store = open_sqlite(data_);
    ASSERT_TRUE(store.ok());
    Batch batch;
    for (std::int64_t id = 1; id <= count; ++id)
      batch.jobs.push_back({.id = id, .spec_json = "{}", .state = "pending"});
    ASSERT_TRUE((*store)->commit(batch).ok());
  }
  std::string dir_, data_, copy_;
};

TEST_F(Backup, a_copy_of_a_database_that_is_open_holds_what_was_committed) {
  auto open = open_sqlite(data_);
  const auto report = back_up(data_, copy_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->jobs, 1);
  EXPECT_EQ(report->file, copy_);
  struct stat facts {};
  ASSERT_EQ(::stat(copy_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(check_database(copy_)->bytes, static_cast<std::int64_t>(fs::file_size(copy_)));
}

TEST_F(Backup, restoring_keeps_what_was_there) {
  ASSERT_TRUE(back_up(data_, copy_).ok());
  write_jobs(3);
  const auto report = restore(data_, copy_, 7'000'000);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->kept, database_of(data_) + ".before-7");
  EXPECT_EQ(check_database(report->kept)->jobs, 3);
  EXPECT_EQ(check_database(database_of(data_))->jobs, 1);
}

TEST_F(Backup, nothing_is_replaced_while_a_controller_runs) {
  ASSERT_TRUE(back_up(data_, copy_).ok());
  write_jobs(3);
  auto open = open_sqlite(data_);
  EXPECT_EQ(restore(data_, copy_, 7).error().code, "data-directory-in-use");
  EXPECT_EQ(check_database(database_of(data_))->jobs, 3);
}

TEST_F(Backup, nothing_is_overwritten_and_nothing_half_written_stays) {
  std::ofstream(copy_) << "mine";
  EXPECT_EQ(back_up(data_, copy_).error().code, "file-exists");
  EXPECT_EQ(fs::file_size(copy_), 4U);
  EXPECT_EQ(back_up(data_, dir_ + "/none/copy.db").error().code, "cannot-write");
  EXPECT_EQ(back_up(dir_ + "/none", dir_ + "/x.db").error().code, "no-database");
  EXPECT_FALSE(fs::exists(dir_ + "/x.db"));
  EXPECT_FALSE(fs::exists(dir_ + "/x.db.part"));
}

TEST_F(Backup, a_damaged_copy_is_refused_and_changes_nothing) {
  ASSERT_TRUE(back_up(data_, copy_).ok());
  fs::resize_file(copy_, fs::file_size(copy_) / 2);
  EXPECT_EQ(check_database(copy_).error().code, "database-damaged");
  EXPECT_EQ(restore(data_, copy_, 7).error().code, "database-damaged");
  std::ofstream(copy_) << "junk";
  EXPECT_TRUE(check_database(copy_).error().message.ends_with("of schedulearn: SQLite has not written it"));
  EXPECT_EQ(check_database(database_of(data_))->jobs, 1);
  EXPECT_FALSE(fs::exists(database_of(data_) + ".before-0"));
}

}  // namespace
}  // namespace sl::store
