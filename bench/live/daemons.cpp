#include "daemons.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "load.h"

extern char** environ;

namespace sl::bench {
namespace {

namespace fs = std::filesystem;

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

std::string make_folder() {
  std::string path = (fs::temp_directory_path() / "schedulearn-bench-XXXXXX").string();
  if (!::mkdtemp(path.data()))
    throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
  return path;
}

std::vector<std::string>& old_folders() {
  static std::vector<std::string> folders;
  return folders;
}

}  // namespace

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double wall_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void wait_until(double most_s, const std::function<bool()>& done, double pause_s) {
  for (const double end = now_s() + most_s; !done();) {
    if (now_s() > end) throw std::runtime_error("it took too long");
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
  }
}

Daemon::Daemon(const std::vector<std::string>& command, const std::string& log) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (::posix_spawnp(&pid_, arguments[0], &files, nullptr, arguments.data(), environ) != 0)
    throw std::runtime_error("cannot start " + command[0]);
  posix_spawn_file_actions_destroy(&files);
}

Daemon::Daemon(Daemon&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Daemon& Daemon::operator=(Daemon&& other) noexcept {
  kill();
  pid_ = std::exchange(other.pid_, -1);
  return *this;
}

void Daemon::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

double Daemon::resident_mib() const { return bench::resident_mib(pid_); }

double resident_mib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == "VmRSS:" && file >> kib) return kib / 1024;
  }
  return 0;
}

pid_t launcher_of(const Lab& lab) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find("schedulearn-launcher") != std::string::npos && line.find(lab.folder) != std::string::npos)
      return std::atoi(entry.path().filename().c_str());
  }
  return 0;
}

Lab::Lab(std::string program_) : program(std::move(program_)), folder(make_folder()), port(free_port()) {}

Lab::~Lab() {
  const std::size_t agents = daemons.size();
  daemons.clear();
  for (std::size_t i = 0; i < agents; ++i) {  // launchers outlive their agents
    if (const pid_t launcher = launcher_of(*this); launcher > 0) ::kill(launcher, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // one that is gone is not found again
  }
  old_folders().push_back(folder);
}

void remove_old_folders() {
  std::error_code ignored;
  for (const std::string& folder : old_folders()) fs::remove_all(folder, ignored);
}

void Lab::start_controller() {
  Daemon daemon(
      {program, "controller", "run", "--data", folder + "/controller", "--listen", "127.0.0.1:" + std::to_string(port)},
      folder + "/controller.log");
  daemons.empty() ? daemons.push_back(std::move(daemon)) : void(daemons[0] = std::move(daemon));
}

void Lab::start_agent(int gpus, const std::string& name) {
  const std::string data = folder + "/" + (name == "bench" ? "agent" : name);
  daemons.emplace_back(
      std::vector<std::string>{program, "agent", "run", "--join", "http://127.0.0.1:" + std::to_string(port), "--data",
                               data, "--name", name, "--simulate", std::to_string(gpus)},
      data + ".log");
}

void Lab::wait_for_agent(std::size_t servers) {
  Connection connection(port);
  for (double end = now_s() + 30; now_s() < end;) {
    if (count_of(connection.get("/api/v1/servers"), "\"state\":\"up\"") >= servers) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error("no agent has joined in 30 s");
}

}  // namespace sl::bench
