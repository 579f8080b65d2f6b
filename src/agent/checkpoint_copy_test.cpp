// A checkpoint goes from one folder to another: whole, cut, damaged, onto an older one, onto files of others.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/checkpoint_reader.h"
#include "agent/checkpoint_writer.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class CheckpointCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-checkpoint-XXXXXX";
    top = ::mkdtemp(name);
    from = top / "from", to = top / "there" / "checkpoints";
    fs::create_directories(from / "deep" / "empty");
    std::ofstream(from / "deep" / "model") << std::string(300'000, 'm');
    std::ofstream(from / "deep" / "nothing");
    std::ofstream(from / "optimizer") << std::string(5'000, 'o');
    fs::create_symlink("deep/model", from / "latest");
    ::chmod((from / "optimizer").c_str(), 0640);
    const timespec times[2] = {{1'000, 5}, {1'000, 5}};
    ::utimensat(AT_FDCWD, (from / "optimizer").c_str(), times, 0);
    place = {to, 7, "boot", {}};
  }
  void TearDown() override { fs::remove_all(top); }

  std::shared_ptr<OpenCheckpoint> open() const {
    Descriptor fd(::open(from.c_str(), O_RDONLY | O_DIRECTORY));
    CheckpointList list = *list_checkpoint(fd.get());
    return std::make_shared<OpenCheckpoint>(OpenCheckpoint{std::move(fd), std::move(list)});
  }
  std::unique_ptr<CheckpointWriter> write_to(const CheckpointList& list) const {
    auto writer = CheckpointWriter::open(place, list);
    return writer.ok() ? std::move(*writer) : nullptr;
  }
  // "ok" or the code of the first error.
  static std::string pass_on(CheckpointReader reader, CheckpointWriter& writer, std::size_t bytes_max = SIZE_MAX) {
    std::size_t passed = 0;
    while (passed < bytes_max) {
      const auto bytes = reader.next(std::min<std::size_t>(1'000, bytes_max - passed));
      if (!bytes.ok()) return bytes.error().code;
      if (bytes->empty()) break;
      if (const Status written = writer.write(*bytes); !written.ok()) return written.error().code;
      passed += bytes->size();
    }
    return "ok";
  }
  void expect_copied() const {
    EXPECT_EQ(content(to / "deep" / "model"), content(from / "deep" / "model"));
    EXPECT_EQ(content(to / "optimizer"), content(from / "optimizer"));
    EXPECT_TRUE(fs::is_directory(to / "deep" / "empty"));
    EXPECT_TRUE(fs::is_regular_file(to / "deep" / "nothing"));
    EXPECT_EQ(fs::read_symlink(to / "latest"), "deep/model");
    struct stat facts {};
    ::stat((to / "optimizer").c_str(), &facts);
    EXPECT_EQ(facts.st_mode & 0777, 0640u);
    EXPECT_EQ(facts.st_mtim.tv_sec, 1'000);
    EXPECT_EQ(facts.st_mtim.tv_nsec, 5);
    EXPECT_EQ(left(), "");
  }
  // What lies beside the folder.
  std::string left() const {
    std::string names;
    for (const auto& entry : fs::directory_iterator(to.parent_path())) {
      if (entry.path() != to) names += entry.path().filename().string() + " ";
    }
    return names;
  }

  fs::path top, from, to;
  CheckpointPlace place;
};

TEST_F(CheckpointCopyTest, arrives_as_it_was) {
  const auto checkpoint = open();
  const auto writer = write_to(checkpoint->list);
  EXPECT_EQ(pass_on({checkpoint, {}}, *writer), "ok");
  EXPECT_FALSE(fs::exists(to));
  EXPECT_TRUE(writer->is_complete());
  EXPECT_EQ(writer->bytes_done(), 305'000);
  EXPECT_TRUE(writer->finish().ok());
  expect_copied();
}

TEST_F(CheckpointCopyTest, continues_where_it_was_cut_wherever_that_is) {
  const auto checkpoint = open();
  for (std::size_t cut = 0; cut < 306'000; cut += 7'001) {
    pass_on({checkpoint, {}}, *write_to(checkpoint->list), cut);
    const auto writer = write_to(checkpoint->list);
    ASSERT_TRUE(writer);
    const CheckpointPosition at = writer->resume_at();
    EXPECT_LE(static_cast<std::int64_t>(cut) - writer->bytes_done(), 3 * 32 + 1'000) << "it does not begin anew";
    ASSERT_EQ(pass_on({checkpoint, at}, *writer), "ok") << cut;
    ASSERT_TRUE(writer->finish().ok());
    expect_copied();
    fs::remove_all(to);
  }
}

TEST_F(CheckpointCopyTest, begins_anew_when_the_checkpoint_or_the_boot_is_another_one) {
  const auto checkpoint = open();
  pass_on({checkpoint, {}}, *write_to(checkpoint->list), 10'000);
  place.boot = "the next";
  EXPECT_EQ(write_to(checkpoint->list)->bytes_done(), 0);
  pass_on({checkpoint, {}}, *write_to(checkpoint->list), 10'000);
  std::ofstream(from / "optimizer") << "newer";
  EXPECT_EQ(write_to(open()->list)->bytes_done(), 0);
}

TEST_F(CheckpointCopyTest, a_damaged_file_is_noticed_and_comes_again) {
  const auto checkpoint = open();
  const auto writer = write_to(checkpoint->list);
  CheckpointReader reader(checkpoint, {});
  std::string all;
  for (auto bytes = reader.next(1 << 20); !bytes->empty(); bytes = reader.next(1 << 20)) all += *bytes;
  EXPECT_EQ(all.size(), 305'000u + 3 * archive::Digest::size);
  const CheckpointPosition model = writer->resume_at();
  std::string damaged = all;
  damaged[299'999] = 'x';
  EXPECT_EQ(writer->write(damaged).error().code, "damaged");
  EXPECT_EQ(writer->resume_at(), model);
  EXPECT_EQ(writer->bytes_done(), 0);
  EXPECT_EQ(pass_on({checkpoint, writer->resume_at()}, *writer), "ok");
  EXPECT_TRUE(writer->finish().ok());
  expect_copied();
}

TEST_F(CheckpointCopyTest, damage_on_the_destination_s_disk_before_a_cut_is_noticed_too) {
  const auto checkpoint = open();
  pass_on({checkpoint, {}}, *write_to(checkpoint->list), 10'000);
  std::fstream(top / "there" / ".checkpoints.arriving" / "deep" / "model").put('x');
  const auto writer = write_to(checkpoint->list);
  EXPECT_EQ(pass_on({checkpoint, writer->resume_at()}, *writer), "damaged");
  EXPECT_EQ(pass_on({checkpoint, writer->resume_at()}, *writer), "ok");
  EXPECT_TRUE(writer->finish().ok());
  expect_copied();
}

TEST_F(CheckpointCopyTest, a_file_that_changes_while_it_is_read_is_refused) {
  const auto checkpoint = open();
  CheckpointReader reader(checkpoint, {});
  EXPECT_TRUE(reader.next(1'000).ok());
  std::ofstream(from / "deep" / "model", std::ios::app) << "more";
  Result<std::string> bytes = reader.next(1'000);
  while (bytes.ok() && !bytes->empty()) bytes = reader.next(100'000);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().message.find("deep/model changes"), std::string::npos) << bytes.error().message;
  fs::remove(from / "optimizer");
  fs::create_symlink("deep/model", from / "optimizer");  // it has become a link since it was listed
  const std::size_t optimizer = checkpoint->list.entries.size() - 1;
  EXPECT_FALSE(CheckpointReader(checkpoint, {optimizer, 0}).next(1).ok());
}

TEST_F(CheckpointCopyTest, an_older_copy_is_replaced_as_a_whole) {
  fs::create_directories(to / "deep");
  std::ofstream(to / "deep" / "stale") << "old";
  const auto checkpoint = open();
  const auto writer = write_to(checkpoint->list);
  pass_on({checkpoint, {}}, *writer);
  EXPECT_EQ(content(to / "deep" / "stale"), "old") << "until the new one is complete";
  EXPECT_TRUE(writer->finish().ok());
  EXPECT_FALSE(fs::exists(to / "deep" / "stale"));
  expect_copied();
}

TEST_F(CheckpointCopyTest, files_that_are_not_the_job_s_are_kept_aside) {
  fs::create_directories(to);
  std::ofstream(to / "thesis") << "of somebody";
  place.holder = [] { return CheckpointHolder::unknown; };
  const auto checkpoint = open();
  for (int i = 0; i < 2; ++i) {
    const auto writer = write_to(checkpoint->list);
    pass_on({checkpoint, {}}, *writer);
    EXPECT_TRUE(writer->finish().ok());
  }
  EXPECT_EQ(content(fs::path(to.string() + ".before-job-7") / "thesis"), "of somebody");
  EXPECT_TRUE(fs::exists(fs::path(to.string() + ".before-job-7-2") / "optimizer"));
  EXPECT_TRUE(fs::exists(to / "optimizer"));
}

void write_at(const fs::path& path, const std::string& text, time_t seconds) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

TEST_F(CheckpointCopyTest, what_the_job_had_there_before_is_kept_until_the_next_copy) {
  place.holder = [] { return CheckpointHolder::had_before; };
  const auto checkpoint = open();
  const fs::path older = to.string() + ".older-of-job-7";
  for (const char* name : {"first", "second"}) {
    write_at(to / name, "old", 1'000);
    const auto writer = write_to(checkpoint->list);
    pass_on({checkpoint, {}}, *writer);
    EXPECT_TRUE(writer->finish().ok());
    EXPECT_FALSE(fs::exists(to / name));
    EXPECT_EQ(content(older / name), "old");
  }
  EXPECT_FALSE(fs::exists(older / "first"));
  EXPECT_TRUE(fs::exists(to / "optimizer"));
}

TEST_F(CheckpointCopyTest, in_a_folder_of_several_jobs_the_newest_of_each_file_stays) {
  fs::remove_all(top);
  for (const char* name : {"7.model", "runs/7.log", "runs/8.log", "8.model", "fresh/model", "link/model", "9"})
    write_at(from / name, "arrives", 2'000);
  fs::permissions(from / "fresh", fs::perms::owner_read | fs::perms::owner_exec);
  write_at(to / "7.model", "older", 1'000);
  write_at(to / "runs/7.log", "older", 1'000);
  write_at(to / "runs/8.log", "newer", 3'000);
  write_at(to / "8.model", "newer", 3'000);
  write_at(to / "9/model", "a folder here", 1'000);
  write_at(to / "job-10.5/model", "of another", 1'000);
  write_at(top / "outside/model", "of another", 1'000);
  fs::create_directory_symlink(top / "outside", to / "link");
  place.holder = [] { return CheckpointHolder::several; };
  for (int i = 0; i < 2; ++i) {  // the second time as if the first had been cut off at its end
    const auto checkpoint = open();
    const auto writer = write_to(checkpoint->list);
    ASSERT_EQ(pass_on({checkpoint, {}}, *writer), "ok");
    EXPECT_TRUE(writer->finish().ok());
    for (const char* name : {"7.model", "runs/7.log", "fresh/model"}) EXPECT_EQ(content(to / name), "arrives") << name;
    for (const char* name : {"8.model", "runs/8.log"}) EXPECT_EQ(content(to / name), "newer") << name;
    EXPECT_EQ(content(to / "9/model"), "a folder here");
    EXPECT_EQ(content(to / "job-10.5/model"), "of another");
    EXPECT_EQ(content(top / "outside/model"), "of another") << "no link is written through";
    EXPECT_EQ(fs::status(to / "fresh").permissions(), fs::perms::owner_read | fs::perms::owner_exec);
    const fs::path kept = to.string() + ".older-of-job-7";
    EXPECT_EQ(content(kept / "7.model"), i == 0 ? "older" : "");
    EXPECT_EQ(content(kept / "runs/7.log"), i == 0 ? "older" : "");
  }
}

TEST_F(CheckpointCopyTest, a_link_or_a_file_in_its_place_is_refused_and_stays) {
  fs::create_directories(to.parent_path());
  fs::create_directory_symlink(from, to);
  EXPECT_EQ(CheckpointWriter::open(place, open()->list).error().code, "checkpoint-refused");
  fs::remove(to);
  std::ofstream(to) << "file";
  EXPECT_EQ(CheckpointWriter::open(place, open()->list).error().code, "checkpoint-refused");
  EXPECT_EQ(content(to), "file");
  place.folder = to / "below";
  EXPECT_EQ(CheckpointWriter::open(place, open()->list).error().code, "checkpoint-refused");
}

TEST_F(CheckpointCopyTest, one_that_does_not_fit_is_the_server_s_fault_and_leaves_nothing) {
  CheckpointList list = open()->list;
  list.entries.back().size = std::int64_t{1} << 49;
  const auto writer = CheckpointWriter::open(place, list);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, "server_setup");
  EXPECT_EQ(left(), "");
}

TEST_F(CheckpointCopyTest, one_that_says_it_is_larger_than_its_disk_is_refused_where_it_is) {
  struct statvfs disk {};
  ASSERT_EQ(::statvfs(from.c_str(), &disk), 0);
  std::error_code failed;
  fs::resize_file(from / "optimizer", disk.f_blocks * disk.f_frsize, failed);  // beside the others
  if (failed) GTEST_SKIP() << "this file system keeps no holes";
  const Descriptor fd(::open(from.c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_EQ(list_checkpoint(fd.get()).error().code, "checkpoint-refused");
}

TEST_F(CheckpointCopyTest, what_is_set_aside_is_not_continued) {
  const auto checkpoint = open();
  pass_on({checkpoint, {}}, *write_to(checkpoint->list), 10'000);
  const std::string aside = CheckpointWriter::set_aside(place.folder);
  EXPECT_TRUE(fs::exists(fs::path(aside) / "deep"));
  EXPECT_EQ(write_to(checkpoint->list)->bytes_done(), 0);
}

TEST_F(CheckpointCopyTest, what_lies_in_wait_in_the_arriving_folder_is_not_written_through) {
  const auto checkpoint = open();
  pass_on({checkpoint, {}}, *write_to(checkpoint->list), 10'000);
  const fs::path arriving = top / "there" / ".checkpoints.arriving";
  std::ofstream(top / "victim") << "victim";
  fs::create_symlink(top / "victim", arriving / "optimizer");
  const auto writer = write_to(checkpoint->list);
  EXPECT_NE(pass_on({checkpoint, writer->resume_at()}, *writer), "ok");
  EXPECT_EQ(content(top / "victim"), "victim");
}

}  // namespace
}  // namespace sl::agent
