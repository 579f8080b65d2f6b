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
#include "container/run_logic.h"
#include "wire/job_spec.h"

namespace sl::container {
namespace {

namespace json = boost::json;

constexpr const char* inside = "/.schedulearn";  // where the container sees what is ours
constexpr int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::int64_t files_max = 1 << 20;
// It counts all processes of the user on the machine, so no less however few the job may have: PidsLimit is that of the
// container. An engine without special rights may not be able to give more.
constexpr std::int64_t user_processes_least = wire::processes_default;
constexpr int mark_looks = 200;
constexpr useconds_t mark_interval_us = 10'000;
constexpr Duration removal_patience = Duration::whole_seconds(10);
constexpr const char* tree_variable = "SCHEDULEARN_PROCESS_TREE";

// -1: somebody has it. It is held until the file is closed.
int take_lock(const std::string& folder) {
  const int file = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::ftruncate(file, 0) == 0) return file;
  if (file >= 0) ::close(file);
  return -1;
}

// As the first process of a container asks: so neither takes the other for who holds the lock.
bool is_locked(const std::string& folder) {
  const int file = ::open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_held = file >= 0 && ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (file >= 0) ::close(file);
  return is_held;
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
  Run(std::string folder, int lock, int signals, Order order)
      : folder_(std::move(folder)),
        lock_(lock),
        signals_(signals),
        order_(std::move(order)),
        container_(order_.name),
        logic_(order_),
        engine_(order_.socket) {}

  Outcome whole() {
    while (logic_.next() != Step::over) {
      const auto asked = logic_.has_begun() ? std::nullopt : taken_signal();
      asked ? logic_.on_signal(*asked) : perform(logic_.next());
    }
    return logic_.outcome();
  }

 private:
  void perform(Step step);
  Status make_ready();
  Status offer_terminal();
  void hand_over_terminal();
  json::object body() const;
  Status create();
  Status remove();
  Sight look_at_first_process();
  Status begin() const;
  std::string wait();
  std::optional<int> taken_signal() const;
  std::string end_file() const { return folder_ + "/end"; }
  std::string terminal_file() const { return folder_ + "/terminal"; }

  std::string folder_;
  int lock_;
  int signals_;  // a signalfd of what is passed on
  Order order_;
  std::string container_;  // its id; until it is known, its name
  RunLogic logic_;
  Engine engine_;
  Account account_;
  std::vector<Bind> binds_;
  int process_ = -1;
  int door_ = -1;  // where the terminal is asked for; -1: it is not, or it has been given
};

void Run::perform(Step step) {
  switch (step) {
    case Step::prepare:
      return logic_.on_done(make_ready());
    case Step::create:
      return logic_.on_done(create());
    case Step::inspect_taken:
    case Step::inspect_started:
    case Step::inspect_ended:
      return logic_.on_inspected(engine_.inspect(container_));
    case Step::remove_taken:
      return logic_.on_done(engine_.remove(container_));
    case Step::start:
      return logic_.on_done(engine_.start(container_));
    case Step::look:
      return logic_.on_look(look_at_first_process());
    case Step::begin:
      return logic_.on_done(begin());
    case Step::wait:
      return logic_.on_ended(wait());
    case Step::report:
      write_outcome(folder_, logic_.outcome());
      return logic_.on_done({});
    case Step::remove:
      return logic_.on_done(remove());
    case Step::over:
      return;
  }
}

Status Run::make_ready() {
  if (::access(order_.init.c_str(), X_OK) != 0)  // some engines would make a folder of that name
    return unavailable("server_setup", "the first program of containers is missing: " + order_.init);
  Result<Account> account = account_of(order_.user, order_.allow_root);
  if (!account.ok()) return account.error();
  account_ = std::move(*account);
  std::vector<std::string> ours = {folder_, order_.init, order_.output};
  for (const OwnFolder& own : order_.own_folders) ours.push_back(own.path);
  for (const std::string& path : ours) {
    if (Status status = check_mountable("the agent's folder", path); !status.ok()) return status;
  }
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

json::object Run::body() const {
  json::array mounts = {mount(order_.init, init_inside, false),
                        mount(folder_ + "/lock", std::string(inside) + "/lock", false),
                        mount(end_file(), std::string(inside) + "/end", true)};
  if (order_.terminal) mounts.push_back(mount(terminal_file(), std::string(inside) + "/terminal", true));
  for (const OwnFolder& own : order_.own_folders) mounts.push_back(mount(own.path, own.path, own.writable));
  mounts.push_back(mount(order_.output, order_.output, true));
  for (const Bind& bind : binds_) mounts.push_back(mount(bind.from, bind.to, bind.writable));
  const std::int64_t user_processes = std::max(user_processes_least, order_.processes_max);
  json::object host = {
      {"Mounts", std::move(mounts)},
      {"NetworkMode", "host"},
      {"ShmSize", order_.shm_bytes},
      {"PidsLimit", order_.processes_max + 1},  // and the first process, which is ours
      {"CapDrop", {"ALL"}},
      {"SecurityOpt", {"no-new-privileges"}},
      {"LogConfig", {{"Type", "none"}}},
      {"Ulimits", {limit("nofile", RLIMIT_NOFILE, files_max), limit("nproc", RLIMIT_NPROC, user_processes)}}};
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
                      {"Entrypoint", {init_inside}},
                      {"Cmd", std::move(command)},
                      {"Env", std::move(environment)},
                      {"User", fmt::format("{}:{}", account_.uid, account_.gid)},
                      {"Healthcheck", {{"Test", {"NONE"}}}},  // it would run beside the job
                      {"Labels", {{agent_label, order_.agent}, {key_label, order_.key}, {folder_label, folder_}}},
                      {"HostConfig", std::move(host)}};
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

// It may still be about to become the program that has the mark.
Sight Run::look_at_first_process() {
  process_ = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(logic_.pid()), 0));
  if (process_ < 0) return errno == ESRCH ? Sight::ended : Sight::unmarked;
  for (int look = 0; look < mark_looks; ++look) {
    const auto marked = has_mark(process_, logic_.pid());
    if (!marked) return Sight::ended;
    if (*marked) return Sight::marked;
    ::usleep(mark_interval_us);
  }
  return Sight::unmarked;
}

