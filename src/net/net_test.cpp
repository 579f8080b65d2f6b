#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/url.h"
#include "net/websocket.h"

namespace sl::net {
namespace {

// Answers by path; echoes WebSockets.
class TestHandler : public Handler {
 public:
  Verdict on_head(const Request& head) override {
    if (head.header("authorization") == "none") return {Response{401, "text/plain", {}, "who are you?"}, false};
    return {.trusted = head.path != "/stranger", .user = head.header("x-user").value_or("")};
  }
  void on_request(Request request, std::shared_ptr<Reply> reply) override {
    if (request.path == "/who")
      return reply->send(
          {200, "text/plain", {}, request.peer + " " + std::to_string(request.peer_uid.value_or(99999))});
    if (request.path == "/drop") return;
    if (request.path == "/thread")
      return std::thread([reply] { reply->send({200, "text/plain", {}, "from afar"}); }).detach();
    if (request.path == "/stream") {
      auto stream = reply->stream({200, "text/plain", {}, "head;"});
      for (int i = 0; i < 1000; ++i) stream->write(std::to_string(i) + ";");
      return stream->close();
    }
    if (request.path == "/endless") {
      endless = reply->stream({200, "text/plain", {}, "x"});
      return;
    }
    reply->send(
        {200, "text/plain", {{"X-Method", request.method}}, request.body + request.parameter("q").value_or("")});
  }
  bool on_websocket(const Request& request, std::shared_ptr<WebSocket> socket) override {
    if (request.path == "/refuse") {  // before the handshake is complete
      socket->set_callbacks({});
      socket->send("no");
      socket->close("not you");
      return true;
    }
    if (request.path != "/ws") return false;
    auto* raw = socket.get();
    socket->set_callbacks(
        {[raw](const std::string& text) { text == "bye" ? raw->close("told to") : raw->send(text + "!"); },
         [](const std::string&) {}});
    sockets.push_back(std::move(socket));
    return true;
  }
  Response on_protocol_error(int status, const std::string& detail) override {
    return {status, "text/plain", {}, detail};
  }

  std::shared_ptr<Stream> endless;
  std::vector<std::shared_ptr<WebSocket>> sockets;
};

class NetTest : public testing::Test {
 protected:
  void SetUp() override {
    ServerSettings settings;
    settings.port = 0;
    settings.body_bytes_max = 10'000;
    settings.request_timeout = Duration::milliseconds(300);
    settings.stranger_timeout = Duration::milliseconds(300);
    settings.strangers_max = 20;
    settings.user_connections_max = 2;
    settings.socket_path = socket_;
    auto server = HttpServer::listen(loop_, settings, handler_);
    ASSERT_TRUE(server.ok());
    server_ = std::move(*server);
    url_ = "http://127.0.0.1:" + std::to_string(server_->port());
    thread_ = std::thread([this] { loop_.run(); });
  }
  void TearDown() override {
    loop_.post([this] {
      handler_.endless.reset();
      handler_.sockets.clear();
      server_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  ClientResponse fetch_ok(const std::string& path, const std::string& method = "GET", const std::string& body = "") {
    auto response = fetch({method, url_ + path, {}, body});
    EXPECT_TRUE(response.ok()) << response.error().message;
    return response.ok() ? *response : ClientResponse{};
  }
  EventLoop loop_;
  TestHandler handler_;
  std::unique_ptr<HttpServer> server_;
  std::string url_;
  std::string socket_ = "/tmp/schedulearn-net-test-" + std::to_string(::getpid()) + ".sock";
  std::thread thread_;
};

// A connection by hand: sends text, and reads until the other end closes.
class Raw {
 public:
  explicit Raw(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval patience{5, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Raw() { ::close(fd_); }
  void send(const std::string& text) const { EXPECT_GT(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL), 0); }
  std::string read_all() const {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd_, buffer, sizeof buffer, 0)) != 0;) {
      if (n < 0) return text + "(still open)";
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }

  // One answer, of which the connection is kept.
  std::string ask(const std::string& path, const std::string& user) const {
    send("GET " + path + " HTTP/1.1\r\nHost: x\r\nX-User: " + user + "\r\n\r\n");
    char buffer[4096];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(0, n))};
  }

