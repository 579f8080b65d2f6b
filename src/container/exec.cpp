// Processes beside those of a container: the part of the engine's API that serves shells.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>

#include "container/engine.h"

namespace sl::container {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& all) {
  json::array list;
  for (const std::string& one : all) list.push_back(json::string(one));
  return list;
}

int connect_to(const std::string& path, Duration patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{patience.us / 1'000'000, 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return connection;
  ::close(connection);
  return -1;
}

// Byte by byte: what follows the head is the terminal's.
std::string read_head(int connection) {
  constexpr std::size_t bytes_max = 16 << 10;
  std::string head;
  for (char byte = 0; head.size() < bytes_max && !head.ends_with("\r\n\r\n");) {
    const ssize_t count = ::recv(connection, &byte, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    head += byte;
  }
  return head;
}

}  // namespace

Result<std::string> Engine::create_exec(const std::string& name, const ExecOrder& order) const {
  json::object body = {{"AttachStdin", true}, {"AttachStdout", true},        {"AttachStderr", true},
                       {"Tty", true},         {"Cmd", texts(order.command)}, {"Env", texts(order.environment)}};
  if (!order.workdir.empty()) body["WorkingDir"] = order.workdir;
  const Result<json::value> answer = ask("POST", "/containers/" + name + "/exec", json::serialize(body));
  if (!answer.ok()) return answer.error();
  const json::value* id = answer->is_object() ? answer->get_object().if_contains("Id") : nullptr;
  if (!id || !id->is_string()) return unavailable("engine-refused", "the container engine names no process");
  return std::string(id->get_string());
}

Result<int> Engine::start_exec(const std::string& id) const {
  const Error silent =
      unavailable("engine-unreachable", fmt::format("the container engine at {} does not answer", socket_));
  const int connection = connect_to(socket_, patience_);
  if (connection < 0) return silent;
  const std::string body = R"({"Detach":false,"Tty":true})";
  const std::string request = fmt::format(
      "POST /v1.41/exec/{}/start HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\nConnection: Upgrade\r\n"
      "Upgrade: tcp\r\nContent-Length: {}\r\n\r\n{}",
      id, body.size(), body);
  const bool sent =
      ::send(connection, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size());
  const std::string head = sent ? read_head(connection) : "";
  if (head.starts_with("HTTP/1.1 101") || head.starts_with("HTTP/1.1 200")) return connection;
  ::close(connection);
  if (head.empty()) return silent;
  return unavailable("engine-refused", "the container engine says: " + head.substr(0, head.find('\r')));
}

Result<ExecState> Engine::inspect_exec(const std::string& id) const {
  const Result<json::value> answer = ask("GET", "/exec/" + id + "/json");
  if (!answer.ok()) return answer.error();
  ExecState state;
  const json::object* object = answer->if_object();
  const json::value* runs = object ? object->if_contains("Running") : nullptr;
  const json::value* pid = object ? object->if_contains("Pid") : nullptr;
  const json::value* code = object ? object->if_contains("ExitCode") : nullptr;
  state.runs = runs && runs->is_bool() && runs->get_bool();
  if (pid && pid->is_int64()) state.pid = pid->get_int64();
  if (code && code->is_int64()) state.exit_code = static_cast<int>(code->get_int64());
  return state;
}

Status Engine::resize_exec(const std::string& id, int columns, int rows) const {
  const auto answer = ask("POST", fmt::format("/exec/{}/resize?h={}&w={}", id, rows, columns));
  return answer.ok() ? Status() : answer.error();
}

}  // namespace sl::container
