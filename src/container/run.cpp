#include "container/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "container/engine.h"
#include "container/folders.h"
#include "container/order.h"

namespace sl::container {
namespace {

namespace json = boost::json;

constexpr const char* inside = "/.schedulearn";  // where the container sees what is ours
constexpr int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::int64_t files_max = 1 << 20;
constexpr int mark_looks = 200;
constexpr useconds_t mark_interval_us = 10'000;
constexpr const char* tree_variable = "SCHEDULEARN_PROCESS_TREE";

// Whether nobody else has the lock; it is held until the file is closed.
int take_lock(const std::string& folder) {
  const int file = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  if (file >= 0) ::close(file);
  return -1;
}

std::string start_of(const std::string& path) {
  constexpr std::size_t bytes_max = 4096;
  std::string text(bytes_max, '\0');
  std::ifstream file(path);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

json::object mount(const std::string& from, const std::string& to, bool writable) {
  return {{"Type", "bind"}, {"Source", from}, {"Target", to}, {"ReadOnly", !writable}};
}

// At most what this process may have: an engine without special rights cannot raise it.
json::object limit(const char* name, __rlimit_resource_t resource, std::int64_t most) {
  rlimit limits{};
  ::getrlimit(resource, &limits);
  const auto number = [&](rlim_t value) {
    return value == RLIM_INFINITY ? most : std::min(most, static_cast<std::int64_t>(value));
  };
  return {{"Name", name}, {"Soft", number(limits.rlim_cur)}, {"Hard", number(limits.rlim_max)}};
}

class Run {
 public:
  Run(std::string folder, Order order) : folder_(std::move(folder)), order_(std::move(order)), engine_(order_.socket) {}

  Outcome whole() {
    if (Status begun = begin(); !begun.ok()) return failed(begun.error());
    Outcome outcome = wait();
    write_outcome(folder_, outcome);
    (void)engine_.remove(order_.name);  // else sweep() does
    return outcome;
  }

 private:
  Status begin();
  Status make_ready();
  Status offer_terminal();
  void hand_over_terminal();
  Status create();
  Result<json::object> body() const;
  Status look_at_first_process();
  Outcome wait();
  Outcome failed(const Error& error);
  std::string end_file() const { return folder_ + "/end"; }
  std::string terminal_file() const { return folder_ + "/terminal"; }

  std::string folder_;
  Order order_;
  Engine engine_;
  Account account_;
  std::vector<Bind> binds_;
  bool is_created_ = false;
  int process_ = -1;
  int door_ = -1;  // where the terminal is asked for; -1: it is not, or it has been given
};

// Its failure must be known before this program ends. What an engine creates all the same is left to sweep(): a container
// of that name may be a stranger's.
Outcome Run::failed(const Error& error) {
  if (is_created_) (void)engine_.remove(order_.name);
  Outcome outcome;
  const bool is_kind = error.code == "setup" || error.code == "image";
  outcome.failure_kind = is_kind ? error.code : "server_setup";
  outcome.failure_message = error.message;
  write_outcome(folder_, outcome);
  return outcome;
}

Status Run::begin() {
  if (Status ready = make_ready(); !ready.ok()) return ready;
  if (Status created = create(); !created.ok()) return created;
  is_created_ = true;
  if (Status started = engine_.start(order_.name); !started.ok()) return started;
  return look_at_first_process();
}

Status Run::make_ready() {
  if (::access(order_.init.c_str(), X_OK) != 0)  // some engines would make a folder of that name
    return unavailable("server_setup", "the first program of containers is missing: " + order_.init);
  Result<Account> account = account_of(order_.user, order_.allow_root);
  if (!account.ok()) return account.error();
  account_ = std::move(*account);
  Result<std::vector<Bind>> binds = resolve(order_.named_folders, order_.allowed, account_);
  if (!binds.ok()) return binds.error();
  binds_ = std::move(*binds);
  const int end = ::open(end_file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (end < 0) return unavailable("server_setup", "cannot write " + end_file() + ": " + std::strerror(errno));
  ::close(end);
  give(end_file(), account_);
  give(order_.output, account_);
  for (const OwnFolder& own : order_.own_folders) {
    if (own.writable) give(own.path, account_);
  }
  return order_.terminal ? offer_terminal() : Status();
}

Status Run::offer_terminal() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, "terminal", sizeof address.sun_path - 1);  // the folder's path may be too long for it
  ::unlink(terminal_file().c_str());
  door_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::chdir(folder_.c_str()) != 0 ||
      ::bind(door_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(door_, 1) != 0)
    return unavailable("server_setup", "cannot make " + terminal_file() + ": " + std::strerror(errno));
  give(terminal_file(), account_);
  return {};
}

void Run::hand_over_terminal() {
  const int client = ::accept4(door_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  char byte = 0;
  iovec bytes = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
  const int terminal = STDIN_FILENO;
  std::memcpy(CMSG_DATA(header), &terminal, sizeof terminal);
  (void)!::sendmsg(client, &message, MSG_NOSIGNAL);
  ::close(client);
  ::close(std::exchange(door_, -1));
}

Result<json::object> Run::body() const {
  json::array mounts = {mount(order_.init, std::string(inside) + "/init", false),
                        mount(folder_ + "/lock", std::string(inside) + "/lock", false),
                        mount(end_file(), std::string(inside) + "/end", true)};
  if (order_.terminal) mounts.push_back(mount(terminal_file(), std::string(inside) + "/terminal", true));
  for (const OwnFolder& own : order_.own_folders) mounts.push_back(mount(own.path, own.path, own.writable));
  mounts.push_back(mount(order_.output, order_.output, true));
  for (const Bind& bind : binds_) mounts.push_back(mount(bind.from, bind.to, bind.writable));
  json::object host = {
      {"Mounts", std::move(mounts)},
      {"NetworkMode", "host"},
      {"ShmSize", order_.shm_bytes},
      {"PidsLimit", order_.processes_max},
      {"CapDrop", {"ALL"}},
      {"SecurityOpt", {"no-new-privileges"}},
      {"LogConfig", {{"Type", "none"}}},
      {"Ulimits", {limit("nofile", RLIMIT_NOFILE, files_max), limit("nproc", RLIMIT_NPROC, order_.processes_max)}}};
  if (order_.memory_bytes) host["Memory"] = *order_.memory_bytes, host["MemorySwap"] = *order_.memory_bytes;
  if (order_.cpus) host["NanoCpus"] = static_cast<std::int64_t>(*order_.cpus * 1e9);
  if (!order_.cpu_set.empty()) host["CpusetCpus"] = order_.cpu_set;
  json::array groups;
  for (const gid_t group : account_.groups) groups.push_back(json::string(std::to_string(group)));
  host["GroupAdd"] = std::move(groups);
  if (!order_.gpu_uuids.empty()) {
    json::array ids;
    for (const std::string& uuid : order_.gpu_uuids) ids.push_back(json::string(uuid));
    host["DeviceRequests"] = {
        json::object{{"Driver", "nvidia"}, {"DeviceIDs", std::move(ids)}, {"Capabilities", {{"gpu"}}}}};
  }
  const char* device = order_.gpu_uuids.empty() ? "" : "/dev/nvidiactl";
  json::array command = {"run", order_.output, order_.workdir, device, order_.required};
  for (const std::string& word : order_.command) command.push_back(json::string(word));
  json::array environment;
  for (const std::string& entry : order_.environment) environment.push_back(json::string(entry));
  const char *mark = std::getenv(tree_variable), *kind = std::getenv("TERM");
  environment.push_back(json::string(std::string(tree_variable) + "=" + (mark ? mark : "")));
  if (order_.terminal && kind) environment.push_back(json::string(std::string("TERM=") + kind));
  return json::object{{"Image", order_.image_id},
                      {"Entrypoint", {std::string(inside) + "/init"}},
                      {"Cmd", std::move(command)},
                      {"Env", std::move(environment)},
                      {"User", fmt::format("{}:{}", account_.uid, account_.gid)},
                      {"Labels", {{agent_label, order_.agent}, {key_label, order_.key}, {folder_label, folder_}}},
                      {"HostConfig", std::move(host)}};
}

// One of this name that is ours was created for this attempt, by a request whose answer was lost: nothing but this
// program starts it.
Status Run::create() {
  const Result<json::object> wanted = body();
  if (!wanted.ok()) return wanted.error();
  Status created = engine_.create(order_.name, *wanted);
  if (created.ok() || created.error().code != "name-taken") return created;
  const Result<std::optional<State>> there = engine_.inspect(order_.name);
  if (!there.ok()) return there.error();
  if (there->has_value() && ((*there)->agent != order_.agent || (*there)->key != order_.key))
    return unavailable("server_setup", "a container that is not ours has the name " + order_.name);
  if (Status removed = engine_.remove(order_.name); !removed.ok()) return removed;
  return engine_.create(order_.name, *wanted);
}

// Whether the process has the mark. Empty: it has ended.
std::optional<bool> has_mark(int process, std::int64_t pid) {
  const char* mark = std::getenv(tree_variable);
  const std::string wanted = std::string(1, '\0') + tree_variable + "=" + (mark ? mark : "") + '\0';
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  pollfd ended = {process, POLLIN, 0};
  if (::poll(&ended, 1, 0) > 0) return std::nullopt;
  return ('\0' + environment).find(wanted) != std::string::npos;
}

// Nothing of it is left if it has ended already. It may still be about to become the program that has the mark.
Status Run::look_at_first_process() {
  const Result<std::optional<State>> state = engine_.inspect(order_.name);
  if (!state.ok()) return state.error();
  if (!state->has_value() || !(*state)->runs || (*state)->pid <= 0) return {};
  const std::int64_t pid = (*state)->pid;
  process_ = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (process_ < 0 && errno == ESRCH) return {};
  for (int look = 0; process_ >= 0 && look < mark_looks; ++look) {
    if (has_mark(process_, pid).value_or(true)) return {};
    ::usleep(mark_interval_us);
  }
  return unavailable("server_setup",
                     "the processes of its containers cannot be seen here: the container engine must run "
                     "on this machine, and the agent as root or as the engine's user");
}

Outcome Run::wait() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : passed_on) sigaddset(&signals, number);
  const int arrived = ::signalfd(-1, &signals, SFD_CLOEXEC);
  while (process_ >= 0) {
    pollfd waits[] = {{process_, POLLIN, 0}, {arrived, POLLIN, 0}, {door_, POLLIN, 0}};
    if (::poll(waits, std::size(waits), -1) < 0 && errno != EINTR) break;
    if ((waits[0].revents & POLLIN) != 0) break;
    signalfd_siginfo info{};
    if ((waits[1].revents & POLLIN) != 0 && ::read(arrived, &info, sizeof info) == sizeof info)
      ::syscall(SYS_pidfd_send_signal, process_, static_cast<int>(info.ssi_signo), nullptr, 0);
    if ((waits[2].revents & POLLIN) != 0) hand_over_terminal();
  }
  if (const auto end = read_end(start_of(end_file()), order_.memory_bytes)) return *end;
  Outcome outcome;
  const Result<std::optional<State>> state = engine_.inspect(order_.name);
  if (state.ok() && state->has_value() && (*state)->out_of_memory)
    return read_end("signal 9\noom_kills 1\n", order_.memory_bytes).value_or(outcome);
  outcome.failure_kind = "lost";
  outcome.failure_message = "its container was ended from outside, by the engine or by hand";
  return outcome;
}

// So that the job's session can have it. The kernel tells us by signals that we have lost it.
void leave_terminal() {
  ::signal(SIGHUP, SIG_IGN);
  ::ioctl(STDIN_FILENO, TIOCNOTTY);
  ::signal(SIGHUP, SIG_DFL);
}

}  // namespace

