#include "agent/channels.h"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "agent/files.h"
#include "agent/launcher_link.h"
#include "agent/published_ports.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* socket_name = "socket";        // in the folder of a terminal
constexpr const char* own_terminal = "/is_the_job";  // there if the attempt's first process serves it
constexpr Duration terminal_interval = Duration::milliseconds(50);
constexpr int terminal_looks_max = 160;  // less than the 10 s that a client waits for its answer

std::string channel_url(std::string url, const std::string& channel) {
  if (url.starts_with("http")) url.replace(0, 4, "ws");
  while (url.ends_with('/')) url.pop_back();
  return url + "/api/v1/agent/channels/" + channel;
}

}  // namespace

Channels::Channels(net::EventLoop& loop, ChannelSettings settings, const AgentLogic& logic,
                   const AttemptFolders& folders, Ports ports)
    : loop_(loop),
      settings_(std::move(settings)),
      logic_(logic),
      folders_(folders),
      ports_(std::move(ports)),
      program_(program_folder() + "/schedulearn-terminal") {
  ::mkdir((settings_.data_dir + "/terminals").c_str(), 0700);
}

bool Channels::runs(const std::string& key) const {
  const auto at = logic_.attempts().find(key);
  return at != logic_.attempts().end() && at->second.report.state == "running" && !at->second.waiting;
}

void Channels::open(const wire::OpenChannel& wanted) {
  const std::string key = key_of(wanted.incarnation);
  if (!runs(key)) return ports_.refuse({wanted.channel, "job-not-running", ""});
  wanted.port.empty() ? open_shell(wanted, key, 0) : open_port(wanted, key);
}

void Channels::open_port(const wire::OpenChannel& wanted, const std::string& key) {
  const PublishedPorts ports = read_ports(folders_.of_attempt(key));
  const auto port = ports.find(wanted.port);
  if (port == ports.end())
    return ports_.refuse({wanted.channel, "port-closed", "the job has no port " + wanted.port + " on its server"});
  const std::weak_ptr<int> alive = alive_;
  net::connect_to_port(loop_, port->second, [this, alive, wanted, number = port->second](auto stream) {
    if (alive.expired()) return;
    if (stream) return dial(wanted, std::move(stream));
    ports_.refuse({wanted.channel, "port-closed",
                   "nothing listens on port " + std::to_string(number) + " (" + wanted.port + ") of job " +
                       std::to_string(wanted.incarnation.job) + " yet"});
  });
}

// The first look finds the terminal if there is one already.
void Channels::open_shell(const wire::OpenChannel& wanted, const std::string& key, int looks) {
  const std::weak_ptr<int> alive = alive_;
  net::connect_to_socket(loop_, terminal_folder(key), socket_name, [this, alive, wanted, key, looks](auto stream) {
    if (alive.expired()) return;
    if (stream) {
      waiting_.erase(wanted.channel);
      return dial(wanted, std::move(stream));
    }
    if (!runs(key) || looks == terminal_looks_max) {
      waiting_.erase(wanted.channel);
      return ports_.refuse({wanted.channel, runs(key) ? "shell-failed" : "job-not-running",
                            "the program that serves shells does not start on the job's server"});
    }
    if (looks == 0) start_terminal(key);
    waiting_[wanted.channel] =
        loop_.after(terminal_interval, [this, wanted, key, looks] { open_shell(wanted, key, looks + 1); });
  });
}

void Channels::put_at_terminal(const std::string& user, LaunchOrder& launch) const {
  const std::string folder = terminal_folder(launch.key);
  ::mkdir(folder.c_str(), 0700);
  std::ofstream(folder + own_terminal) << "";
  if (launch.required.empty()) launch.required = launch.arguments.front();
  const Fields served = {
      program_, folder, socket_name, std::to_string(settings_.shell_keep_s), container_folder(launch.key), user};
  launch.arguments.insert(launch.arguments.begin(), served.begin(), served.end());
}

void Channels::start_terminal(const std::string& key) {
  std::error_code missing;
  if (fs::exists(terminal_folder(key) + own_terminal, missing)) return;
  ::mkdir(terminal_folder(key).c_str(), 0700);
  ports_.start(key, {program_, terminal_folder(key), socket_name, std::to_string(settings_.shell_keep_s),
                     container_folder(key)});
}

// Empty: the attempt is not in a container.
std::string Channels::container_folder(const std::string& key) const {
  const std::string folder = settings_.data_dir + "/containers/" + key;
  std::error_code failed;
  return fs::exists(folder + "/order.json", failed) ? folder : "";
}

void Channels::dial(const wire::OpenChannel& wanted, std::shared_ptr<net::ByteStream> target) {
  net::Headers headers;
  if (const std::string token = settings_.token(); !token.empty())
    headers.emplace_back("Authorization", "Bearer " + token);
  net::connect_switched(loop_, channel_url(settings_.controller_url, wanted.channel), headers, "schedulearn-channel",
                        [target = std::move(target)](std::shared_ptr<net::ByteStream> stream) {
                          if (!stream) return target->close();  // whoever wanted it has gone
                          net::join(std::move(stream), target, nullptr);
                        });
}

void Channels::on_end(const std::string& key) {
  if (!is_there(terminal_folder(key))) return;  // as of most attempts
  std::error_code ignored;
  fs::remove_all(terminal_folder(key), ignored);
}

void Channels::keep_only(const std::function<bool(const std::string& key)>& is_held) {
  std::error_code failed;
  for (fs::directory_iterator at(settings_.data_dir + "/terminals", failed), end; !failed && at != end;
       at.increment(failed)) {
    if (!is_held(at->path().filename())) fs::remove_all(at->path(), failed);
  }
}

}  // namespace sl::agent
