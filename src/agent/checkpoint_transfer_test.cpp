// Both sides of a copy, with real files and sockets: directly, through a controller, and whatever goes wrong.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "agent/checkpoint_fetches.h"
#include "agent/checkpoint_offers.h"
#include "agent/clocks.h"
#include "agent/run_until_test.h"
#include "net/http_client.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

std::string text_in(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class CheckpointTransferTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-checkpoint-XXXXXX";
    top = ::mkdtemp(name);
    from = top / "from", to = top / "to";
    fs::create_directories(from / "deep");
    std::ofstream(from / "deep" / "model") << std::string(3'000'000, 'm');
    std::ofstream(from / "steps") << "1 2 3";
    offers = std::make_unique<CheckpointOffers>(
        loop, "127.0.0.1",
        CheckpointOffers::Ports{[this](const wire::CheckpointOffered& told) { offered = told; },
                                [this](const wire::CheckpointPiece& piece) { answer(piece); }});
    fetches = std::make_unique<CheckpointFetches>(
        loop, CheckpointFetches::Ports{[this](const std::string&, const auto& result) {
                                         copy = result.ok() ? result->outcome : result.error().code;
                                         text = result.ok() ? result->text : result.error().message;
                                       },
                                       [this](const wire::CheckpointRead& read) { ask(read); },
                                       [](const wire::CheckpointProgress&) {}});
  }
  void TearDown() override {
    fetches.reset();
    offers.reset();
    fs::remove_all(top);
  }

  // The controller between them.
  void ask(const wire::CheckpointRead& read) {
    ++asked;
    if (source_is_away) {
      wire::CheckpointPiece none{read.incarnation, read.request, {}, "source-away", {}};
      return fetches->on_piece(none);
    }
    offers->answer(read);
  }
  void answer(wire::CheckpointPiece piece) {
    if (spoil) spoil(piece);
    fetches->on_piece(piece);
  }

  wire::OfferCheckpoint order() const { return {1, {"c", 7, 2, 20}, {"c", 7, 1, 10}, "a secret of some length"}; }
  void begin(bool directly = true) {
    wire::CheckpointSource source;
    source.server = "a";
    source.address = directly ? "127.0.0.1" : "";
    source.port = directly ? offered->port : 0;
    source.secret = "a secret of some length";
    source.nonce = offered->nonce;
    source.bytes = offered->bytes;
    fetches->begin(order().incarnation, source, {to, 7, "boot", {}});
  }
  // Offers, then fetches once it is offered, then waits for the end.
  void transfer(bool directly) {
    offers->offer(order(), {from, "", is_shared});
    run_until(loop, [&, has_begun = false]() mutable {
      if (offered && !offered->error && !std::exchange(has_begun, true)) begin(directly);
      return !copy.empty() || (offered && offered->error);
    });
  }
  void expect_copied() const {
    EXPECT_EQ(copy, "copied") << text;
    EXPECT_EQ(text_in(to / "deep" / "model"), std::string(3'000'000, 'm'));
    EXPECT_EQ(text_in(to / "steps"), "1 2 3");
    EXPECT_EQ(std::distance(fs::directory_iterator(to), {}), 2);
    EXPECT_EQ(std::distance(fs::directory_iterator(from), {}), 2) << "nothing of ours stays at the source";
  }

  fs::path top, from, to;
  net::EventLoop loop;
  std::shared_ptr<net::EventLoop::Timer> back;
  std::optional<wire::CheckpointOffered> offered;
  std::string copy, text;
  int asked = 0;
  bool source_is_away = false, is_shared = false;
  std::function<void(wire::CheckpointPiece&)> spoil;
  std::unique_ptr<CheckpointOffers> offers;
  std::unique_ptr<CheckpointFetches> fetches;
};

TEST_F(CheckpointTransferTest, goes_directly) {
  transfer(true);
  expect_copied();
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(offers->size(), 0u) << "the offer is over";
}

