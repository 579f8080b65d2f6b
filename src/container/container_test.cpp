// What engines, the first process of containers and users' files say is read as it is meant, whatever they contain.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "container/engine.h"
#include "container/folders.h"
#include "container/order.h"

namespace sl::container {
namespace {

namespace fs = std::filesystem;

struct Folder : testing::Test {
  Folder() {
    char name[] = "/tmp/schedulearn-container-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() override { fs::remove_all(path); }
  std::string in(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

// ---- removing ----

// An engine that answers requests in turn, one for each connection.
class FakeEngine {
 public:
  FakeEngine(const std::string& socket, std::vector<std::string> answers)
      : listening_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_, 8), 0);
    thread_ = std::jthread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) answer_one(answer);
    });
  }
  ~FakeEngine() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  int asked() const { return asked_; }
  // What it was asked last; call it once that has been answered.
  std::string last_request() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void answer_one(const std::string& answer) {
    const int caller = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (caller < 0) return;
    std::string request;
    char piece[4096];
    for (ssize_t n = 0; request.find("\r\n\r\n") == std::string::npos && (n = ::read(caller, piece, sizeof piece)) > 0;)
      request.append(piece, static_cast<std::size_t>(n));
    {
      const std::lock_guard lock(mutex_);
      last_ = request;
    }
    ++asked_;
    if (answer.empty()) (void)!::read(caller, piece, sizeof piece);  // until the caller hangs up
    (void)!::send(caller, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(caller);
  }
  int listening_;
  std::atomic<int> asked_ = 0;
  std::mutex mutex_;  // guards the next
  std::string last_;
  std::jthread thread_;
};

std::string answer(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST_F(Folder, a_container_that_an_engine_refuses_to_remove_while_it_notes_its_end_is_removed_a_moment_later) {
  const std::string refusal = answer("500 Internal Server Error", R"({"message":"container state improper: stopped"})");
  const std::string there =
      answer("200 OK", R"({"Id":"a","State":{"Status":"exited","Running":false,"Pid":0},"Config":{"Labels":{}}})");
  const FakeEngine fake(in("socket"), {refusal, there, refusal, there, answer("204 No Content", "")});
  const Status removed = Engine(in("socket")).remove("a");
  EXPECT_TRUE(removed.ok()) << removed.error().message;
  EXPECT_EQ(fake.asked(), 5);
}

TEST_F(Folder, an_engine_that_keeps_refusing_is_quoted) {
  std::vector<std::string> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(answer("500 Internal Server Error", R"({"message":"device or resource busy"})"));
    answers.push_back(
        answer("200 OK", R"({"Id":"a","State":{"Status":"exited","Running":false,"Pid":0},"Config":{"Labels":{}}})"));
  }
  const FakeEngine fake(in("socket"), answers);
  const Status removed = Engine(in("socket")).remove("a");
  ASSERT_FALSE(removed.ok());
  EXPECT_NE(removed.error().message.find("device or resource busy"), std::string::npos) << removed.error().message;
}

// ---- finding it ----

TEST_F(Folder, a_socket_that_may_not_be_used_is_found_and_named) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const std::string place = in("docker.sock");
  std::ofstream(place) << "";
  ::chmod(path.c_str(), 0755);
  ::chmod(place.c_str(), 0600);
  ::setenv("DOCKER_HOST", ("unix://" + place).c_str(), 1);
  ASSERT_EQ(::seteuid(65534), 0);
  const std::string found = find_socket("");
  const Error error = Engine(place, Duration::whole_seconds(5)).version().error();
  ASSERT_EQ(::seteuid(0), 0);
  ::unsetenv("DOCKER_HOST");
  if (!found.empty() && found != place) GTEST_SKIP() << "an engine of this machine answers at " << found;
  EXPECT_EQ(found, place);
  EXPECT_EQ(error.code, "engine-unreachable");
  EXPECT_EQ(error.message, "the container engine at " + place +
                               " may not be used by the user of the agent: add that user to the socket's group");
  EXPECT_EQ(Engine(in("none"), Duration::whole_seconds(5)).version().error().message,
            "the container engine at " + in("none") + " does not answer");
}

// ---- pulling ----

