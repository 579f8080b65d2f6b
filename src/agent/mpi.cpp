#include "agent/mpi.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include "agent/proc_file.h"
#include "agent/processes.h"
#include "agent/wait_status.h"

namespace sl::agent {
namespace {

constexpr int cannot_run = 127;
constexpr std::size_t order_max = 1 << 20;
constexpr auto connecting_max = std::chrono::seconds(60);            // the other parts start at the same time
constexpr auto calling_max = std::chrono::seconds(10);               // from its connection to its last word
constexpr std::size_t callers_max = 32;                              // at once: only one of them can be mpirun's
constexpr const char* output_variable = "SCHEDULEARN_MPI_OUTPUT";    // of lead or serve, for its ranks
constexpr const char* program_variable = "SCHEDULEARN_MPI_PROGRAM";  // this one, for what starts ranks on its server
constexpr const char* codes_variable = "SCHEDULEARN_MPI_CODES";      // where ranks write what they do not tell

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}
void put(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::string self() { return "/proc/" + std::to_string(::getpid()) + "/exe"; }

std::string part_name(std::size_t rank) { return "part-" + std::to_string(rank); }

// ---- a request to stop ----

volatile std::sig_atomic_t stop_requests = 0;
void on_stop(int) { stop_requests = stop_requests + 1; }

constexpr int stop_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

void catch_stop_requests() {
  struct sigaction action {};
  action.sa_handler = on_stop;  // no SA_RESTART: it interrupts what waits
  for (const int number : stop_signals) ::sigaction(number, &action, nullptr);
}

void on_child(int) {}

// They, and the ends of children, interrupt nothing but wait_readable().
void hold_stop_requests() {
  catch_stop_requests();
  ::signal(SIGCHLD, on_child);
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGCHLD);
  for (const int number : stop_signals) sigaddset(&held, number);
  ::sigprocmask(SIG_BLOCK, &held, nullptr);
}

// False: interrupted. Without a descriptor (-1) until it is.
bool wait_readable(int descriptor) {
  pollfd readable{descriptor, POLLIN, 0};
  sigset_t none;
  sigemptyset(&none);
  return ::ppoll(&readable, descriptor < 0 ? 0 : 1, nullptr, &none) > 0;
}

// Of a process that is to run another program.
void forget_stop_requests() {
  for (const int number : stop_signals) ::signal(number, SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool is_rank(pid_t pid) {
  const std::string words = read_proc_file("/proc/" + std::to_string(pid) + "/cmdline");
  return words.find(std::string("\0mpi\0rank\0", 10)) != std::string::npos;
}

bool descends_from(pid_t pid, pid_t ancestor, const std::map<pid_t, ProcessFacts>& all) {
  for (auto at = all.find(pid); at != all.end() && at->second.parent != 0; at = all.find(at->second.parent)) {
    if (at->second.parent == ancestor) return true;
  }
  return false;
}

// Every rank that was started below this process leads a group of its own, and so does what it runs.
void stop_ranks_here() {
  const auto all = all_processes();
  for (const auto& [pid, facts] : all) {
    if (!facts.is_zombie && descends_from(pid, ::getpid(), all) && is_rank(pid)) ::kill(-pid, SIGTERM);
  }
}

// Waits until the child has ended, and passes requests to stop to the ranks. `also`: given up, if not -1, together with
// the child when the other end closes it.
int wait_for(pid_t child, int also = -1) {
  int passed = 0, status = 0;
  while (true) {
    if (passed != stop_requests) passed = stop_requests, stop_ranks_here();
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return exit_code_of(status);
    if (ended < 0 && errno != EINTR) return cannot_run;
    char none = 0;
    if (wait_readable(also) && ::recv(also, &none, 1, MSG_DONTWAIT) <= 0) ::kill(-child, SIGKILL), also = -1;
  }
}

// In a process group of its own, so that requests to stop do not reach it. -1: it cannot be started.
pid_t start(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  const std::vector<char*> arguments = pointers(words);
  const pid_t child = ::fork();
  if (child != 0) return child < 0 ? child : (::setpgid(child, child), child);
  ::setpgid(0, 0);
  forget_stop_requests();
  ::execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(cannot_run);
}

// What the ranks on this server need to know of the process that watches them.
void tell_ranks() {
  put(program_variable, self());
  put(output_variable, "/proc/" + std::to_string(::getpid()) + "/fd/1");
}

// ---- lead ----

int lowest_failure(const std::string& codes) {
  std::ifstream file(codes);
  int result = 0;
  for (int code = 0; result == 0 && file >> code;) result = code;
  return result;
}

int lead(char** arguments) {
  const int processes = arguments[0] ? std::atoi(arguments[0]) : 0;
  const std::string told = variable(mpi_parts_variable);
  const std::vector<MpiPart> parts = parse_mpi_parts(told);
  if (!told.empty() && parts.empty()) return std::fputs("mpi lead: malformed parts\n", stderr), 2;
  if (processes < 1 || !arguments[1]) return std::fputs("mpi lead: COUNT COMMAND...\n", stderr), 2;
  std::vector<std::string> command =
      mpirun_words(self(), parts, processes, variable(mpi_interface_variable), ::geteuid() == 0);
  for (char** word = arguments + 1; *word; ++word) command.emplace_back(*word);
  const std::string codes = variable("SCHEDULEARN_TMP_DIR") + "/mpi_codes";
  ::unlink(codes.c_str());
  put(codes_variable, codes);
  tell_ranks();
  hold_stop_requests();
  const pid_t child = start(command);
  if (child < 0) return std::perror("mpirun"), cannot_run;
  const int code = wait_for(child);
  return code == 0 ? lowest_failure(codes) : code;
}

// ---- connect and serve ----

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

int connect_once(const MpiPart& part) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(part.port));
  if (::inet_pton(AF_INET, part.address.c_str(), &address.sin_addr) != 1) return errno = EADDRNOTAVAIL, -1;
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor >= 0 && ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return descriptor;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  errno = error;
  return -1;
}

// mpirun separates the words of a command line for a shell by blanks.
std::string joined(char** words) {
  std::string line;
  for (; *words; ++words) line += (line.empty() ? "" : " ") + std::string(*words);
  return line;
}

void use_own_tmp() {
  const std::string tmp = variable("SCHEDULEARN_TMP_DIR");
  if (!tmp.empty()) put("TMPDIR", tmp);  // orted keeps files in it; another part may be on this machine
}

int connect(char** arguments) {
  const std::vector<MpiPart> parts = parse_mpi_parts(variable(mpi_parts_variable));
  const std::string name = arguments[0] ? arguments[0] : "";
  std::size_t rank = 0;
  while (rank < parts.size() && part_name(rank) != name) ++rank;
  if (rank == parts.size() || !arguments[1]) return std::fprintf(stderr, "mpi connect: no part %s\n", name.c_str()), 2;
  const std::string line = joined(arguments + 1);
  if (rank == 0) {
    use_own_tmp();
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    return cannot_run;
  }
  const MpiPart& part = parts[rank];
  const auto until = std::chrono::steady_clock::now() + connecting_max;
  int descriptor = connect_once(part);
  while (descriptor < 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    descriptor = connect_once(part);
  }
  const Socket socket(descriptor);
  std::string answer;
  if (descriptor < 0 || !send_all(descriptor, part.secret + "\n" + line + "\n"))
    return std::fprintf(stderr, "mpi: cannot reach %s port %d: %s\n", part.address.c_str(), part.port,
                        std::strerror(errno)),
           cannot_run;
  char c = 0;
  ssize_t got = 0;
  while ((got = ::recv(descriptor, &c, 1, 0)) == 1 || (got < 0 && errno == EINTR)) {
    if (got == 1) answer += c;
  }
  return answer.empty() ? cannot_run : std::atoi(answer.c_str());
}

int listen_on(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(descriptor, 8) == 0)
    return descriptor;
  std::perror("mpi: cannot listen");
  ::close(descriptor);
  return -1;
}