 private:
  int fd_;
};

TEST_F(NetTest, the_kernel_says_who_asks_over_loopback_and_over_the_unix_socket) {
  const std::string uid = std::to_string(::getuid());
  EXPECT_TRUE(fetch_ok("/who").body.ends_with(" " + uid));
  ClientRequest over_unix{"GET", url_ + "/who"};
  over_unix.socket = socket_;
  EXPECT_EQ(fetch(over_unix)->body, "unix " + uid);
  EXPECT_TRUE(is_listening(socket_));
  EXPECT_FALSE(is_listening(socket_ + ".not"));
}

TEST_F(NetTest, a_request_is_refused_before_its_body_is_read) {
  const Raw half(server_->port());
  half.send("POST /x HTTP/1.1\r\nHost: x\r\nAuthorization: none\r\nContent-Length: 9000\r\n\r\nabc");
  EXPECT_NE(half.read_all().find("who are you?"), std::string::npos);
}

TEST_F(NetTest, the_connections_of_one_user_are_bounded_and_those_that_wait_for_nothing_make_room_first) {
  const Raw stream(server_->port()), idle(server_->port()), other(server_->port()), late(server_->port());
  EXPECT_NE(stream.ask("/endless", "mei"), "");
  EXPECT_NE(idle.ask("/who", "mei"), "");
  EXPECT_NE(other.ask("/who", "tom"), "");
  EXPECT_NE(late.ask("/who", "mei"), "");
  EXPECT_EQ(idle.read_all(), "") << "it is closed";
  EXPECT_NE(late.ask("/who", "mei"), "");
  EXPECT_NE(other.ask("/who", "tom"), "") << "others are not concerned";
  EXPECT_NE(other.ask("/who", "mei"), "") << "it becomes another's";
  EXPECT_EQ(late.read_all(), "");
}

TEST_F(NetTest, a_stranger_may_send_a_small_body_only) {
  EXPECT_EQ(fetch_ok("/stranger", "POST", std::string(1'000, 'x')).status, 200);
  EXPECT_EQ(fetch_ok("/stranger", "POST", std::string(5'000, 'x')).status, 413);
}

TEST_F(NetTest, a_silent_connection_is_closed) { EXPECT_EQ(Raw(server_->port()).read_all(), ""); }

TEST_F(NetTest, silent_connections_make_room_for_one_that_asks) {
  std::vector<std::unique_ptr<Raw>> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<Raw>(server_->port()));
  EXPECT_EQ(fetch_ok("/x", "POST", "here").body, "here");
}

TEST_F(NetTest, a_request_is_answered_with_its_own_body_and_decoded_query) {
  EXPECT_EQ(fetch_ok("/x?q=a%20b+c", "POST", "hello ").body, "hello a b c");
}

TEST_F(NetTest, a_body_over_the_limit_is_413_and_one_at_the_limit_is_not) {
  EXPECT_EQ(fetch_ok("/x", "POST", std::string(10'000, 'x')).status, 200);
  EXPECT_EQ(fetch_ok("/x", "POST", std::string(10'001, 'x')).status, 413);
}

TEST_F(NetTest, answers_may_come_from_another_thread_and_a_dropped_request_is_500) {
  EXPECT_EQ(fetch_ok("/thread").body, "from afar");
  EXPECT_EQ(fetch_ok("/drop").status, 500);
}

TEST_F(NetTest, a_stream_arrives_whole_and_in_order) {
  std::string expected = "head;";
  for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + ";";
  EXPECT_EQ(fetch_ok("/stream").body, expected);
}

// What the stream is given later would look like the answer to the next request.
TEST_F(NetTest, the_head_of_a_stream_is_all_that_its_connection_brings) {
  const Raw asks(server_->port());
  asks.send("HEAD /endless HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = asks.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("Connection: close\r\n\r\n")) << answer;
}

// A proxy may see one request where we see two, or the other way round.
TEST_F(NetTest, a_request_whose_end_can_be_read_in_two_ways_is_refused) {
  for (const char* headers : {"Host: x\r\nTransfer-Encoding: xchunked", "Host: x\r\nTransfer-Encoding: gzip, chunked",
                              "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3", "Host: x\r\nHost: y"}) {
    const Raw asks(server_->port());
    asks.send("POST /echo HTTP/1.1\r\n" + std::string(headers) +
              "\r\n\r\n0\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = asks.read_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << headers << "\n" << answer;
    EXPECT_EQ(answer.find("HTTP/1.1 200"), std::string::npos) << headers << "\n" << answer;
  }
}

TEST_F(NetTest, a_stream_knows_when_its_reader_has_gone) {
  EXPECT_TRUE(fetch_stream({"GET", url_ + "/endless"}, [](std::string_view) { return false; }).ok());
  for (int i = 0; i < 500; ++i) {
    std::atomic<int> closed{-1};
    loop_.post([&] { closed = handler_.endless->closed(); });
    while (closed < 0) std::this_thread::yield();
    if (closed == 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "nobody noticed";
}

TEST_F(NetTest, readers_that_leave_in_the_middle_of_a_stream_do_no_harm) {
  for (int i = 0; i < 200; ++i) {
    const int pieces = i % 5;
    int seen = 0;
    EXPECT_TRUE(fetch_stream({"GET", url_ + "/stream"}, [&](std::string_view) { return ++seen <= pieces; }).ok());
  }
  EXPECT_EQ(fetch_ok("/x", "POST", "alive").body, "alive");
}

TEST_F(NetTest, nobody_listening_and_no_answer_in_time_are_different_errors) {
  const auto closed = fetch({"GET", "http://127.0.0.1:1/jobs?limit=5&state=a%2Cb"});
  EXPECT_EQ(closed.error().code, "controller-unreachable");
  EXPECT_TRUE(closed.error().message.starts_with("no controller answers at http://127.0.0.1:1: "))
      << closed.error().message;
  ClientRequest slow{"GET", url_ + "/endless"};
  slow.timeout = Duration::milliseconds(100);
  EXPECT_EQ(fetch(slow).error().code, "timeout");
  EXPECT_EQ(fetch({"GET", "https://127.0.0.1/"}).error().code, "https-unsupported");
}

// Takes one connection after another and gives each the next of `answers`; for "" it breaks the connection. Returns how
// many came.
std::size_t answer_each(int listener, const std::vector<std::string>& answers) {
  std::size_t count = 0;
  for (const std::string& answer : answers) {
    const int connection = ::accept(listener, nullptr, nullptr);
    if (connection < 0) break;
    ++count;
    std::string request(1000, '\0');
    (void)::recv(connection, request.data(), request.size(), 0);
    (void)::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(connection);
  }
  return count;
}

// What fetch() says where a server does that, and how many connections it made.
std::pair<Result<ClientResponse>, std::size_t> fetched(const std::vector<std::string>& answers, const Headers& headers,
                                                       const std::string& method = "POST") {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ::listen(listener, 10);
  std::size_t count = 0;
  std::thread server([&] { count = answer_each(listener, answers); });
  auto response =
      fetch({method, "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/jobs", headers, "{}"});
  ::shutdown(listener, SHUT_RDWR);
  server.join();
  ::close(listener);
  return {std::move(response), count};
}

TEST(Client, a_request_with_a_key_is_sent_again_where_its_connection_breaks_until_it_is_through) {
  const Headers key = {{"Idempotency-Key", "k"}};
  const std::string created = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok";
  const std::string conflict = "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n";
  const std::string half = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\no";
  const auto [through, tries] = fetched({"", conflict, created}, key);
  ASSERT_TRUE(through.ok()) << through.error().message;
  EXPECT_EQ(through->body, "ok");
  EXPECT_EQ(tries, 3u);
  const auto [whole, asked_twice] = fetched({half, created}, key);
  EXPECT_TRUE(whole.ok() && whole->body == "ok");
  EXPECT_EQ(asked_twice, 2u);
  const auto [refused, asked_once] = fetched({conflict, created}, key);
  EXPECT_TRUE(refused.ok() && refused->status == 409);
  EXPECT_EQ(asked_once, 1u);
}

TEST(Client, a_request_whose_connection_stays_broken_may_have_been_done) {
  const auto [lost, tries] = fetched({"", "", "", "", ""}, {{"Idempotency-Key", "k"}});
  EXPECT_EQ(tries, 4u);
  EXPECT_EQ(lost.error().notes.size(), 1u);
  const auto [without_key, once] = fetched({"", ""}, {});
  EXPECT_EQ(once, 1u);
  EXPECT_EQ(without_key.error().notes.size(), 1u);
  EXPECT_TRUE(fetched({""}, {}, "GET").first.error().notes.empty());
}

TEST_F(NetTest, a_call_can_be_given_up_while_nothing_arrives) {
  bool has_begun = false;
  ClientRequest silent{"GET", url_ + "/endless"};
  silent.is_given_up = [&] { return has_begun; };
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = fetch_stream(silent, [&](std::string_view) { return has_begun = true; });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "the time-out is 30 s";
  EXPECT_EQ(answer.error().code, "given-up");
}

TEST_F(NetTest, a_port_in_use_is_refused_with_a_hint) {
  ServerSettings settings;
  settings.port = server_->port();
  EventLoop other;
  const auto taken = HttpServer::listen(other, settings, handler_);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, "port-in-use");
}

TEST_F(NetTest, a_websocket_carries_a_thousand_messages_in_order_and_closes_once) {
  std::atomic<int> closes{0};
  std::vector<std::string> received;
  std::shared_ptr<WebSocket> socket;
  ConnectResult result;
  result.on_open = [&](std::shared_ptr<WebSocket> opened) {
    socket = std::move(opened);
    socket->set_callbacks({[&](const std::string& text) {
                             received.push_back(text);
                             if (received.size() == 1000) socket->send("bye");
                           },
                           [&](const std::string&) { ++closes; }});
    for (int i = 0; i < 1000; ++i) socket->send(std::to_string(i));
  };
  result.on_error = [&](const Error&) { closes = 100; };
  std::shared_ptr<void> connecting;
  loop_.post([&] { connecting = connect_websocket(loop_, "ws" + url_.substr(4) + "/ws", {}, std::move(result)); });
  for (int i = 0; i < 1000 && closes == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::atomic<bool> quiet{false};
  loop_.post([&] { connecting.reset(), socket.reset(), quiet = true; });
  while (!quiet) std::this_thread::yield();
  EXPECT_EQ(closes, 1);
  ASSERT_EQ(received.size(), 1000u);
  EXPECT_EQ(received.front(), "0!");
  EXPECT_EQ(received.back(), "999!");
}

TEST_F(NetTest, a_websocket_that_is_refused_at_once_still_hears_why) {
  EventLoop loop;
  std::string heard, reason;
  ConnectResult result;
  std::shared_ptr<WebSocket> socket;
  result.on_open = [&](std::shared_ptr<WebSocket> opened) {
    socket = std::move(opened);
    socket->set_callbacks({[&](const std::string& text) { heard = text; },
                           [&](const std::string& why) {
                             reason = why;
                             loop.stop();
                           }});
  };
  result.on_error = [&](const Error&) { loop.stop(); };
  const auto connecting = connect_websocket(loop, "ws" + url_.substr(4) + "/refuse", {}, std::move(result));
  loop.run();
  EXPECT_EQ(heard, "no");
  EXPECT_EQ(reason, "not you");
}

TEST(EventLoop, a_watch_may_be_replaced_in_its_own_work_by_one_on_the_same_number) {
  EventLoop loop;
  int first[2], second[2] = {-1, -1}, heard = 0;
  ASSERT_EQ(::pipe(first), 0);
  const int number = first[0];
  std::shared_ptr<EventLoop::Watch> watch;
  watch = loop.on_readable(number, [&] {
    watch.reset();
    ::close(number);
    ASSERT_EQ(::pipe(second), 0);
    ASSERT_EQ(second[0], number);
    watch = loop.on_readable(second[0], [&] {
      ++heard;
      loop.stop();
    });
    ASSERT_EQ(::write(second[1], "x", 1), 1);
  });
  ASSERT_EQ(::write(first[1], "x", 1), 1);
  const auto limit = loop.after(Duration::whole_seconds(5), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(heard, 1);
  for (const int fd : {first[1], second[0], second[1]}) ::close(fd);
}

TEST(Url, is_taken_apart) {
  const auto url = parse_url("http://[::1]:5000/api?x=1");
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, "5000");
  EXPECT_EQ(url->target, "/api?x=1");
  EXPECT_TRUE(is_loopback("127.0.0.9") && is_loopback("::1") && is_loopback("localhost"));
  for (const char* foreign : {"127.evil.example", "127.0.0.1.evil.example", "128.0.0.1", "localhost.evil", "", "127.1"})
    EXPECT_FALSE(is_loopback(foreign)) << foreign;
  EXPECT_EQ(parse_authority("[::1]:5000"), (Authority{"::1", "5000"}));
  EXPECT_EQ(parse_authority("LocalHost"), (Authority{"localhost", "80"}));
  for (const char* bad : {"", ":80", "[::1", "[::1]x", "a:b", "user@127.0.0.1", "a b", "127.0.0.1:", "127.0.0.1:88536"})
    EXPECT_FALSE(parse_authority(bad)) << bad;
  for (const char* bad : {"", "localhost", "ftp://x", "http://", "http://a:b/"})
    EXPECT_FALSE(parse_url(bad).ok()) << bad;
}

}  // namespace
}  // namespace sl::net