int run(const std::string& folder) {
  leave_terminal();
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : passed_on) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const Result<Order> order = read_order(folder);
  const int lock = order.ok() ? take_lock(folder) : -1;
  if (lock < 0) {
    std::fprintf(stderr, "schedulearn-container: %s is %s\n", folder.c_str(),
                 order.ok() ? "in use" : "no folder of an attempt");
    return 125;
  }
  const Outcome outcome = Run(folder, *order).whole();
  if (!outcome.failure_message.empty()) std::printf("schedulearn: %s\n", outcome.failure_message.c_str());
  std::fflush(stdout);
  if (outcome.signal) {
    ::signal(*outcome.signal, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, *outcome.signal);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(*outcome.signal);
  }
  return outcome.exit_code.value_or(125);
}

Result<int> sweep(const Engine& engine, const std::string& agent) {
  const Result<std::vector<Found>> all = engine.list(agent);
  if (!all.ok()) return all.error();
  int removed = 0;
  for (const Found& one : *all) {
    struct stat info {};
    const bool has_folder = ::stat(one.folder.c_str(), &info) == 0;
    const int lock = has_folder ? take_lock(one.folder) : -1;
    if (has_folder && lock < 0) continue;  // it is being run
    removed += engine.remove(one.id).ok() ? 1 : 0;
    if (lock >= 0) ::close(lock);
  }
  return removed;
}

}  // namespace sl::container
