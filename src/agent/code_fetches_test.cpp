// The code of jobs on its way to a server: pieces, breaks, damage.
#include "agent/code_fetches.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/agent_logic_test.h"
#include "agent/clocks.h"
#include "archive/code_archive.h"
#include "archive/digest.h"
#include "wire/base64.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

class CodeFetchesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-code-XXXXXX";
    top = ::mkdtemp(name);
    fs::create_directories(top / "code");
    fs::create_directories(top / "agent");
    std::ofstream(top / "code" / "train.py") << "print(1)";
    EXPECT_TRUE(archive::pack(*archive::code_of_folder(top / "code"), top / "code.tar").ok());
    id = *archive::digest_of_file(top / "code.tar");
    std::stringstream text;
    text << std::ifstream(top / "code.tar", std::ios::binary).rdbuf();
    bytes = text.str();
    make();
  }
  void TearDown() override {
    fetches.reset();
    fs::remove_all(top);
  }
  void make() {
    loop = std::make_unique<net::EventLoop>();
    fetches = std::make_unique<CodeFetches>(
        *loop, (top / "agent").string(),
        CodeFetches::Ports{[this](const std::string& key, const Status& status) {
                             found.push_back(key + (status.ok() ? "" : " " + status.error().code));
                             if (on_found)
                               std::exchange(on_found, {})();
                             else
                               loop->stop();
                           },
                           [this](const wire::SnapshotRead& read) {
                             asked.push_back(read.offset);
                             if (answers) loop->post([this, at = read.offset] { answer(at); });
                           }});
  }
  void answer(std::int64_t offset) {
    fetches->on_piece({id, offset, static_cast<std::int64_t>(bytes.size()),
                       wire::encode_base64(bytes.substr(static_cast<std::size_t>(offset), 4096)), std::nullopt});
  }
  std::string folder(const std::string& job) const { return top / "agent" / job; }
  // Until something has been found.
  void run() {
    const auto timer = loop->after(Duration::whole_seconds(20), [this] { loop->stop(); });
    loop->run();
  }

  fs::path top;
  std::string id, bytes;
  std::unique_ptr<net::EventLoop> loop;
  std::unique_ptr<CodeFetches> fetches;
  std::vector<std::string> found;
  std::vector<std::int64_t> asked;
  std::function<void()> on_found;
  bool answers = true;
};

TEST_F(CodeFetchesTest, code_comes_in_pieces_and_is_unpacked) {
  fetches->find("5.1", id, folder("a"));
  run();
  EXPECT_GT(asked.size(), 2U);
  EXPECT_EQ(found, std::vector<std::string>{"5.1"});
  EXPECT_TRUE(fs::exists(folder("a") + "/train.py"));
}

TEST_F(CodeFetchesTest, another_job_with_the_same_code_asks_for_nothing) {
  std::size_t before = 0;
  on_found = [&] {
    before = asked.size();
    fetches->find("6.1", id, folder("b"));
  };
  fetches->find("5.1", id, folder("a"));
  run();
  EXPECT_EQ(found, (std::vector<std::string>{"5.1", "6.1"}));
  EXPECT_EQ(asked.size(), before);
  EXPECT_TRUE(fs::exists(folder("b") + "/train.py"));
}

TEST_F(CodeFetchesTest, code_that_the_job_has_already_stays_as_it_is) {
  fs::create_directories(folder("a"));
  fetches->find("5.2", id, folder("a"));
  run();
  EXPECT_EQ(found, std::vector<std::string>{"5.2"});
  EXPECT_TRUE(asked.empty());
  EXPECT_TRUE(fs::is_empty(folder("a")));
}

TEST_F(CodeFetchesTest, a_broken_transfer_continues_where_it_was_also_after_the_agent_s_end) {
  answers = false;
  fetches->find("5.1", id, folder("a"));
  answer(0);
  fetches->end("5.1");
  make();
  answers = true;
  asked.clear();
  fetches->find("5.1", id, folder("a"));
  EXPECT_EQ(asked, std::vector<std::int64_t>{4096});
  run();
  EXPECT_TRUE(fs::exists(folder("a") + "/train.py"));
}