TEST_F(Folder, an_engine_says_what_it_is_in_a_header) {
  const auto of = [this](const std::string& server) {
    FakeEngine fake(in("socket"), {"HTTP/1.1 200 OK\r\n" + server + "Content-Length: 2\r\n\r\nOK"});
    const Result<std::string> version = Engine(in("socket")).version();
    EXPECT_TRUE(fake.last_request().starts_with("GET /v1.41/_ping ")) << fake.last_request();
    ::unlink(in("socket").c_str());
    return version.ok() ? *version : version.error().message;
  };
  EXPECT_EQ(of("Server: Libpod/4.3.1 (linux)\r\n"), "podman 4.3.1");
  EXPECT_EQ(of("server: Docker/20.10.24+dfsg1 (linux)\r\n"), "docker 20.10.24+dfsg1");
  EXPECT_EQ(of("Server: Docker/25\r\n"), "docker 25");
  EXPECT_EQ(of("Server: something\r\n"), "docker");
  EXPECT_EQ(of(""), "docker");
}

TEST_F(Folder, an_image_is_fetched_with_the_credentials_that_are_given) {
  FakeEngine fake(in("socket"), {answer("200 OK", R"({"status":"done"})")});
  const Status pulled = Engine(in("socket")).pull("registry.lab:5000/net:1", "c2VjcmV0", [](const PullProgress&) {});
  EXPECT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_NE(fake.last_request().find("X-Registry-Auth: c2VjcmV0\r\n"), std::string::npos) << fake.last_request();
  EXPECT_NE(fake.last_request().find("fromImage=registry.lab%3A5000%2Fnet&tag=1 "), std::string::npos);
}

// The engine passes on what the registry sends; so the silence is the registry's.
TEST_F(Folder, a_registry_that_sends_nothing_is_named_and_its_engine_is_not_to_blame) {
  FakeEngine fake(in("socket"), {""});
  const Engine engine(in("socket"), Duration::whole_seconds(1));
  const Status pulled = engine.pull("registry.lab:5000/net:1", "", [](const PullProgress&) {});
  ASSERT_FALSE(pulled.ok());
  EXPECT_EQ(pulled.error().code, "image");
  EXPECT_EQ(pulled.error().message, "the registry of registry.lab:5000/net:1 has sent nothing for 1 s");
}

TEST(PullReader, sums_the_layers_that_are_being_fetched) {
  PullReader reader;
  reader.add(R"({"status":"Pulling from library/a","id":"latest"})"
             "\n"
             R"({"status":"Downloading","progressDetail":{"current":10,"total":100},"id":"x"})"
             "\n"
             R"({"status":"Downloading","progressDetail":{"current":5,"total":50},"id":"y"})"
             "\n");
  reader.add(R"({"status":"Downloading","progressDetail":{"current":60,"total":100},"id":"x"})"
             "\n"
             R"({"status":"Extracting","progressDetail":{"current":1,"total":2},"id":"x"})"
             "\n");
  EXPECT_EQ(reader.progress().bytes_done, 65);
  EXPECT_EQ(reader.progress().bytes, 150);
  EXPECT_EQ(reader.error(), "");
}

TEST(PullReader, an_error_in_the_stream_is_the_end_of_it) {
  PullReader reader;
  reader.add("{\"errorDetail\":{\"message\":\"manifest unknown\"},\"error\":\"manifest\\nunknown\"}\n");
  EXPECT_EQ(reader.error(), "manifest unknown");
}

RC_GTEST_PROP(PullReader, reads_the_same_in_pieces_of_any_size, (const std::vector<unsigned char>& cuts)) {
  const std::string text = R"({"status":"Downloading","progressDetail":{"current":10,"total":100},"id":"x"})"
                           "\r\n{\"a\n\n"
                           R"({"status":"Downloading","progressDetail":{"current":7,"total":9},"id":"z"})"
                           "\n";
  PullReader reader;
  std::size_t at = 0;
  for (const unsigned char cut : cuts) {
    reader.add(std::string_view(text).substr(std::min(at, text.size()), cut % 40));
    at = std::min(text.size(), at + cut % 40);
  }
  reader.add(std::string_view(text).substr(at));
  RC_ASSERT(reader.progress().bytes_done == 17);
  RC_ASSERT(reader.progress().bytes == 109);
}

// ---- how a container ended ----