// Takes the same time wherever they differ.
bool are_equal(const std::string& a, const std::string& b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) differ |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differ == 0;
}

// Who has connected and has not yet said, each on a line, the secret and what is to be run.
struct Caller {
  explicit Caller(int descriptor) : socket(descriptor) {}
  Socket socket;
  std::string said;
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() + calling_max;
};

enum class Heard { too_little, order, nonsense };

// Reads what has come. `order`: the command line, once all of it has.
Heard listen_to(Caller& caller, const std::string& secret, std::string& order) {
  char piece[4096];
  const ssize_t got = ::recv(caller.socket.get(), piece, sizeof piece, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::too_little;
  if (got <= 0) return Heard::nonsense;
  caller.said.append(piece, static_cast<std::size_t>(got));
  const std::size_t word = caller.said.find('\n');
  if (word == std::string::npos) return caller.said.size() > secret.size() ? Heard::nonsense : Heard::too_little;
  if (!are_equal(caller.said.substr(0, word), secret)) return Heard::nonsense;
  const std::size_t end = caller.said.find('\n', word + 1);
  if (end == std::string::npos) return caller.said.size() > order_max ? Heard::nonsense : Heard::too_little;
  order = caller.said.substr(word + 1, end - word - 1);
  return Heard::order;
}

// The first caller who knows the secret, and its order; several are heard at once, so that a silent one delays nobody.
// Nothing: it is to stop.
std::unique_ptr<Caller> hear(int door, const std::string& secret, std::string& order) {
  std::vector<std::unique_ptr<Caller>> callers;
  while (true) {
    std::vector<pollfd> waiting{{door, POLLIN, 0}};
    for (const auto& caller : callers) waiting.push_back({caller->socket.get(), POLLIN, 0});
    sigset_t none;
    sigemptyset(&none);
    const timespec often{1, 0};
    if (::ppoll(waiting.data(), waiting.size(), &often, &none) < 0 && stop_requests > 0) return nullptr;
    for (std::size_t i = waiting.size() - 1; i > 0; --i) {
      std::unique_ptr<Caller>& caller = callers[i - 1];
      const Heard heard = waiting[i].revents == 0 ? Heard::too_little : listen_to(*caller, secret, order);
      if (heard == Heard::order) return std::move(caller);
      if (heard == Heard::nonsense || std::chrono::steady_clock::now() > caller->until)
        callers.erase(callers.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
    if (waiting[0].revents == 0) continue;
    const int descriptor = ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) callers.push_back(std::make_unique<Caller>(descriptor));
    if (callers.size() > callers_max) callers.erase(callers.begin());  // whoever has said nothing for longest
  }
}

int serve(char** arguments) {
  const std::string secret = variable(mpi_secret_variable);
  const Socket door(secret.empty() || !arguments[0] ? -1 : listen_on(std::atoi(arguments[0])));
  if (door.get() < 0) return cannot_run;
  ::unsetenv(mpi_secret_variable);
  use_own_tmp();
  tell_ranks();
  hold_stop_requests();
  std::string order;
  const std::unique_ptr<Caller> caller = hear(door.get(), secret, order);
  if (!caller) return 128 + SIGTERM;
  const pid_t child = start({"/bin/sh", "-c", with_agent_of(self(), order)});
  if (child < 0) return cannot_run;
  const int code = wait_for(child, caller->socket.get());
  send_all(caller->socket.get(), std::to_string(code) + "\n");
  return 0;  // how it ended is for mpirun to say
}

// ---- rank ----

[[noreturn]] void become(char** arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  forget_stop_requests();
  const int output = ::open(variable(output_variable).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (output >= 0) ::dup2(output, 1), ::dup2(output, 2);
  put("RANK", variable("OMPI_COMM_WORLD_RANK"));
  put("LOCAL_RANK", variable("OMPI_COMM_WORLD_LOCAL_RANK"));
  const std::string interface = variable(mpi_interface_variable);
  if (!interface.empty()) put("OMPI_MCA_btl_tcp_if_include", interface);
  // Agents on one machine: each part takes itself for a host, and shared memory would have the same names in both.
  if (interface == "lo") put("OMPI_MCA_btl_vader_backing_directory", variable("SCHEDULEARN_TMP_DIR"));
  for (const char* name : {mpi_parts_variable, program_variable, output_variable, codes_variable}) ::unsetenv(name);
  ::execvp(arguments[0], arguments);
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(cannot_run);
}

int rank(char** arguments) {
  if (!arguments[0]) return 2;
  catch_stop_requests();
  const pid_t child = ::fork();
  if (child == 0) become(arguments);
  if (child < 0) return std::perror("cannot start a process"), cannot_run;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = exit_code_of(status);
  if (code == 0 || stop_requests == 0) return code;
  const std::string codes = variable(codes_variable);
  const int file = codes.empty() ? -1 : ::open(codes.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0) ::dprintf(file, "%d\n", code), ::close(file);
  return 0;
}

}  // namespace

std::string to_text(const std::vector<MpiPart>& parts) {
  std::ostringstream text;
  for (const MpiPart& part : parts)
    text << (&part == &parts.front() ? "" : ",") << part.address << ' ' << part.port << ' ' << part.secret << ' '
         << part.processes;
  return text.str();
}

std::vector<MpiPart> parse_mpi_parts(const std::string& text) {
  std::vector<MpiPart> parts;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) {
    std::istringstream words(one);
    MpiPart part;
    if (!(words >> part.address >> part.port >> part.secret >> part.processes) || part.processes < 1) return {};
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<std::string> mpirun_words(const std::string& self, const std::vector<MpiPart>& parts, int processes,
                                      const std::string& interface, bool is_root) {
  std::string hosts;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    hosts += (rank == 0 ? "" : ",") + part_name(rank) + ":" + std::to_string(parts[rank].processes);
  std::vector<std::string> words = {"mpirun"};
  const auto add = [&](std::initializer_list<const char*> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (is_root) add({"--allow-run-as-root"});
  add({"--bind-to", "none", "--map-by", "slot", "-np"});
  words.push_back(std::to_string(processes));
  words.push_back("--host");
  words.push_back(parts.empty() ? "localhost:" + std::to_string(processes) : hosts);
  if (parts.empty()) {
    add({"--mca", "plm", "isolated"});  // never ssh
  } else {
    add({"--leave-session-attached", "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_agent"});
    words.push_back(self + " mpi connect");
    if (interface == "lo") add({"--mca", "oob_tcp_if_include", "lo"});
  }
  add({"--mca", "odls_base_sigkill_timeout", "2"});
  const std::string rank = std::string("exec \"$") + program_variable + "\" mpi rank \"$@\"";  // its own on each server
  words.insert(words.end(), {"/bin/sh", "-c", rank, "rank"});
  return words;
}

std::string with_agent_of(const std::string& self, std::string line) {
  constexpr std::string_view begin = "/proc/", end = "/exe mpi connect";
  for (std::size_t at = 0; (at = line.find(begin, at)) != std::string::npos; at += begin.size()) {
    const std::size_t number = at + begin.size();
    const std::size_t behind = line.find_first_not_of("0123456789", number);
    if (behind == std::string::npos || behind == number || line.compare(behind, end.size(), end) != 0) continue;
    line.replace(at, behind - at + std::string_view("/exe").size(), self);
  }
  return line;
}

int run_mpi(char** arguments) {
  const std::string_view verb = arguments[0] ? arguments[0] : "";
  if (verb == "lead") return lead(arguments + 1);
  if (verb == "serve") return serve(arguments + 1);
  if (verb == "connect") return connect(arguments + 1);
  if (verb == "rank") return rank(arguments + 1);
  return std::fputs("schedulearn-launcher mpi lead|serve|connect|rank\n", stderr), 2;
}

}  // namespace sl::agent