// The first process reads it where it looks for the lock.
Status Run::begin() const {
  constexpr std::string_view word = "begin\n";
  if (::pwrite(lock_, word.data(), word.size(), 0) == static_cast<ssize_t>(word.size())) return {};
  return unavailable("server_setup", "cannot write " + folder_ + "/lock: " + std::strerror(errno));
}

Status Run::create() {
  Result<std::string> created = engine_.create(order_.name, body());
  if (!created.ok()) return created.error();
  container_ = std::move(*created);
  return {};
}

// The end of the job does not wait for an engine that hangs.
Status Run::remove() {
  const Status removed = Engine(order_.socket, removal_patience).remove(container_);
  if (removed.ok()) ::unlink(end_file().c_str());  // so the agent knows that nothing is left
  return removed;
}

std::string Run::wait() {
  while (process_ >= 0) {
    pollfd waits[] = {{process_, POLLIN, 0}, {signals_, POLLIN, 0}, {door_, POLLIN, 0}};
    if (::poll(waits, std::size(waits), -1) < 0 && errno != EINTR) break;
    if ((waits[0].revents & POLLIN) != 0) break;
    if (const auto number = taken_signal()) {
      logic_.on_signal(*number);
      ::syscall(SYS_pidfd_send_signal, process_, *number, nullptr, 0);
    }
    if ((waits[2].revents & POLLIN) != 0) hand_over_terminal();
  }
  return start_of(end_file());
}

std::optional<int> Run::taken_signal() const {
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
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
    return failed_code;
  }
  const Outcome outcome = Run(folder, lock, ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), *order).whole();
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
  return outcome.exit_code.value_or(failed_code);
}

Status sweep(const Engine& engine, const std::string& agent) {
  const Result<std::vector<Found>> all = engine.list(agent);
  if (!all.ok()) return all.error();
  Status done;
  for (const Found& one : *all) {
    if (is_locked(one.folder)) continue;
    if (Status removed = engine.remove(one.id); !removed.ok()) done = std::move(removed);
  }
  return done;
}

}  // namespace sl::container
