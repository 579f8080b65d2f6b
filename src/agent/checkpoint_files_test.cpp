// What of a checkpoint folder is listed and opened, and what is not.
#include "agent/checkpoint_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

class CheckpointFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-checkpoint-XXXXXX";
    top = ::mkdtemp(name);
    folder = top / "checkpoints";
    fs::create_directories(folder / "deep");
    std::ofstream(top / "secret") << "secret";
    std::ofstream(folder / "deep" / "model") << "weights";
  }
  void TearDown() override { fs::remove_all(top); }

  Descriptor open() const { return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY)); }
  // "file a, folder b, link c>d"
  std::string names() const {
    const auto list = list_checkpoint(open().get());
    if (!list.ok()) return list.error().code;
    std::string text;
    for (const CheckpointEntry& entry : list->entries)
      text +=
          (text.empty() ? "" : ", ") + entry.kind + " " + entry.path + (entry.target.empty() ? "" : ">" + entry.target);
    return text;
  }
  static std::string parsed(const CheckpointList& list) {
    const auto again = parse_list(to_text(list));
    return again.ok() ? (*again == list ? "the same" : "another") : again.error().code;
  }

  fs::path top, folder;
};

TEST_F(CheckpointFilesTest, lists_files_folders_and_links_and_nothing_else) {
  ::mkfifo((folder / "fifo").c_str(), 0600);
  ::mknod((folder / "device").c_str(), S_IFCHR | 0600, 0);
  fs::create_symlink("deep/model", folder / "latest");
  fs::create_symlink("/etc", folder / "outside");
  std::ofstream(folder / (std::string(shared_prefix) + "1")) << "";
  EXPECT_EQ(names(), "folder deep, file deep/model, link latest>deep/model, link outside>/etc");
}

TEST_F(CheckpointFilesTest, a_folder_that_is_a_link_is_refused_and_one_that_is_missing_is_told_apart) {
  fs::create_directory_symlink(folder, top / "link");
  EXPECT_EQ(open_checkpoint(top / "link").error().code, "checkpoint-refused");
  EXPECT_NE(open_checkpoint(top / "link").error().message.find("is a link"), std::string::npos);
  EXPECT_EQ(open_checkpoint(top / "none").error().code, "checkpoint-missing");
  EXPECT_EQ(open_checkpoint(top / "secret").error().code, "checkpoint-refused");
  EXPECT_TRUE(open_checkpoint(folder).ok());
}

TEST_F(CheckpointFilesTest, a_folder_without_end_is_refused) {
  fs::path deep = folder;
  for (int i = 0; i < 70; ++i) fs::create_directory(deep /= "d");
  EXPECT_EQ(names(), "checkpoint-refused");
}

TEST_F(CheckpointFilesTest, nothing_outside_the_folder_can_be_opened) {
  fs::create_directory_symlink("/etc", folder / "etc");
  fs::create_symlink("../secret", folder / "secret");
  fs::create_directory_symlink("deep", folder / "shallow");
  for (const auto open_file : {open_beneath, open_step_by_step}) {
    const Descriptor fd = open();
    EXPECT_TRUE(Descriptor(open_file(fd.get(), "deep/model", O_RDONLY, 0)).valid());
    for (const char* path :
         {"etc/passwd", "secret", "../secret", "deep/../../secret", "/etc/passwd", "shallow/model", ""}) {
      EXPECT_FALSE(Descriptor(open_file(fd.get(), path, O_RDONLY, 0)).valid()) << path;
    }
    EXPECT_FALSE(Descriptor(open_file(fd.get(), "etc/schedulearn", O_WRONLY | O_CREAT, 0600)).valid());
    EXPECT_FALSE(Descriptor(open_file(fd.get(), "secret", O_WRONLY | O_CREAT | O_TRUNC, 0600)).valid());
  }
  EXPECT_EQ(fs::file_size(top / "secret"), 6u);
}

TEST_F(CheckpointFilesTest, a_list_comes_back_as_it_was_whatever_the_names_are) {
  std::ofstream(folder / "a\xff b%2F\n\"") << "x";
  fs::create_symlink("\xfe", folder / "link");
  const auto list = list_checkpoint(open().get());
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(parsed(*list), "the same");
  EXPECT_EQ(list->bytes(), 8);
}

TEST_F(CheckpointFilesTest, a_list_that_was_made_to_harm_is_refused) {
  const auto file = [](const std::string& path, std::int64_t size = 1) {
    return CheckpointEntry{"file", path, size, 0, 0600, ""};
  };
  const CheckpointEntry folder_d{"folder", "d", 0, 0, 0700, ""}, link_d{"link", "d", 0, 0, 0777, "/etc"};
  EXPECT_EQ(parsed({0700, {folder_d, file("d/a")}}), "the same");
  for (const CheckpointList& list : std::vector<CheckpointList>{{0700, {file("../a")}},
                                                                {0700, {file("/a")}},
                                                                {0700, {file("a//b")}},
                                                                {0700, {folder_d, file("d/../../a")}},
                                                                {0700, {folder_d, file("d/.")}},
                                                                {0700, {file("")}},
                                                                {0700, {file(std::string("a\0b", 3))}},
                                                                {0700, {file(std::string(300, 'a'))}},
                                                                {0700, {file("d/a")}},
                                                                {0700, {link_d, file("d/passwd")}},
                                                                {0700, {file("d"), file("d/a")}},
                                                                {0700, {file("a"), file("a")}},
                                                                {0700, {link_d, folder_d}},
                                                                {0700, {file("a", -1)}},
                                                                {0700, {file("a", INT64_MAX), file("b", INT64_MAX)}},
                                                                {0700, {{"device", "a", 0, 0, 0600, ""}}},
                                                                {0700, {{"link", "a", 0, 0, 0600, ""}}},
                                                                {0700, {file(std::string(shared_prefix) + "1")}}}) {
    EXPECT_EQ(parsed(list), "bad-list") << to_text(list);
  }
  CheckpointList with_set_uid{0700, {file("a")}};
  with_set_uid.entries[0].mode = 04755;
  EXPECT_EQ(parse_list(to_text(with_set_uid))->entries[0].mode, 0755);
}

}  // namespace
}  // namespace sl::agent
