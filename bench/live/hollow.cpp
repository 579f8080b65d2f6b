#include "hollow.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "daemons.h"
#include "net/websocket.h"
#include "wire/agent_protocol.h"

namespace sl::bench {

struct HollowAgents::Impl {
  struct Ending {
    double at_s;
    std::size_t agent;
    wire::AttemptReport report;
  };
  net::EventLoop loop;
  std::uint16_t port;
  int gpus;
  double job_s;
  struct Agent {
    std::shared_ptr<net::WebSocket> socket;
    std::shared_ptr<void> connecting;
    std::int64_t reports = 0;
  };
  std::vector<Agent> agents;
  std::deque<Ending> endings;
  std::shared_ptr<net::EventLoop::Timer> tick;
  std::size_t next_ping = 0;
  std::atomic<int> connected = 0;
  std::atomic<std::size_t> started = 0;
  std::atomic<double> slowest_ping_s = 0;
  std::thread thread;

  Impl(std::uint16_t port_, int gpus_, double job_s_) : port(port_), gpus(gpus_), job_s(job_s_) {}

  void send(std::size_t agent, const wire::AgentMessage& message) {
    if (agents[agent].socket) agents[agent].socket->send(wire::encode(message));
  }
  void report(std::size_t agent, const wire::AttemptReport& what) {
    send(agent, wire::AttemptChanged{++agents[agent].reports, what});
  }
  void connect(std::size_t number);
  void hello(std::size_t number);
  void on_text(std::size_t number, const std::string& text);
  void on_tick();
};

void HollowAgents::Impl::connect(std::size_t number) {
  net::ConnectResult result;
  result.on_error = [this, number](const Error&) { connect(number); };
  result.on_open = [this, number](std::shared_ptr<net::WebSocket> socket) {
    agents[number].socket = std::move(socket);
    net::WebSocket::Callbacks callbacks;
    callbacks.on_message = [this, number](const std::string& text) { on_text(number, text); };
    callbacks.on_close = [this, number](const std::string&) {
      --connected;
      agents[number].socket.reset();
    };
    agents[number].socket->set_callbacks(std::move(callbacks));
    ++connected;
    hello(number);
  };
  agents[number].connecting =
      net::connect_websocket(loop, "ws://127.0.0.1:" + std::to_string(port) + "/api/v1/agent", {}, std::move(result));
}

void HollowAgents::Impl::hello(std::size_t number) {
  wire::Hello hello;
  hello.server = "hollow" + std::to_string(number);
  hello.agent_id = hello.server;
  hello.simulated = true;
  hello.cpus = 64;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    wire::GpuReport report;
    report.index = gpu;
    report.name = "hollow";
    hello.gpus.push_back(report);
  }
  send(number, hello);
}

void HollowAgents::Impl::on_text(std::size_t number, const std::string& text) {
  const auto message = wire::decode_controller_message(text);
  if (!message.ok()) return;
  if (const auto* order = std::get_if<wire::StartAttempt>(&*message)) {
    ++started;
    wire::AttemptReport running;
    running.incarnation = order->incarnation;
    running.state = "running";
    running.gpus = order->placement.gpus;
    report(number, running);
    if (job_s > 0) endings.push_back({now_s() + job_s, number, running});
  }
  if (const auto* ping = std::get_if<wire::Ping>(&*message))
    slowest_ping_s = std::max(slowest_ping_s.load(), now_s() - static_cast<double>(ping->at_us) * 1e-6);
}

// Each agent pings every five seconds, spread evenly.
void HollowAgents::Impl::on_tick() {
  for (std::size_t i = 0; i < agents.size() / 50 + 1; ++i) {
    const std::size_t agent = next_ping++ % agents.size();
    send(agent, wire::Ping{static_cast<std::int64_t>(now_s() * 1e6), agents[agent].reports});
  }
  for (; !endings.empty() && endings.front().at_s <= now_s(); endings.pop_front()) {
    wire::AttemptReport exited = endings.front().report;
    exited.state = "exited";
    exited.exit_code = 0;
    report(endings.front().agent, exited);
  }
  tick = loop.after(Duration::milliseconds(100), [this] { on_tick(); });
}

HollowAgents::HollowAgents(std::uint16_t port, int count, int gpus_each, double job_s)
    : impl_(std::make_unique<Impl>(port, gpus_each, job_s)) {
  impl_->agents.resize(static_cast<std::size_t>(count));
  impl_->thread = std::thread([this] {
    for (std::size_t i = 0; i < impl_->agents.size(); ++i) impl_->connect(i);
    impl_->on_tick();
    impl_->loop.run();
  });
}

HollowAgents::~HollowAgents() {
  impl_->loop.stop();
  impl_->thread.join();
}

int HollowAgents::connected() const { return impl_->connected; }
std::size_t HollowAgents::started() const { return impl_->started; }
double HollowAgents::slowest_ping_s() { return impl_->slowest_ping_s.exchange(0); }

}  // namespace sl::bench