TEST(ReadEnd, tells_exits_signals_and_what_could_not_be_started) {
  EXPECT_EQ(read_end("exit 7\n", {})->exit_code, 7);
  EXPECT_EQ(read_end("signal 15\noom_kills 0\n", {})->signal, 15);
  EXPECT_EQ(read_end("signal 15\noom_kills 0\n", {})->failure_kind, "");
  EXPECT_EQ(read_end("no_device\n", {})->failure_kind, "server_setup");
  const auto failed = read_end("failed no such command: pyton in the image\n", {});
  EXPECT_EQ(failed->failure_kind, "setup");
  EXPECT_EQ(failed->failure_message, "no such command: pyton in the image");
}

TEST(ReadEnd, a_job_that_was_killed_for_its_memory_says_how_much_it_had) {
  const auto end = read_end("exit 137\noom_kills 2\nmemory_peak 67108864\n", 64 << 20);
  EXPECT_EQ(end->failure_kind, "out_of_memory");
  EXPECT_EQ(end->failure_message, "it wanted more memory than the 64 MiB that it asked for; it had up to 64 MiB");
  EXPECT_EQ(read_end("exit 0\noom_kills 2\n", 64 << 20)->failure_kind, "");
  EXPECT_EQ(read_end("signal 9\noom_kills 1\n", {})->failure_message, "its server had no memory left for it");
}

TEST(ReadEnd, what_a_job_may_have_written_instead_is_no_end) {
  for (const char* text : {"", "exit", "exit ", "exit 256\n", "exit -1\n", "signal 65\n", "exit 1x\n",
                           "memory_peak 1\n", "failed \n", "\0\0\0"})
    EXPECT_FALSE(read_end(text, {})) << text;
}

TEST_F(Folder, an_order_and_its_outcome_are_read_as_they_were_written) {
  Order order;
  order.name = "schedulearn-1.1.2.c-0", order.command = {"sh", "-c", "a\nb"}, order.memory_bytes = 5;
  order.named_folders = {{"/a", "/b", true, false, "mounts"}};
  ASSERT_TRUE(write_order(path, order).ok());
  const Result<Order> read = read_order(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->command, order.command);
  EXPECT_EQ(read->named_folders.at(0).to, "/b");
  EXPECT_EQ(read->memory_bytes, 5);
  EXPECT_FALSE(read_outcome(path));
  const Outcome outcome{
      .exit_code = 3, .signal = {}, .failure_kind = "", .failure_message = "", .memory_peak_bytes = 9};
  write_outcome(path, outcome);
  EXPECT_EQ(read_outcome(path), outcome);
}

// ---- folders ----

struct Folders : Folder {
  Folders() {
    for (const char* name : {"allowed", "allowed/data", "other", "other/secret"}) fs::create_directory(in(name));
    account = {::geteuid(), ::getegid(), {}, in("home")};
    fs::create_directory(account.home);
  }
  Result<std::vector<Bind>> mounted(const std::string& from, bool make = false) const {
    return resolve({{from, "/inside", false, make, "mounts"}}, {in("allowed")}, account);
  }
  Account account;
};

TEST_F(Folders, what_the_admin_allows_and_the_user_s_home_can_be_mounted) {
  EXPECT_EQ(mounted(in("allowed"))->at(0).from, in("allowed"));
  EXPECT_EQ(mounted(in("allowed/data"))->at(0).from, in("allowed/data"));
  EXPECT_TRUE(mounted(account.home).ok());
  EXPECT_EQ(mounted("~/made", true)->at(0).from, account.home + "/made");
}

TEST_F(Folders, nothing_else_can_by_any_way) {
  fs::create_symlink(in("other/secret"), in("allowed/link"));
  fs::create_directory(in("allowedly"));
  for (const std::string& from : {in("other"), in("allowed/link"), in("allowed/../other/secret"), in("allowedly"),
                                  in("allowed/link/../../other"), std::string("/")}) {
    const auto result = mounted(from);
    ASSERT_FALSE(result.ok()) << from;
    EXPECT_EQ(result.error().code, "setup");
  }
  EXPECT_NE(mounted(in("allowed/nothing")).error().message.find("No such file"), std::string::npos);
}

// Podman would read what comes after the comma as options of the mount.
TEST_F(Folders, a_path_that_an_engine_may_take_for_more_than_a_path_is_refused_also_behind_a_link) {
  for (const char* name : {"lr=0.1,source=", "a\"b", "line\nbreak"}) {
    fs::create_directory(in(std::string("allowed/") + name));
    fs::remove(in("allowed/link"));
    fs::create_symlink(in(std::string("allowed/") + name), in("allowed/link"));
    for (const std::string& from : {in(std::string("allowed/") + name), in("allowed/link")}) {
      ASSERT_FALSE(mounted(from).ok()) << from;
      EXPECT_NE(mounted(from).error().message.find("mounts: "), std::string::npos);
      EXPECT_EQ(mounted(from).error().code, "setup");
    }
  }
  EXPECT_FALSE(
      resolve({{in("allowed"), "/inside,source=/root", true, false, "mounts"}}, {in("allowed")}, account).ok());
}

