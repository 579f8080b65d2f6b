// Secrets on a server: in memory, for one attempt, and gone after it.
#include "agent/secret_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "wire/base64.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

class SecretFilesTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder()); }
  std::string id() const { return "test-" + std::to_string(::getpid()); }
  fs::path folder() const { return "/dev/shm/schedulearn-" + id(); }
  static std::string read(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  SecretFiles files{id()};
  std::map<std::string, std::string> values{{"wandb", wire::encode_base64("key")}, {"b", wire::encode_base64("two")}};
};

TEST_F(SecretFilesTest, are_files_that_only_the_job_can_read_and_variables_if_asked_for) {
  const auto given = files.give("5.1", {"b", "WANDB_API_KEY=wandb", "wandb"}, values);
  ASSERT_TRUE(given.ok()) << given.error().message;
  EXPECT_EQ(given->environment, std::vector<std::string>{"WANDB_API_KEY=key"});
  EXPECT_EQ(read(given->folder + "/wandb"), "key");
  EXPECT_EQ(read(given->folder + "/b"), "two");
  struct stat info {};
  ASSERT_EQ(::stat((given->folder + "/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0400U);
  ASSERT_EQ(::stat(given->folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
}

TEST_F(SecretFilesTest, are_gone_after_the_attempt_and_those_of_others_stay) {
  const auto one = files.give("5.1", {"b"}, values), two = files.give("6.1", {"b"}, values);
  ASSERT_TRUE(one.ok() && two.ok());
  files.remove("5.1");
  EXPECT_FALSE(fs::exists(one->folder));
  EXPECT_TRUE(fs::exists(two->folder));
  files.keep_only([](const std::string& key) { return key == "7.1"; });
  EXPECT_FALSE(fs::exists(two->folder));
}

TEST_F(SecretFilesTest, a_missing_one_leaves_nothing_behind) {
  const auto given = files.give("5.1", {"b", "other"}, values);
  ASSERT_FALSE(given.ok());
  EXPECT_EQ(given.error().code, "setup");
  EXPECT_EQ(given.error().message, "its secret other is not stored any more");
  EXPECT_FALSE(fs::exists(folder() / "5.1"));
}

TEST_F(SecretFilesTest, a_place_that_others_have_prepared_is_refused) {
  fs::create_directory(folder());
  fs::permissions(folder(), fs::perms(0777));
  std::ofstream(folder() / "theirs") << "x";
  EXPECT_EQ(files.give("5.1", {"b"}, values).error().code, "server_setup");
  fs::remove_all(folder());
  fs::create_directory_symlink("/tmp", folder());
  EXPECT_EQ(files.give("5.1", {"b"}, values).error().code, "server_setup");
}

}  // namespace
}  // namespace sl::agent
