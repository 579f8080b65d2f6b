#include "migration.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "load.h"

namespace sl::bench {
namespace {

namespace fs = std::filesystem;

// Writes its checkpoint once, then waits to be stopped.
const char* const saves_once =
    "trap 'exit 75' TERM; f=$SCHEDULEARN_CHECKPOINT_DIR/model; "
    "[ -e $f ] || { head -c %dM /dev/urandom > $f.new && mv $f.new $f; }; while :; do sleep 0.05; done";

std::string model_in(const std::string& data) {
  std::error_code missing;
  for (const auto& job : fs::directory_iterator(data + "/jobs", missing)) {
    if (fs::exists(job.path() / "checkpoints" / "model")) return job.path() / "checkpoints" / "model";
  }
  return "";
}

// "2026-11-23T02:15:13.120Z" of one day
double seconds_of(const boost::json::value& event) {
  const std::string at = boost::json::value_to<std::string>(event.at("at"));
  return std::stod(at.substr(11, 2)) * 3600 + std::stod(at.substr(14, 2)) * 60 + std::stod(at.substr(17));
}

// When the job became starting and running the last time.
double last_start_took(Connection& connection) {
  const auto events = boost::json::parse(connection.get("/api/v1/jobs/1/events?since=0&limit=1000"));
  double starting = 0, running = 0;
  for (const auto& event : events.at("items").as_array()) {
    if (event.at("kind") != "job.state") continue;
    if (event.at("to") == "starting") starting = seconds_of(event);
    if (event.at("to") == "running") running = seconds_of(event);
  }
  return running - starting;
}

int bound_socket(sockaddr_in& address) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(listener, reinterpret_cast<const sockaddr*>(&address), size);
  ::listen(listener, 1);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return listener;
}

// As cat does.
void cat(int from, int to) {
  std::vector<char> piece(128 << 10);
  for (ssize_t n = 0; (n = ::read(from, piece.data(), piece.size())) > 0;) {
    for (ssize_t at = 0; at < n;) {
      const ssize_t written = ::write(to, piece.data() + at, static_cast<std::size_t>(n - at));
      if (written <= 0) throw std::runtime_error("cat cannot write");
      at += written;
    }
  }
}

}  // namespace

Migration migrate(Lab& lab, int mib) {
  Connection connection(lab.port);
  char command[300];
  std::snprintf(command, sizeof command, saves_once, mib);
  const boost::json::object job = {{"command", boost::json::array{"sh", "-c", command}},
                                   {"workdir", "/"},
                                   {"gpus", 1},
                                   {"checkpoint", boost::json::object{{"dir", ""}, {"grace_s", 60}}}};
  connection.call("POST", "/api/v1/jobs", boost::json::serialize(job));
  if (connection.status() != 201) throw std::runtime_error("the job was refused");
  Migration migration;
  wait_until(120, [&] { return !(migration.file = model_in(lab.folder + "/agent")).empty(); });
  lab.start_agent(1, "other");
  lab.wait_for_agent(2);
  ::sync();
  Connection(lab.port).call("POST", "/api/v1/servers/bench/drain?migrate=true", "{}");
  wait_until(120, [&] {
    const auto shown = boost::json::parse(Connection(lab.port).get("/api/v1/jobs/1"));
    return shown.at("attempt") == 2 && shown.at("state") == "running";
  });
  Connection after(lab.port);
  wait_until(120, [&] { return (migration.seconds = last_start_took(after)) > 0; });  // once it is in the database
  if (fs::file_size(model_in(lab.folder + "/other")) != static_cast<std::uintmax_t>(mib) << 20)
    throw std::runtime_error("the checkpoint did not arrive");
  after.call("POST", "/api/v1/jobs/1/cancel", "{}");
  ::sync();
  return migration;
}

double copy_with_cat(const std::string& from, const std::string& to) {
  sockaddr_in address{};
  const int listener = bound_socket(address);
  const double begin = now_s();
  std::thread sender([&] {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0), file = ::open(from.c_str(), O_RDONLY);
    ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    cat(file, socket);
    ::close(file), ::close(socket);
  });
  const int socket = ::accept(listener, nullptr, nullptr), file = ::open(to.c_str(), O_WRONLY | O_CREAT, 0600);
  cat(socket, file);
  ::fsync(file);
  const double took = now_s() - begin;
  sender.join();
  ::close(file), ::close(socket), ::close(listener);
  return took;
}

}  // namespace sl::bench
