// Which shell a client gets.
#include "terminal/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sl::terminal {
namespace {

// It runs, and prints nothing.
class QuietShell : public Shell {
 public:
  QuietShell() { EXPECT_EQ(::pipe(ends_), 0); }
  ~QuietShell() override { ::close(ends_[0]), ::close(ends_[1]); }
  int descriptor() const override { return ends_[0]; }
  void resize(int, int) override {}
  void signal(int) override {}
  std::optional<int> exit_code() override { return std::nullopt; }

 private:
  int ends_[2] = {-1, -1};
};

class Client : public net::WebSocket {
 public:
  void send(std::string text) override { greeting += text; }
  void send_binary(std::string) override {}
  void close(std::string) override {}
  std::size_t unsent_bytes() const override { return 0; }
  void set_callbacks(Callbacks made) override { callbacks = std::move(made); }
  void pause(bool) override {}

  std::string greeting;
  Callbacks callbacks;
};

class TerminalServerTest : public testing::Test {
 protected:
  Server::Start counting(int& count) {
    return [&count](const ShellOrder&) {
      ++count;
      return Result<std::unique_ptr<Shell>>(std::make_unique<QuietShell>());
    };
  }
  // As the controller sends it on (controller/channels.cpp, headers_for).
  std::shared_ptr<Client> connect(const std::string& user) {
    net::Request request;
    net::parse_target("/shell", request);
    request.headers = {{"x-schedulearn-user", net::percent_encode(user)}};
    auto client = std::make_shared<Client>();
    EXPECT_TRUE(server.on_websocket(request, client));
    return client;
  }

  net::EventLoop loop;
  int shells = 0, jobs = 0;
  Server server{loop, Duration::whole_seconds(60), counting(shells), [] {}};
};

class TerminalUserTest : public TerminalServerTest, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(, TerminalUserTest,
                         testing::Values("mei", "mei+gpu@lab.example", "LAB\\mei", "mei%40lab", "Mei Müller"));

TEST_P(TerminalUserTest, gets_to_the_job_at_its_terminal) {
  server.run_job(GetParam(), counting(jobs), [](int) {});
  EXPECT_NE(connect(GetParam())->greeting.find(R"("session":1)"), std::string::npos);
  EXPECT_EQ(jobs, 1) << "it begins with its user's first client";
  EXPECT_EQ(shells, 0);
}

TEST_F(TerminalServerTest, others_get_a_shell_of_their_own) {
  server.run_job("mei@lab", counting(jobs), [](int) {});
  EXPECT_NE(connect("mei%40lab")->greeting.find(R"("session":2)"), std::string::npos);
  EXPECT_EQ(jobs, 0);
  EXPECT_EQ(shells, 1);
}

}  // namespace
}  // namespace sl::terminal
