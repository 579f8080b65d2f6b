// Pieces of snapshots as they come: from several senders, from some that die, and damaged.
#include "controller/snapshots.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "archive/digest.h"
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = 1'000;

std::string digest_of(const std::string& text) {
  archive::Digest digest;
  digest.add(text);
  std::string hexadecimal;
  for (const unsigned char byte : digest.take()) hexadecimal += fmt::format("{:02x}", byte);
  return hexadecimal;
}

std::string some_code() {
  std::string text;
  for (int i = 0; text.size() < 40 * piece_bytes + 7; ++i) text += fmt::format("line {}\n", i);
  return text;
}

class SnapshotsTest : public LogicTest {
 protected:
  SnapshotsTest() {
    char name[] = "/tmp/schedulearn-snapshots-XXXXXX";
    top = ::mkdtemp(name);
    std::vector<std::unique_ptr<store::Reader>> readers;
    for (int i = 0; i < 2; ++i) readers.push_back(std::make_unique<NoPast>());
    history = std::make_unique<History>(std::move(readers), [this](auto work) {
      const std::lock_guard lock(mutex);
      inbox.push_back(std::move(work));
      changed.notify_all();
    });
    snapshots = std::make_unique<Snapshots>(Snapshots::Settings{top / "snapshots", 1 << 20, 0}, *logic, *history,
                                            [this] { return now; });
  }
  ~SnapshotsTest() override {
    history.reset();
    fs::remove_all(top);
  }
  void hear_history() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !inbox.empty(); });
    const auto work = std::move(inbox.front());
    inbox.pop_front();
    lock.unlock();
    work();
  }
  // The number of bytes that are here, or the code of the error.
  std::string put(std::size_t offset, const std::string& bytes, std::size_t size) {
    std::string said;
    snapshots->put(id, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(size), bytes,
                   [&](const auto& here) { said = here.ok() ? std::to_string(*here) : here.error().code; });
    while (said.empty()) hear_history();
    return said;
  }
  std::string put(std::size_t offset, const std::string& bytes) { return put(offset, bytes, code.size()); }
  // As the command line sends it, without a second try; its end is noted in `ends`.
  void send(std::size_t offset = 0) {
    snapshots->put(id, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(code.size()),
                   code.substr(offset, piece_bytes), [this](const auto& here) {
                     if (here.ok() && *here < static_cast<std::int64_t>(code.size()))
                       return send(static_cast<std::size_t>(*here));
                     ends.push_back(here.ok() ? "sent" : here.error().code);
                   });
  }
  std::string sent() {
    send();
    while (ends.empty()) hear_history();
    return std::exchange(ends, {}).front();
  }
  void expect_stored() const {
    std::ostringstream text;
    text << std::ifstream(top / "snapshots" / (id + ".tar"), std::ios::binary).rdbuf();
    EXPECT_TRUE(text.str() == code);
    EXPECT_FALSE(fs::exists(top / "snapshots" / (id + ".part")));
  }

  fs::path top;
  const std::string code = some_code(), id = digest_of(code);
  std::vector<std::string> ends;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> inbox;
  std::unique_ptr<History> history;
  std::unique_ptr<Snapshots> snapshots;
};

TEST_F(SnapshotsTest, several_may_send_the_same_at_the_same_time) {
  for (int i = 0; i < 5; ++i) send();
  while (ends.size() < 5) hear_history();
  EXPECT_EQ(ends, std::vector<std::string>(5, "sent"));
  expect_stored();
}

TEST_F(SnapshotsTest, one_that_died_in_the_middle_is_continued) {
  ASSERT_EQ(put(0, code.substr(0, 5'000)), "5000");
  EXPECT_EQ(put(0, code.substr(0, piece_bytes)), "5000") << "the next sender continues there";
  EXPECT_EQ(put(4'500, code.substr(4'500, piece_bytes)), "5500") << "a part of it is here";
  EXPECT_EQ(put(7'000, code.substr(7'000, piece_bytes)), "snapshot-offset") << "what is before it is not here";
  EXPECT_EQ(sent(), "sent");
  expect_stored();
}

TEST_F(SnapshotsTest, what_differs_is_replaced_by_what_comes_last) {
  ASSERT_EQ(put(0, std::string(5'000, 'x')), "5000");
  EXPECT_EQ(sent(), "sent");
  expect_stored();
}

TEST_F(SnapshotsTest, what_is_damaged_is_found_at_the_end_and_nothing_of_it_kept) {
  ASSERT_EQ(put(0, code.substr(0, 2'000) + std::string(3'000, 'x')), "5000");
  EXPECT_EQ(sent(), "snapshot-damaged") << "its sender was told that all of this is here";
  EXPECT_EQ(snapshots->use(id), std::nullopt);
  EXPECT_EQ(sent(), "sent");
  expect_stored();
}

TEST_F(SnapshotsTest, more_than_the_whole_is_no_part_of_it) {
  ASSERT_EQ(put(0, code + "more", 100'000), std::to_string(code.size() + 4));
  EXPECT_EQ(sent(), "sent");
  expect_stored();
}

TEST_F(SnapshotsTest, one_that_is_here_is_not_sent_again) {
  ASSERT_EQ(sent(), "sent");
  EXPECT_EQ(put(3, "x"), std::to_string(code.size()));
  expect_stored();
}

TEST_F(SnapshotsTest, only_so_many_pieces_wait) {
  int answered = 0, refusals = 0;
  for (int i = 0; i < 300; ++i) {
    snapshots->put(id, 0, static_cast<std::int64_t>(code.size()), "x", [&](const auto& here) {
      ++answered;
      refusals += !here.ok() && here.error().code == "too-many-reads";
    });
  }
  EXPECT_EQ(refusals, 100);
  while (answered < 300) hear_history();
  EXPECT_EQ(refusals, 100);
  EXPECT_EQ(put(0, "x"), "1") << "there is room again";
}

}  // namespace
}  // namespace sl::controller::test
