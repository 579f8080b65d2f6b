#include "dst/containers.h"

#include <csignal>

namespace sl::dst {

using container::Step;

Containers::Containers(Context& context, std::string server, World world)
    : context_(context),
      server_(std::move(server)),
      world_(std::move(world)),
      engine_(context,
              {[this](const std::string& name) { first_starts(name); },
               [this](const std::string& name) { job_ends(name, SIGKILL); },
               [this](const std::string& name) {
                 const Engine::Box* box = engine_.find(name);
                 const Runner* runner = runner_of(box->key);
                 require(!runner || runner->logic.next() == Step::remove_taken || runner->logic.next() == Step::remove,
                         "the container of {} is removed while it is run", box->key);
               }}) {}

// ---- folders ----

void Containers::order(const std::string& key, const std::string& name) {
  Folder folder;
  folder.order.name = name, folder.order.agent = server_, folder.order.key = key;
  folders_[key] = folder;
}

std::optional<container::Outcome> Containers::report(const std::string& key) const {
  const auto at = folders_.find(key);
  return at == folders_.end() ? std::nullopt : at->second.report;
}

std::set<std::string> Containers::keys() const {
  std::set<std::string> keys;
  for (const auto& [key, folder] : folders_) keys.insert(key);
  return keys;
}

Containers::Runner* Containers::runner_of(const std::string& key) {
  const auto at = runners_.find(key);
  return at == runners_.end() ? nullptr : &at->second;
}

Containers::First* Containers::first_of(const std::string& key) {
  for (auto& [name, first] : firsts_) {
    if (first.key == key) return &first;
  }
  return nullptr;
}

bool Containers::has_process(const std::string& key) const {
  return std::ranges::any_of(firsts_, [&](const auto& item) { return item.second.key == key; });
}

std::string Containers::name_of(const std::string& key) const {
  for (const auto& [name, first] : firsts_) {
    if (first.key == key) return name;
  }
  return "";
}

// ---- the program that runs a container, like run.cpp ----

void Containers::start(const std::string& key, const Plan& plan) {
  plans_[key] = plan;
  runners_.emplace(key, Runner{container::RunLogic(folders_.at(key).order), plan, ++runners_ever_, {}, {}, {}, {}});
  act_later(key);
}

void Containers::act_later(const std::string& key) {
  world_.later(context_.between(0.0001, 0.002), [this, key, number = runners_.at(key).number] {
    const Runner* runner = runner_of(key);
    if (runner && runner->number == number) act(key);
  });
}

// Until it waits for something, or is killed.
void Containers::act(const std::string& key) {
  Runner* runner = runner_of(key);
  if (!runner || runner->frozen || runner->waits_for_answer) return;
  if (context_.chance(context_.faults.crash)) return world_.runner_ends(key, SIGKILL);
  if (runner->signal && !runner->logic.has_begun()) runner->logic.on_signal(*std::exchange(runner->signal, {}));
  take_step(key, *runner);
}

void Containers::take_step(const std::string& key, Runner& runner) {
  Folder& folder = folders_.at(key);
  switch (runner.logic.next()) {
    case Step::prepare:
      return prepare(folder, runner);
    case Step::create:
      return ask(key, runner, Call::create);
    case Step::inspect_taken:
    case Step::inspect_started:
    case Step::inspect_ended:
      return ask(key, runner, Call::inspect);
    case Step::remove_taken:
    case Step::remove:
      return ask(key, runner, Call::remove);
    case Step::start:
      return ask(key, runner, Call::start);
    case Step::look:
      runner.logic.on_look(has_process(key) ? container::Sight::marked : container::Sight::ended);
      return act_later(key);
    case Step::begin:
      return begin(key, folder, runner);
    case Step::wait:
      return wait(key, folder, runner);
    case Step::report:
      return write_report(key, folder, runner);
    case Step::over:
      const container::Outcome& outcome = runner.logic.outcome();
      const int code = outcome.exit_code.value_or(container::failed_code);
      return world_.runner_ends(key, outcome.signal ? *outcome.signal : code << 8);
  }
}

void Containers::prepare(Folder& folder, Runner& runner) {
  const bool is_full = world_.is_disk_full();
  if (!is_full) folder.may_be_left = true;
  runner.logic.on_done(is_full ? Status(unavailable("server_setup", "no space left")) : Status());
  act_later(folder.order.key);
}

void Containers::begin(const std::string& key, Folder& folder, Runner& runner) {
  folder.may_begin = true;
  runner.logic.on_done({});
  first_acts(name_of(key));
  if (runner_of(key)) act_later(key);
}

void Containers::wait(const std::string& key, Folder& folder, Runner& runner) {
  First* first = first_of(key);
  if (runner.logic.pid() == 0 || !first) {
    runner.logic.on_ended(folder.end);
    return act_later(key);
  }
  if (!runner.signal) return;
  const int number = *std::exchange(runner.signal, {});
  runner.logic.on_signal(number);
  if (context_.random.chance(0.2)) return;  // the job ignores it
  const int status = context_.random.chance(0.5) ? number : (context_.random.chance(0.5) ? 0 : 75) << 8;
  world_.later(context_.between(0.01, 5), [this, key, status] { end_job(key, status); });
}

void Containers::write_report(const std::string& key, Folder& folder, Runner& runner) {
  context_.judge.container_reported(key, runner.logic.outcome());
  if (!world_.is_disk_full()) folder.report = runner.logic.outcome();
  runner.logic.on_done({});
  act_later(key);
}

void Containers::ask(const std::string& key, Runner& runner, Call call) {
  runner.waits_for_answer = true;
  const Step step = runner.logic.next();
  const container::Order& order = folders_.at(key).order;
  Request request{call, order.name, order.agent, key};
  if (step == Step::remove) request.patience = Duration::whole_seconds(10);
  const auto is_there = [this, key, number = runner.number] {
    const Runner* same = runner_of(key);
    return same && same->number == number;
  };
  request.is_awaited = is_there;
  engine_.ask(request, [this, key, step, is_there](const Answer& answer) {
    if (!is_there()) return;
    Runner* there = runner_of(key);
    if (there->frozen)
      there->backlog.push_back([this, key, step, answer] { hear(key, step, answer); });
    else
      hear(key, step, answer);
  });
}

void Containers::hear(const std::string& key, Step step, const Answer& answer) {
  Runner& runner = *runner_of(key);
  runner.waits_for_answer = false;
  const bool inspects = step == Step::inspect_taken || step == Step::inspect_started || step == Step::inspect_ended;
  if (step == Step::inspect_ended && answer.state && answer.state->out_of_memory) context_.judge.memory_was_told(key);
  if (inspects)
    runner.logic.on_inspected(answer.status.ok() ? Result<std::optional<container::State>>(answer.state)
                                                 : answer.status.error());
  else
    runner.logic.on_done(answer.status);
  if (step == Step::remove && answer.status.ok()) folders_.at(key).may_be_left = false;
  act(key);
}

void Containers::runner_ended(const std::string& key) {
  runners_.erase(key);
  for (const auto& [name, box] : engine_.boxes()) {
    if (box.key == key) engine_.find(name)->changed = context_.heap.now();
  }
  world_.later(context_.between(0.0001, 0.02), [this, key] { first_acts(name_of(key)); });
}

// ---- the first process of a container, like init_main.cpp ----

void Containers::first_starts(const std::string& name) {
  firsts_[name] = {engine_.find(name)->key, false, false, {}};
  world_.later(context_.between(0.0001, 0.003), [this, name] { first_acts(name); });
}

void Containers::first_acts(const std::string& name) {
  const auto at = firsts_.find(name);
  if (at == firsts_.end() || at->second.frozen || at->second.has_begun) return;
  First& first = at->second;
  const bool is_locked = runners_.contains(first.key) || context_.plant == Plant::no_lock;
  if (!is_locked || !folders_.contains(first.key)) return first_ends(name);
  const Plan& plan = plans_.at(first.key);
  Folder& folder = folders_.at(first.key);
  if (!folder.end.empty()) return first_ends(name);
  if (plan.is_missing) {
    if (!world_.is_disk_full()) folder.end = "failed no such command\n";
    if (!folder.end.empty()) context_.judge.container_refused(first.key);
    return first_ends(name);
  }
  if (!folder.may_begin && context_.plant != Plant::no_gate) return;
  if (world_.is_disk_full()) return first_ends(name);
  folder.end = "begun\n";
  first.has_begun = true;
  world_.note("the job of " + first.key + " begins in its container");
  context_.judge.container_begins(first.key);
  world_.job_begins(first.key);
  world_.later(Duration::seconds(plan.seconds),
               [this, key = first.key, plan] { end_job(key, plan.runs_out_of_memory ? SIGKILL : plan.status); });
}

void Containers::end_job(const std::string& key, int status) {
  const std::string name = name_of(key);
  First* first = first_of(key);
  if (!first || !first->has_begun) return;
  if (first->frozen) {
    first->end_when_thawed = status;
    return;
  }
  const bool ran_out = plans_.at(key).runs_out_of_memory && status == SIGKILL;
  if (ran_out && context_.random.chance(0.5)) {  // the kernel has chosen the first process itself
    engine_.find(name)->out_of_memory = true;
    context_.judge.container_ended(key, status, true, false);
    return first_ends(name);
  }
  const bool is_written = !world_.is_disk_full() && folders_.contains(key);
  if (is_written) {
    const bool by_signal = (status & 0x7f) != 0;
    folders_.at(key).end = fmt::format("{} {}\n{}", by_signal ? "signal" : "exit", by_signal ? status : status >> 8,
                                       ran_out ? "oom_kills 1\n" : "");
  }
  context_.judge.container_ended(key, status, ran_out, is_written);
  first_ends(name);
}

// From outside.
void Containers::job_ends(const std::string& name, int status) {
  const auto at = firsts_.find(name);
  if (at == firsts_.end()) return;
  if (at->second.has_begun) context_.judge.container_ended(at->second.key, status, false, false);
  first_ends(name);
}

void Containers::first_ends(const std::string& name) {
  const std::string key = firsts_.at(name).key;
  firsts_.erase(name);
  if (Engine::Box* box = engine_.find(name)) box->runs = false, box->changed = context_.heap.now();
  if (Runner* runner = runner_of(key); runner && runner->logic.next() == Step::wait) act_later(key);
  world_.process_ends(key);
}

void Containers::kill(const std::string& key) {
  if (const std::string name = name_of(key); !name.empty()) job_ends(name, SIGKILL);
}

void Containers::signal(const std::string& key, int number) {
  Runner* runner = runner_of(key);
  if (!runner || runner->signal) return;
  runner->signal = number;
  act_later(key);
}

void Containers::freeze(const std::string& key, bool frozen) {
  if (First* first = first_of(key); first && first->frozen != frozen) {
    first->frozen = frozen;
    const auto status = std::exchange(first->end_when_thawed, {});
    if (status) world_.later(context_.between(0.0001, 1), [this, key, status] { end_job(key, *status); });
    if (!frozen) world_.later(context_.between(0.0001, 0.02), [this, key] { first_acts(name_of(key)); });
  }
  Runner* runner = runner_of(key);
  if (!runner || std::exchange(runner->frozen, frozen) == frozen || frozen) return;
  const int number = runner->number;
  for (const auto& what : std::exchange(runner->backlog, {})) {
    const Runner* same = runner_of(key);
    if (same && same->number == number) what();
  }
  if (runner_of(key)) act_later(key);
}

void Containers::power_lost() {
  for (const auto& [name, first] : firsts_) {
    if (first.has_begun) context_.judge.container_ended(first.key, SIGKILL, false, false);
  }
  runners_.clear();
  firsts_.clear();
  engine_.power_lost();
}

// ---- what is left in the engine, like container::sweep() ----

bool Containers::holds_none() const {
  return runners_.empty() &&
         std::ranges::all_of(engine_.boxes(), [](const auto& item) { return item.second.agent.empty(); });
}

void Containers::sweep(const std::function<bool()>& is_awaited, const std::function<void(bool)>& done) {
  engine_.ask({Call::list, "", server_, "", Duration::whole_seconds(120), is_awaited}, [=, this](const Answer& answer) {
    if (!is_awaited()) return;
    if (!answer.status.ok()) return done(false);
    struct Progress {
      std::size_t left = 0;
      bool all_gone = true;
    };
    auto progress = std::make_shared<Progress>();
    std::vector<std::string> names;
    for (const std::string& name : answer.names) {
      const Engine::Box* box = engine_.find(name);
      if (box && !(folders_.contains(box->key) && runners_.contains(box->key))) names.push_back(name);
    }
    progress->left = names.size();
    if (names.empty()) return done(true);
    for (const std::string& name : names) {
      engine_.ask({Call::remove, name, server_, "", Duration::whole_seconds(120), is_awaited},
                  [=](const Answer& removed) {
                    if (!is_awaited()) return;
                    progress->all_gone = progress->all_gone && removed.status.ok();
                    if (--progress->left == 0) done(progress->all_gone);
                  });
    }
  });
}

void Containers::check_leftovers(Instant all_well_since) const {
  constexpr Duration patience = Duration::whole_seconds(300);  // an earlier look may hang for 120 s
  for (const auto& [name, box] : engine_.boxes()) {
    if (box.agent.empty() || box.is_late || runners_.contains(box.key)) continue;
    require(context_.heap.now() <= std::max(box.changed, all_well_since) + patience,
            "the container of {} is left on {}", box.key, server_);
  }
}

}  // namespace sl::dst
