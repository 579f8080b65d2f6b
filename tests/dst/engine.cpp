#include "dst/engine.h"

namespace sl::dst {
namespace {

Error unreachable() { return unavailable("engine-unreachable", "the container engine does not answer"); }
Answer refusal() { return {unavailable("engine-refused", "the container engine says: no"), {}, {}}; }

}  // namespace

Engine::Engine(Context& context, World world)
    : context_(context),
      world_(std::move(world)),
      keeps_containers_(context.random.chance(0.5)),
      tells_of_memory_(context.random.chance(0.5)) {}

Engine::Box* Engine::find(const std::string& name) {
  const auto at = boxes_.find(name);
  return at == boxes_.end() ? nullptr : &at->second;
}

// Heard once: when it has been carried out, when that took too long, or not at all and then too.
void Engine::ask(const Request& request, std::function<void(const Answer&)> answer) {
  const bool troubled = context_.faults.engines;
  const bool is_slow = troubled && context_.chance(0.02);
  const bool is_lost = troubled && context_.chance(0.01), is_unanswered = troubled && context_.chance(0.01);
  const Duration takes = is_slow ? context_.between(5, 200) : context_.between(0.001, 0.02);
  const bool is_in_time = takes < request.patience;
  if (is_away()) return context_.heap.after(Duration::milliseconds(1), [answer] { answer({unreachable(), {}, {}}); });
  if (!is_in_time || is_lost || is_unanswered)
    context_.heap.after(is_in_time && is_unanswered ? takes : request.patience, [answer] {
      answer({unreachable(), {}, {}});
    });
  if (is_lost) return;
  const bool is_heard = is_in_time && !is_unanswered;
  context_.heap.after(takes, [this, request, answer, is_in_time, is_heard, restarts = restarts_] {
    if (restarts != restarts_ || is_away()) {
      if (is_heard) answer({unreachable(), {}, {}});
      return;
    }
    const Answer done = carry_out(request);
    Box* box = find(request.name);
    if (box && request.call == Call::create && done.status.ok() && (!is_in_time || !request.is_awaited()))
      box->is_late = true;
    if (is_heard) answer(done);
  });
}

Answer Engine::carry_out(const Request& request) {
  switch (request.call) {
    case Call::create:
      return create(request);
    case Call::start:
      return start(request);
    case Call::inspect:
      return inspect(request);
    case Call::remove:
      return remove(request);
    case Call::list:
      break;
  }
  Answer all;
  for (const auto& [name, box] : boxes_) {
    if (box.agent == request.agent) all.names.push_back(name);
  }
  return all;
}

Answer Engine::create(const Request& request) {
  if (context_.faults.engines && context_.chance(0.01)) boxes_.try_emplace(request.name);  // a stranger was faster
  if (boxes_.contains(request.name)) return {conflict("name-taken", "there is such a container"), {}, {}};
  boxes_[request.name] = {request.agent, request.key, false, false, false, context_.heap.now()};
  return {};
}

// One that has ended runs once more.
Answer Engine::start(const Request& request) {
  Box* box = find(request.name);
  if (!box || (context_.faults.engines && context_.chance(0.01))) return refusal();
  if (std::exchange(box->runs, true)) return {};
  box->changed = context_.heap.now();
  world_.start(request.name);
  return {};
}

Answer Engine::inspect(const Request& request) const {
  const auto at = boxes_.find(request.name);
  Answer answer;
  if (at == boxes_.end()) return answer;
  const Box& box = at->second;
  answer.state = {box.agent, box.key, box.runs, box.runs ? 1 : 0, 0, box.out_of_memory && tells_of_memory_};
  return answer;
}

Answer Engine::remove(const Request& request) {
  const Box* box = find(request.name);
  if (!box) return {};
  require(!box->agent.empty(), "a container of a stranger, {}, is removed", request.name);
  world_.check_removal(request.name);
  if (context_.faults.engines && context_.chance(0.05)) return refusal();
  if (box->runs) world_.kill(request.name);
  boxes_.erase(request.name);
  return {};
}

void Engine::restart(Duration away) {
  context_.note("engine", "is away for {:.1f} s and {} its containers", away.to_seconds(),
                keeps_containers_ ? "keeps" : "ends");
  away_until_ = context_.heap.now() + away;
  ++restarts_;
  if (keeps_containers_) return;
  std::vector<std::string> running;
  for (const auto& [name, box] : boxes_) {
    if (box.runs) running.push_back(name);
  }
  for (const std::string& name : running) world_.kill(name);
}

Engine::Box* Engine::any(bool runs) {
  for (auto& [name, box] : boxes_) {
    if (box.runs == runs && !box.agent.empty() && context_.random.chance(0.5)) return &box;
  }
  return nullptr;
}

void Engine::end_one() {
  const Box* box = any(true);
  if (!box) return;
  context_.note("engine", "ends the container of {} by hand", box->key);
  for (const auto& [name, other] : boxes_) {
    if (&other == box) return world_.kill(std::string(name));
  }
}

void Engine::start_one() {
  Box* box = any(false);
  if (!box) return;
  context_.note("engine", "starts the container of {} by hand", box->key);
  box->runs = true;
  for (const auto& [name, other] : boxes_) {
    if (&other == box) return world_.start(std::string(name));
  }
}

void Engine::power_lost() {
  ++restarts_;
  for (auto& [name, box] : boxes_) box.runs = false;
}

}  // namespace sl::dst
