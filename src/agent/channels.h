// Connects users to what runs here (controller/channels.h): to the ports that attempts publish, and to their shells, which
// a program of their own serves (src/terminal). The bytes go over a connection of their own to the controller, and only
// through here; each side is read as fast as the other takes it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/agent_logic.h"
#include "agent/attempt_folders.h"
#include "agent/launcher_wire.h"
#include "net/byte_stream.h"
#include "net/event_loop.h"

namespace sl::agent {

struct ChannelSettings {
  std::string controller_url;
  std::function<std::string()> token;  // as in AgentSettings
  std::string data_dir;
  double shell_keep_s = 3600;  // a shell that nobody has been connected to for so long is ended
};

class Channels {
 public:
  struct Ports {
    std::function<void(const wire::ChannelRefused&)> refuse;
    // Has the launcher start this program among the processes of the attempt.
    std::function<void(const std::string& key, const Fields& arguments)> start;
  };
  Channels(net::EventLoop& loop, ChannelSettings settings, const AgentLogic& logic, const AttemptFolders& folders,
           Ports ports);

  void open(const wire::OpenChannel& wanted);
  // Its command then runs at a terminal to which the job's user connects like to a shell.
  void put_at_terminal(const std::string& user, LaunchOrder& launch) const;
  // The attempt has ended, and its shells with it.
  void on_end(const std::string& key);
  // Nothing runs but these.
  void keep_only(const std::function<bool(const std::string& key)>& is_held);

 private:
  void open_port(const wire::OpenChannel& wanted, const std::string& key);
  void open_shell(const wire::OpenChannel& wanted, const std::string& key, int tries);
  void start_terminal(const std::string& key);
  void dial(const wire::OpenChannel& wanted, std::shared_ptr<net::ByteStream> target);
  std::string container_folder(const std::string& key) const;
  std::string terminal_folder(const std::string& key) const { return settings_.data_dir + "/terminals/" + key; }
  bool runs(const std::string& key) const;

  net::EventLoop& loop_;
  ChannelSettings settings_;
  const AgentLogic& logic_;
  const AttemptFolders& folders_;
  Ports ports_;
  std::string program_;
  std::map<std::string, std::shared_ptr<net::EventLoop::Timer>> waiting_;  // for terminals that have been started
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace sl::agent
