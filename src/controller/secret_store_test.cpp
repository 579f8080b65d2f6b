// Secrets are kept, and kept to those that they are for.
#include "controller/secret_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "wire/base64.h"

namespace sl::controller {
namespace {

namespace fs = std::filesystem;

class SecretStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-secrets-XXXXXX";
    top = ::mkdtemp(name);
    open();
  }
  void TearDown() override { fs::remove_all(top); }
  std::string open() {
    store.reset();
    auto opened = SecretStore::open(top);
    if (!opened.ok()) return opened.error().code;
    store = std::move(*opened);
    return "";
  }
  std::string given(const std::string& user, const std::string& secret) const {
    wire::StartAttempt order;
    order.spec.user = user;
    order.spec.secrets = {secret};
    order = store->with_values(order);
    return order.secrets.empty() ? "nothing" : wire::decode_base64(order.secrets.begin()->second).value_or("damaged");
  }
  std::string read(const char* file) const {
    std::stringstream text;
    text << std::ifstream(top / file, std::ios::binary).rdbuf();
    return text.str();
  }
  std::string code(const Status& status) const { return status.ok() ? "" : status.error().code; }

  fs::path top;
  std::unique_ptr<SecretStore> store;
};

TEST_F(SecretStoreTest, a_secret_is_given_to_jobs_of_its_user_and_outlives_the_controller) {
  const std::string value("k\0ey\xff\n", 6);
  ASSERT_TRUE(store->set("mei", "wandb", value, 5).ok());
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(given("mei", "wandb"), value);
    EXPECT_EQ(given("mei", "WANDB_API_KEY=wandb"), value);
    EXPECT_EQ(given("bella", "wandb"), "nothing");
    ASSERT_EQ(open(), "");
  }
  ASSERT_EQ(store->list("mei").size(), 1U);
  EXPECT_EQ(store->list("mei")[0].changed_us, 5);
  EXPECT_TRUE(store->list("bella").empty());
  EXPECT_TRUE(store->list("me").empty());
}

TEST_F(SecretStoreTest, the_files_are_private_and_do_not_show_it) {
  ASSERT_TRUE(store->set("mei", "wandb", "very-secret-value", 5).ok());
  for (const char* file : {"secrets.json", "secrets.key"}) {
    struct stat info {};
    ASSERT_EQ(::stat((top / file).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600U) << file;
    EXPECT_EQ(read(file).find("very-secret"), std::string::npos);
    EXPECT_EQ(read(file).find(wire::encode_base64("very-secret")), std::string::npos);
  }
  const std::string before = read("secrets.json");
  ASSERT_TRUE(store->set("mei", "wandb", "very-secret-value", 5).ok());
  EXPECT_NE(read("secrets.json"), before) << "a nonce is used once";
}

TEST_F(SecretStoreTest, a_key_that_others_may_read_and_files_of_another_key_are_refused) {
  ASSERT_TRUE(store->set("mei", "wandb", "x", 5).ok());
  fs::permissions(top / "secrets.key", fs::perms(0640));
  EXPECT_EQ(open(), "secrets-unreadable");
  fs::permissions(top / "secrets.key", fs::perms(0600));
  ASSERT_EQ(open(), "");
  std::ofstream(top / "secrets.key", std::ios::binary) << std::string(32, 'x');
  EXPECT_EQ(open(), "secrets-unreadable");
}

TEST_F(SecretStoreTest, no_box_can_take_the_place_of_another) {
  ASSERT_TRUE(store->set("mei", "wandb", "hers", 5).ok());
  std::string text = read("secrets.json");
  const std::size_t at = text.find("\"mei\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 5, "\"eve\"");
  std::ofstream(top / "secrets.json") << text;
  EXPECT_EQ(open(), "secrets-unreadable");
}

TEST_F(SecretStoreTest, a_removed_secret_is_gone_and_jobs_that_name_it_are_refused) {
  ASSERT_TRUE(store->set("mei", "wandb", "x", 5).ok());
  wire::JobSpec spec;
  spec.user = "mei", spec.secrets = {"A=wandb"};
  EXPECT_EQ(code(store->check(spec)), "");
  EXPECT_EQ(code(store->remove("bella", "wandb")), "no-such-secret");
  EXPECT_TRUE(store->remove("mei", "wandb").ok());
  EXPECT_EQ(code(store->check(spec)), "no-such-secret");
  ASSERT_EQ(open(), "");
  EXPECT_EQ(given("mei", "wandb"), "nothing");
}

TEST_F(SecretStoreTest, names_and_values_are_checked) {
  for (const std::string& name : std::vector<std::string>{"", "a/b", "..", "a b", "a=b", std::string(65, 'a')})
    EXPECT_EQ(code(store->set("mei", name, "x", 5)), "bad-secret") << name;
  EXPECT_EQ(code(store->set("mei", "a", "", 5)), "bad-secret");
  EXPECT_EQ(code(store->set("mei", "a", std::string(70'000, 'x'), 5)), "bad-secret");
  EXPECT_FALSE(fs::exists(top / "secrets.key"));
}

TEST_F(SecretStoreTest, a_user_with_as_many_as_there_may_be_can_still_change_them) {
  store = std::move(*SecretStore::open(top, 2));
  for (const char* name : {"a", "b"}) ASSERT_TRUE(store->set("mei", name, "old", 5).ok());
  EXPECT_EQ(code(store->set("mei", "c", "x", 6)), "bad-secret");
  EXPECT_EQ(code(store->set("mei", "a", "new", 6)), "");
  EXPECT_EQ(given("mei", "a"), "new");
  EXPECT_EQ(code(store->set("bella", "c", "x", 6)), "") << "the limit is of one user";
}

TEST_F(SecretStoreTest, what_cannot_be_written_changes_nothing) {
  ASSERT_TRUE(store->set("mei", "wandb", "old", 5).ok());
  fs::create_directories(top / "secrets.json.new" / "x");  // in the way
  EXPECT_EQ(code(store->set("mei", "wandb", "new", 6)), "secret-not-stored");
  EXPECT_EQ(given("mei", "wandb"), "old");
}

}  // namespace
}  // namespace sl::controller