TEST_F(CheckpointTransferTest, goes_through_the_controller_when_it_cannot_go_directly) {
  transfer(false);
  expect_copied();
  EXPECT_GT(asked, 10);
}

TEST_F(CheckpointTransferTest, goes_through_the_controller_when_nobody_answers_at_the_address) {
  offers->offer(order(), {from, ""});
  run_until(loop, [&, has_begun = false]() mutable {
    if (offered && !std::exchange(has_begun, true)) {
      offered->port = 1;
      begin();
    }
    return !copy.empty();
  });
  expect_copied();
}

TEST_F(CheckpointTransferTest, a_damaged_piece_is_fetched_again) {
  spoil = [times = 0](wire::CheckpointPiece& piece) mutable {
    if (piece.data.size() > 1'000 && times++ == 2) piece.data[500] = piece.data[500] == 'A' ? 'B' : 'A';
  };
  transfer(false);
  expect_copied();
}

TEST_F(CheckpointTransferTest, one_that_arrives_damaged_every_time_is_not_used) {
  spoil = [](wire::CheckpointPiece& piece) {
    if (piece.data.size() > 1'000) piece.data[500] = piece.data[500] == 'A' ? 'B' : 'A';
  };
  transfer(false);
  EXPECT_EQ(copy, "server_setup");
  EXPECT_FALSE(fs::exists(to));
  EXPECT_FALSE(fs::exists(top / ".to.arriving"));
}

TEST_F(CheckpointTransferTest, a_source_that_goes_away_is_waited_for) {
  int pieces = 0;
  spoil = [&](wire::CheckpointPiece&) {
    if (++pieces != 3) return;
    source_is_away = true;
    back = loop.after(Duration::milliseconds(300), [&] { source_is_away = false; });
  };
  transfer(false);
  expect_copied();
}

TEST_F(CheckpointTransferTest, a_folder_that_both_see_is_recognised) {
  offers->offer(order(), {from, ""});
  run_until(loop, [&, has_begun = false]() mutable {
    if (offered && !std::exchange(has_begun, true)) {
      to = from;
      begin();
    }
    return !copy.empty();
  });
  EXPECT_EQ(copy, "shared");
  EXPECT_EQ(text_in(from / "steps"), "1 2 3");
  EXPECT_EQ(std::distance(fs::directory_iterator(from), {}), 2);
}

// Several jobs leave a server at once that keep their checkpoints in one folder.
TEST_F(CheckpointTransferTest, an_offer_of_another_job_in_the_same_folder_does_not_hide_that_it_is_shared) {
  std::vector<std::string> nonces;
  const auto path = [&](std::size_t i) { return from / (std::string(shared_prefix) + nonces[i]); };
  run_until(loop, [&, asked_for = std::size_t{0}]() mutable {
    constexpr std::int64_t jobs[] = {7, 8, 9, 7};
    if (offered) nonces.push_back(std::exchange(offered, std::nullopt)->nonce);
    if (nonces.size() == 2 && asked_for == 2) {
      EXPECT_TRUE(fs::exists(path(0)) && fs::exists(path(1)));
      fs::last_write_time(path(0), fs::file_time_type::clock::now() - std::chrono::hours(25));
    }
    if (nonces.size() == 3 && asked_for == 3) {
      EXPECT_FALSE(fs::exists(path(0))) << "as if an agent that was killed had left it";
      EXPECT_TRUE(fs::exists(path(1)));
    }
    if (asked_for == nonces.size() && asked_for < std::size(jobs)) {
      wire::OfferCheckpoint made = order();
      made.incarnation.job = made.source.job = jobs[asked_for++];
      offers->offer(made, {from, ""});
    }
    return nonces.size() == std::size(jobs);
  });
  ASSERT_EQ(nonces.size(), 4u);
  EXPECT_EQ(nonces[3], nonces[0]) << "an offer that has waited for a day";
  EXPECT_TRUE(fs::exists(path(0)));
}

TEST_F(CheckpointTransferTest, folders_of_other_jobs_are_not_offered) {
  fs::create_directories(from / "job-8.200");
  std::ofstream(from / "job-8.200" / "model") << "of job 8";
  fs::create_directories(from / "deep" / "job-8");
  std::ofstream(from / "deep" / "job-8" / "model") << "its own";
  is_shared = true;
  transfer(true);
  EXPECT_EQ(copy, "copied");
  EXPECT_TRUE(fs::exists(to / "steps") && fs::exists(to / "deep/job-8/model"));
  EXPECT_FALSE(fs::exists(to / "job-8.200"));
}

TEST_F(CheckpointTransferTest, an_attempt_that_has_left_no_file_has_no_checkpoint) {
  fs::remove_all(from);
  fs::create_directories(from / "deep");
  transfer(true);
  EXPECT_EQ(offered->error, "");
  EXPECT_EQ(offers->size(), 0u);
}

TEST_F(CheckpointTransferTest, an_attempt_that_has_left_no_folder_has_no_checkpoint) {
  fs::remove_all(from);
  transfer(true);
  EXPECT_EQ(offered->error, "");
}

TEST_F(CheckpointTransferTest, a_folder_that_is_a_link_is_not_offered) {
  fs::rename(from, top / "elsewhere");
  fs::create_directory_symlink(top / "elsewhere", from);
  transfer(true);
  ASSERT_TRUE(offered && offered->error);
  EXPECT_NE(offered->error->find("is a link"), std::string::npos);
  EXPECT_EQ(offers->size(), 0u);
}

TEST_F(CheckpointTransferTest, a_checkpoint_that_changes_meanwhile_is_not_used) {
  spoil = [&, pieces = 0](wire::CheckpointPiece&) mutable {
    if (++pieces == 3) std::ofstream(from / "deep" / "model", std::ios::app) << "more";
  };
  transfer(false);
  EXPECT_EQ(copy, "not_copied");
  EXPECT_NE(text.find("changes while it is copied"), std::string::npos) << text;
  EXPECT_FALSE(fs::exists(to));
}

TEST_F(CheckpointTransferTest, nothing_is_given_without_the_secret) {
  offers->offer(order(), {from, ""});
  std::vector<int> statuses;  // of the stranger's thread until it has finished
  std::atomic<bool> has_finished = false;
  std::thread stranger;
  run_until(loop, [&, has_begun = false]() mutable {
    if (offered && !std::exchange(has_begun, true)) {
      stranger = std::thread([&, port = offered->port] {
        for (const char* secret :
             {"", "Bearer ", "Bearer a secret of some lengtH", "Bearer a secret", "Bearer a secret of some length"}) {
          for (const char* path :
               {"list", "data?file=0&offset=0", "data?file=99999999999&offset=-5", "../../etc/passwd"}) {
            net::ClientRequest request;
            request.url = "http://127.0.0.1:" + std::to_string(port) + "/checkpoint/" + path;
            request.headers = {{"Authorization", secret}};
            const auto response = net::fetch(request);
            statuses.push_back(response.ok() ? response->status : 0);
          }
        }
        has_finished = true;
      });
    }
    return has_finished.load();
  });
  ASSERT_TRUE(stranger.joinable()) << "nothing was offered";
  stranger.join();
  ASSERT_EQ(statuses.size(), 20U);
  EXPECT_EQ(std::count(statuses.begin(), statuses.begin() + 16, 404), 16);
  EXPECT_EQ((std::vector<int>(statuses.begin() + 16, statuses.end())), (std::vector<int>{200, 200, 200, 404}));
}

TEST_F(CheckpointTransferTest, one_that_is_interrupted_keeps_what_has_come) {
  source_is_away = false;
  int pieces = 0;
  spoil = [&](wire::CheckpointPiece&) {
    if (++pieces == 6) fetches->end(key_of(order().incarnation), false);
    if (pieces == 6) begin(false);  // the order came again
  };
  transfer(false);
  expect_copied();
  EXPECT_LE(asked, 30) << "it began anew";
}

}  // namespace
}  // namespace sl::agent
