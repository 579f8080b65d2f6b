#include "container/run_logic.h"

namespace sl::container {

void RunLogic::on_done(const Status& done) {
  const bool is_taken = step_ == Step::create && !done.ok() && done.error().code == "name-taken";
  if (is_taken && !has_removed_taken_) {
    step_ = Step::inspect_taken;
  } else if (step_ == Step::report) {
    step_ = is_created_ ? Step::remove : Step::over;
  } else if (step_ == Step::remove) {
    step_ = Step::over;
  } else if (!done.ok()) {
    fail(done.error());
  } else if (step_ == Step::prepare) {
    step_ = Step::create;
  } else if (step_ == Step::create) {
    is_created_ = true;
    step_ = Step::start;
  } else if (step_ == Step::remove_taken) {
    has_removed_taken_ = true;
    step_ = Step::create;
  } else {
    may_have_begun_ = step_ == Step::begin;
    step_ = step_ == Step::start ? Step::inspect_started : Step::wait;
  }
}

void RunLogic::on_inspected(const Result<std::optional<State>>& state) {
  const bool is_there = state.ok() && state->has_value();
  if (step_ == Step::inspect_ended) {
    const bool ran_out = is_there && (*state)->out_of_memory;
    Outcome lost;
    lost.failure_kind = "lost";
    lost.failure_message = may_have_begun_ ? "its container was ended from outside, by the engine or by hand"
                                           : "its container ended before its command could begin";
    lost.is_refused = !may_have_begun_;
    return end_with(ran_out ? *read_end("signal 9\noom_kills 1\n", order_.memory_bytes) : lost);
  }
  if (!state.ok()) return fail(state.error());
  if (step_ == Step::inspect_taken) {
    if (is_there && ((*state)->agent != order_.agent || (*state)->key != order_.key))
      return fail(unavailable("engine-refused", "a container that is not ours has the name " + order_.name));
    step_ = Step::remove_taken;
    return;
  }
  pid_ = is_there && (*state)->runs ? (*state)->pid : 0;
  step_ = pid_ > 0 ? Step::look : Step::wait;
}

// One that has ended already can have written of its end that it could not start the job.
void RunLogic::on_look(Sight sight) {
  if (sight == Sight::unmarked)
    return fail(unavailable("server_setup",
                            "the processes of its containers cannot be seen here: the container engine must run "
                            "on this machine, and the agent as root or as the engine's user"));
  step_ = sight == Sight::marked ? Step::begin : Step::wait;
}

void RunLogic::on_ended(const std::string& end) {
  auto outcome = read_end(end, order_.memory_bytes);
  if (outcome && (outcome->exit_code || outcome->signal)) may_have_begun_ = true;
  // A job that runs can write of its end what it likes, but blames no server.
  if (outcome && outcome->failure_kind == "server_setup" && may_have_begun_) outcome->failure_kind = "lost";
  outcome ? end_with(*outcome) : void(step_ = Step::inspect_ended);
}

// As a process ends by it that has not come to handle it.
void RunLogic::on_signal(int number) {
  is_asked_ = true;
  if (has_begun()) return;
  Outcome ended;
  ended.signal = number;
  end_with(ended);
}

// What an engine creates or starts all the same runs nothing: its first process is not told to begin.
void RunLogic::fail(const Error& error) {
  Outcome failed;
  const bool is_kind = error.code == "setup" || error.code == "image";
  const bool is_refused = error.code == "engine-refused" || error.code == "name-taken";
  failed.failure_kind = is_kind                                            ? error.code
                        : is_refused || error.code == "engine-unreachable" ? "lost"
                                                                           : "server_setup";
  failed.failure_message = error.message;
  failed.is_refused = is_refused;
  end_with(failed);
}

void RunLogic::end_with(Outcome outcome) {
  outcome_ = std::move(outcome);
  outcome_.asked_to_end = is_asked_;
  outcome_.may_have_begun = may_have_begun_;
  step_ = Step::report;
}

}  // namespace sl::container