TEST_F(Folders, one_that_is_named_twice_for_a_place_is_mounted_once_and_two_for_a_place_are_refused) {
  const NamedFolder read{in("allowed/data"), "/data", false, false, "mounts"};
  const NamedFolder written{in("allowed/./data/"), "/data/", true, false, "workdir"};
  const auto once = resolve({read, written}, {in("allowed")}, account);
  ASSERT_TRUE(once.ok()) << once.error().message;
  ASSERT_EQ(once->size(), 1U);
  EXPECT_EQ(once->at(0).to, "/data");
  EXPECT_TRUE(once->at(0).writable);
  NamedFolder other = written;
  other.from = in("allowed");
  const auto two = resolve({read, other}, {in("allowed")}, account);
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().code, "setup");
  EXPECT_EQ(two.error().message,
            "workdir: " + in("allowed/data") + " and " + in("allowed") + " are both to be mounted at /data");
}

TEST_F(Folders, a_folder_behind_one_that_the_user_cannot_enter_is_out_of_reach) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  account.uid = account.gid = 65534;
  fs::permissions(path, fs::perms(0755));
  EXPECT_TRUE(mounted(in("allowed/data")).ok());
  fs::permissions(in("allowed"), fs::perms(0700));
  EXPECT_NE(mounted(in("allowed/data")).error().message.find("Permission denied"), std::string::npos);
}

TEST_F(Folders, what_is_given_to_a_user_is_only_what_is_there) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  account.uid = account.gid = 65534;
  std::ofstream(in("other/file")) << "x";
  fs::create_symlink(in("other/file"), in("allowed/link"));
  fs::create_hard_link(in("other/file"), in("allowed/hard"));
  std::ofstream(in("allowed/data/own")) << "x";
  give(in("allowed"), account);
  const auto owner = [](const std::string& name) {
    struct stat info {};
    ::lstat(name.c_str(), &info);
    return info.st_uid;
  };
  EXPECT_EQ(owner(in("allowed/data/own")), 65534U);
  EXPECT_EQ(owner(in("allowed")), 65534U);
  EXPECT_EQ(owner(in("other/file")), 0U);
}

TEST(Account, root_is_refused_unless_the_admin_allows_it) {
  if (::geteuid() != 0) GTEST_SKIP() << "without root every container has the user of the agent";
  EXPECT_EQ(account_of("root", false).error().code, "setup");
  EXPECT_EQ(account_of("root", true)->uid, 0U);
  EXPECT_EQ(account_of("nobody", false)->uid, 65534U);
  EXPECT_NE(account_of("no-such-user", true).error().message.find("no account"), std::string::npos);
}

// ---- credentials ----

TEST_F(Folder, credentials_are_those_of_the_registry_that_the_image_names) {
  fs::create_directories(in(".docker"));
  std::ofstream(in(".docker/config.json"))
      << R"({"auths": {"registry.lab:5000": {"auth": "bWVpOnNlY3JldA=="}, "https://index.docker.io/v1/": {"auth": "YTpi"}}})";
  // {"username":"mei","password":"secret","serveraddress":"registry.lab:5000"}
  EXPECT_EQ(credentials_for("registry.lab:5000/team/net:1", path, ::geteuid()),
            "eyJ1c2VybmFtZSI6Im1laSIsInBhc3N3b3JkIjoic2VjcmV0Iiwic2VydmVyYWRkcmVzcyI6InJlZ2lzdHJ5LmxhYjo1MDAwIn0=");
  EXPECT_NE(credentials_for("python:3.11", path, ::geteuid()), "");
  EXPECT_EQ(credentials_for("other.lab/net", path, ::geteuid()), "");
  EXPECT_EQ(credentials_for("python:3.11", path, ::geteuid() + 1), "");
  fs::rename(in(".docker/config.json"), in("elsewhere"));
  fs::create_symlink(in("elsewhere"), in(".docker/config.json"));
  EXPECT_EQ(credentials_for("python:3.11", path, ::geteuid()), "");
}

}  // namespace
}  // namespace sl::container
