// `up`: the controller and the agents of this machine in one process. They end together: the first signal stops all
// jobs as the controller decides (controller/stopping.h), the second kills them, the third does not wait for that.
#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "app/data_folder.h"
#include "app/roles.h"
#include "app/start_pages.h"
#include "base/shell_words.h"
#include "cli/browser.h"

namespace sl::app {
namespace {

constexpr Duration plan_limit = Duration::whole_seconds(30);  // for the controller to say how jobs end
constexpr Duration order_limit = Duration::whole_seconds(5);  // for its orders to reach the agents
constexpr Duration margin = Duration::whole_seconds(10);      // beyond what jobs are given
constexpr Duration kill_limit = Duration::whole_seconds(10);  // for killed jobs to be gone

struct SimulatedServers {
  int count = 0;  // 0: not simulated
  int gpus = 0;
};

// "4": one server with 4 GPUs; "3x4": three of them.
Result<SimulatedServers> parse_simulate(const std::string& text) {
  const auto number = [](std::string_view digits, int& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 1 && value <= 64;
  };
  const std::string_view all(text);
  const std::size_t times = all.find('x');
  SimulatedServers servers{1, 0};
  const bool is_good = times == std::string::npos
                           ? number(all, servers.gpus)
                           : number(all.substr(0, times), servers.count) && number(all.substr(times + 1), servers.gpus);
  if (is_good) return servers;
  return invalid("bad-simulate", "--simulate takes 1 to 64 GPUs, or servers and GPUs of each, not " + text)
      .hint("schedulearn up --simulate 4")
      .hint("schedulearn up --simulate 3x4   three servers with four GPUs each");
}

// "job 3 goes back to the queue", "jobs 3, 4, 5 and 9 more go back to the queue"
std::string sentence(const std::vector<JobId>& jobs, const char* does, const char* do_together) {
  constexpr std::size_t shown = 8;
  std::string text = jobs.size() == 1 ? "job " : "jobs ";
  for (std::size_t i = 0; i < std::min(jobs.size(), shown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == jobs.size() ? " and " : ", ", jobs[i].value);
  if (jobs.size() > shown) text += fmt::format(" and {} more", jobs.size() - shown);
  return text + " " + (jobs.size() == 1 ? does : do_together);
}

std::string text_of(const controller::StopPlan& plan) {
  const std::size_t count = plan.requeued.size() + plan.cancelled.size();
  std::string text = fmt::format("Stopping {} job{}: ", count, count == 1 ? "" : "s");
  if (!plan.requeued.empty()) text += sentence(plan.requeued, "goes back to the queue", "go back to the queue");
  if (!plan.requeued.empty() && !plan.cancelled.empty()) text += ", ";
  if (!plan.cancelled.empty()) text += sentence(plan.cancelled, "is cancelled", "are cancelled");
  return text + fmt::format(".\nThis takes up to {:.0f} s; another Ctrl-C kills them.", plan.grace.to_seconds());
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

class Up {
 public:
  Up(net::EventLoop& loop, std::string data, std::unique_ptr<controller::Controller> controller)
      : loop_(loop), data_(std::move(data)), controller_(std::move(controller)) {
    // Before anybody is told that it runs; what comes until it does waits for it.
    loop_.on_signals({SIGINT, SIGTERM}, [this](int) { on_signal(); });
    // Its terminal is closed; whoever started it with nohup means it to stay.
    struct sigaction hang_up {};
    if (::sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN)
      loop_.on_signals({SIGHUP}, [this](int) { on_signal(); });
  }

  // One per simulated server, or one for this machine.
  Status start_agents(agent::AgentSettings settings, const SimulatedServers& simulated);
  void run(bool opens_page);

 private:
  Status start_agent(agent::AgentSettings settings, const std::string& folder);
  void on_signal();
  void stop();
  void kill();
  void end(const Status& recorded);
  void give_up();
  void limit(Duration time, void (Up::*then)()) {
    limit_ = loop_.after(time, [this, then] { (this->*then)(); });
  }

  net::EventLoop& loop_;
  std::string data_;
  std::unique_ptr<controller::Controller> controller_;
  std::vector<std::unique_ptr<agent::Agent>> agents_;
  int signals_ = 0;
  std::size_t agents_ended_ = 0;
  std::shared_ptr<net::EventLoop::Timer> limit_;   // of the current step of stopping
  std::shared_ptr<net::EventLoop::Timer> orders_;  // when the agents get their orders without the controller
};

Status Up::start_agents(agent::AgentSettings settings, const SimulatedServers& simulated) {
  settings.controller_url = fmt::format("http://127.0.0.1:{}", controller_->port());
  settings.simulate = simulated.gpus;
  settings.simulate_if_none = true;
  if (simulated.count <= 1) return start_agent(settings, agent_folder(data_));
  for (int i = 1; i <= simulated.count; ++i) {
    settings.server = fmt::format("sim{}", i);
    if (Status started = start_agent(settings, agent_folder(data_, settings.server)); !started.ok()) return started;
  }
  return {};
}

Status Up::start_agent(agent::AgentSettings settings, const std::string& folder) {
  settings.data_dir = folder;
  if (Status ready = prepare_data_folder(folder, Daemon::agent); !ready.ok()) return ready;
  auto agent = agent::Agent::start(loop_, settings);
  if (!agent.ok()) return agent.error();
  agents_.push_back(std::move(*agent));
  return {};
}

void Up::run(bool opens_page) {
  const std::string page = fmt::format("http://127.0.0.1:{}/ui/", controller_->port());
  // It may come back only when the browser is closed.
  if (opens_page && cli::has_desktop()) std::thread([page] { cli::open_browser(page); }).detach();
  say(fmt::format("Schedulearn is up at http://127.0.0.1:{} (data in {}). Ctrl-C stops it and its jobs.",
                  controller_->port(), data_));
  const auto timer = release_start_pages(loop_);
  loop_.run();
}

void Up::on_signal() {
  ++signals_;
  if (signals_ == 1) return stop();
  signals_ == 2 ? kill() : give_up();
}

void Up::stop() {
  std::vector<std::string> servers;
  for (const auto& agent : agents_) servers.push_back(agent->server());
  limit(plan_limit, &Up::kill);
  const auto told = [this](const controller::StopPlan& plan) {
    if (!plan.requeued.empty() || !plan.cancelled.empty()) say("\n" + text_of(plan));
    // The controller sends nothing that it cannot record; with a full disk that would be never.
    orders_ = loop_.after(order_limit, [this, orders = plan.orders] {
      for (const auto& agent : agents_) agent->stop(orders);
    });
    if (signals_ == 1) limit(plan.grace + margin, &Up::kill);
  };
  controller_->stop_jobs(std::move(servers), "schedulearn up was stopped", told,
                         [this](const Status& recorded) { end(recorded); });
}

void Up::kill() {
  say("Killing what still runs.");
  signals_ = std::max(signals_, 2);
  for (const auto& agent : agents_) agent->kill_jobs();
  limit(kill_limit, &Up::give_up);
}

// No job runs any more. `recorded`: whether the database knows; else the agents tell it when they are started again.
void Up::end(const Status& recorded) {
  if (!recorded.ok()) say("Not all that happened is recorded yet: " + recorded.error().message);
  limit(kill_limit, &Up::give_up);
  for (const auto& agent : agents_) {
    agent->end([this] {
      if (++agents_ended_ < agents_.size()) return;
      say("Stopped. To continue:    schedulearn up --data " + shell_word(data_));
      say("To see what happened:    schedulearn ls --data " + shell_word(data_));
      loop_.stop();
    });
  }
}

void Up::give_up() {
  say("Stopped without waiting for all processes of jobs to end. To continue:  schedulearn up --data " +
      shell_word(data_));
  loop_.stop();
}

}  // namespace

int up_role(const cli::UpOptions& options) {
  agent::AgentSettings settings = agent_settings();
  settings.keep = options.keep;
  settings.containers = container_settings(options.containers);
  const auto simulated =
      options.simulate.empty() ? Result<SimulatedServers>(SimulatedServers()) : parse_simulate(options.simulate);
  if (!simulated.ok()) return fail(simulated.error());
  net::EventLoop loop;
  wire::RetentionRule history = options.keep;
  history.free_bytes = 0;  // removing rows frees none
  auto controller = start_controller(loop, {options.data, options.listen, options.token_file, options.record, history,
                                            options.snapshot_bytes_max, options.notify_allow});
  if (!controller.ok()) return fail(controller.error());
  settings.token = token_in(options.token_file.empty() ? options.data + "/token" : options.token_file);
  Up up(loop, options.data, std::move(*controller));
  if (Status started = up.start_agents(std::move(settings), *simulated); !started.ok()) return fail(started.error());
  up.run(options.opens_page);
  return 0;
}

}  // namespace sl::app