TEST_F(CodeFetchesTest, pieces_that_come_twice_or_too_early_are_ignored) {
  answers = false;
  fetches->find("5.1", id, folder("a"));
  answer(0);
  answer(0);
  answer(8192);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 4096}));
}

TEST_F(CodeFetchesTest, a_piece_that_does_not_come_is_asked_for_again) {
  answers = false;
  fetches->find("5.1", id, folder("a"));
  fetches->tick(boot_now());
  EXPECT_EQ(asked.size(), 1U);
  fetches->tick(boot_now() + Duration::whole_seconds(30));
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 0}));
}

TEST_F(CodeFetchesTest, damaged_code_is_fetched_again_and_never_unpacked) {
  bytes[600] = static_cast<char>(bytes[600] ^ 1);
  fetches->find("5.1", id, folder("a"));
  run();
  EXPECT_EQ(found, std::vector<std::string>{"5.1 server_setup"});
  EXPECT_EQ(std::ranges::count(asked, 0), 3);
  EXPECT_FALSE(fs::exists(folder("a")));
}

TEST_F(CodeFetchesTest, code_that_the_controller_does_not_have_fails_all_that_wait_for_it) {
  answers = false;
  fetches->find("5.1", id, folder("a"));
  fetches->find("6.1", id, folder("b"));
  fetches->on_piece({id, 0, 0, "", "it is gone"});
  EXPECT_EQ(found, (std::vector<std::string>{"5.1 setup", "6.1 setup"}));
}

// ---- the order of things ----

wire::StartAttempt with_code() {
  wire::StartAttempt order;
  order.incarnation = {"", 5, 1, 0};
  order.placement.gpus = {0};
  order.spec.snapshot.emplace().id = "1";
  return order;
}

TEST_F(AgentLogicTest, an_attempt_starts_once_its_code_is_there_and_its_checkpoint_comes_after_that) {
  wire::StartAttempt order = with_code();
  order.checkpoint.emplace().server = "b";
  give(order);
  EXPECT_EQ(ports.code, std::vector<std::string>{"5.1"});
  EXPECT_TRUE(ports.fetched.empty());
  give(order);  // repeated
  EXPECT_TRUE(ports.fetched.empty());
  logic.on_code("5.1", {}, now);
  EXPECT_EQ(ports.fetched, std::vector<std::string>{"5.1 from b"});
  EXPECT_TRUE(ports.launched.empty());
  logic.on_fetched("5.1", wire::CheckpointCopy{"copied"}, now);
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});
}

TEST_F(AgentLogicTest, code_that_cannot_be_had_is_the_end_of_the_attempt) {
  wire::StartAttempt order = with_code();
  order.spec.image = "a/b";
  order.checkpoint.emplace().server = "b";
  give(order);
  logic.on_code("5.1", invalid("setup", "it is gone"), now);
  EXPECT_EQ(ports.last_report().failure_kind, "setup");
  EXPECT_EQ(ports.images, (std::vector<std::string>{"5.1", "end 5.1"}));
  EXPECT_TRUE(ports.fetched.empty());
  order_start(2);
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.2"}) << "its GPUs are free";
}

TEST_F(AgentLogicTest, code_that_is_not_wanted_any_more_starts_nothing) {
  give(with_code());
  wire::StopAttempt stop;
  stop.incarnation = {"", 5, 1, 0}, stop.reason = "cancelled";
  give(stop);
  EXPECT_EQ(ports.code, (std::vector<std::string>{"5.1", "end 5.1"}));
  logic.on_code("5.1", {}, now);
  EXPECT_TRUE(ports.launched.empty());
}

TEST_F(AgentLogicTest, nothing_starts_by_code_that_comes_after_the_lease) {
  give(with_code());
  now = now + Duration::whole_seconds(31);
  logic.on_code("5.1", {}, now);
  EXPECT_TRUE(ports.launched.empty());
  EXPECT_EQ(ports.disconnects, 1);
}

}  // namespace
}  // namespace sl::agent
