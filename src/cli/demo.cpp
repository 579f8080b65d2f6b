#include "cli/demo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/commands.h"
#include "cli/job_order.h"
#include "cli/render.h"
#include "cli/surroundings.h"
#include "cli/top.h"

namespace sl::cli {
namespace {

constexpr auto look_every_time = std::chrono::milliseconds(200);
constexpr auto patience_to_start = std::chrono::seconds(30), patience_to_end = std::chrono::seconds(5);

struct DemoJob {
  const char* name;
  int gpus, steps;
};
// More than fit at once on two servers with four GPUs, so that some wait.
constexpr DemoJob demo_jobs[] = {{"resnet50", 2, 60}, {"bert-base", 4, 45}, {"mnist", 1, 15},   {"gpt-small", 4, 40},
                                 {"vit-tiny", 2, 30}, {"sweep-a", 1, 20},   {"sweep-b", 1, 25}, {"unet", 2, 20}};

// Of one server, once one has joined: 10 s at the latest.
int gpus_most(const Context& context) {
  constexpr int looks = 200;
  std::size_t most = 0;
  for (int look = 0; look < looks && most == 0 && interrupts() == 0; ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto servers = context.get("/api/v1/servers");
    if (!servers.ok()) break;
    for (const json::value& server : value_at(*servers, "items").get_array())
      most = std::max(most, value_at(server, "gpus").get_array().size());
  }
  return static_cast<int>(std::max<std::size_t>(most, 1));
}

json::object submission_of(const DemoJob& job, int gpus) {
  const std::string script = fmt::format(
      "for i in $(seq 1 {0}); do sleep 0.3; echo \"step $i of {0}\"; "
      "echo \"{{\\\"step\\\": $i, \\\"steps\\\": {0}, \\\"loss\\\": 0.$((99 - i))}}\" >> "
      "\"$SCHEDULEARN_METRICS_FILE\"; "
      "done",
      job.steps);
  return {{"name", job.name}, {"gpus", std::min(job.gpus, gpus)}, {"command", script}, {"workdir", "/"}};
}

// `up` as a process of its own, which ends with this one.
class Cluster {
 public:
  explicit Cluster(std::string folder) : folder_(std::move(folder)) {}
  ~Cluster() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Its address. Error "demo-failed", with what it said.
  Result<std::string> start(const std::string& simulate) {
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) run(simulate, parent);
    return process_ > 0 ? find_address() : failed("there can be no further process");
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string log() const { return folder_ + "/up.log"; }
  // Its output goes to a file, so that it can stop its jobs in peace when nobody reads it any more.
  [[noreturn]] void run(const std::string& simulate, pid_t parent) const {
    ::setpgid(0, 0);  // Ctrl-C is for the screen
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    const int file = ::open(log().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDOUT_FILENO), ::dup2(file, STDERR_FILENO);
    ::execl("/proc/self/exe", "schedulearn", "up", "--data", folder_.c_str(), "--simulate", simulate.c_str(),
            "--listen", "127.0.0.1:0", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  static Error failed(const std::string& said) {
    return unavailable("demo-failed", "the cluster of the demonstration did not start").note(said);
  }
  Result<std::string> find_address() {
    constexpr std::string_view before = "is up at ";
    const auto until = std::chrono::steady_clock::now() + patience_to_start;
    while (true) {
      const bool is_over = has_ended_within(look_every_time);
      std::stringstream text;
      text << std::ifstream(log()).rdbuf();
      const std::string said = text.str();
      const std::size_t at = said.find(before);
      const std::size_t end = at == std::string::npos ? at : said.find(' ', at + before.size());
      if (end != std::string::npos) return said.substr(at + before.size(), end - at - before.size());
      if (is_over) process_ = 0;
      if (is_over || interrupts() > 0 || std::chrono::steady_clock::now() > until) return failed(said);
    }
  }
  bool has_ended_within(std::chrono::steady_clock::duration time) const {
    for (const auto until = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < until;) {
      if (::waitpid(process_, nullptr, WNOHANG) == process_) return true;
      std::this_thread::sleep_for(look_every_time / 4);
    }
    return false;
  }
  // First its jobs are asked to end, then killed, then nothing is waited for (app/up.cpp).
  void stop() {
    for (int i = 0; process_ > 0 && i < 3; ++i) {
      ::kill(process_, SIGTERM);
      if (has_ended_within(patience_to_end)) process_ = 0;
    }
    if (process_ > 0) ::kill(process_, SIGKILL), ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  std::string folder_;
  pid_t process_ = 0;
};

// Until all have ended, or the user has had enough.
Status wait_for_all(const Context& context) {
  while (interrupts() == 0) {
    const auto jobs = context.get("/api/v1/jobs");
    if (!jobs.ok()) return jobs.error();
    const json::array& items = value_at(*jobs, "items").as_array();
    if (std::ranges::all_of(items, [](const json::value& job) { return is_over(text_at(job, "state")); })) break;
    std::this_thread::sleep_for(look_every_time);
  }
  return {};
}

}  // namespace

int DemoCommand::run() const {
  catch_interrupts(true);
  Context context = context_();
  const std::string temporary = variable("TMPDIR");
  std::string folder = (temporary.empty() ? "/tmp" : temporary) + "/schedulearn-demo-XXXXXX";
  if (!::mkdtemp(folder.data()))
    return fail(denied("cannot-write", "cannot make a folder like " + folder + ": " + std::strerror(errno)));
  Cluster cluster(folder);
  const auto url = cluster.start(simulate_);
  if (!url.ok()) return fail(url.error());
  context.url = *url, context.socket = cluster.folder() + "/controller.sock";
  const int gpus = gpus_most(context);
  for (const DemoJob& job : demo_jobs) {
    const auto submitted = context.create_job("/api/v1/jobs", json::serialize(submission_of(job, gpus)));
    if (!submitted.ok()) return fail(submitted.error());
  }
  const bool is_on_screen = context.interactive && context.columns > 0 && !context.as_json;
  std::printf("A cluster of simulated GPUs with %zu jobs, also at %s/ui/ while this runs.\n", std::size(demo_jobs),
              context.url.c_str());
  std::fflush(stdout);
  if (is_on_screen) {
    const int status = top(context, {});
    std::printf("Nothing of it is left. Your own: schedulearn up\n");
    return status;
  }
  if (const Status ended = wait_for_all(context); !ended.ok()) return fail(ended.error());
  const int status = list_jobs(context, {});
  return interrupts() > 0 ? 130 : status;
}

void DemoCommand::add_to(CLI::App& app) {
  command_(app, "demo", "A small cluster of simulated GPUs with jobs on it, to look around; gone afterwards.",
           "  schedulearn demo\n  schedulearn demo --simulate 3x8\n", [this] { return run(); })
      ->add_option("--simulate", simulate_, "simulated servers and GPUs of each (2x4)");
}

}  // namespace sl::cli
