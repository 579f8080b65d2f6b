#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "controller/recording.h"
#include "controller/recording_json.h"
#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/profile.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr std::size_t differences_shown = 10;

// The world of a replayed logic: keeps its outputs, in order.
class Echo : public Outside {
 public:
  void commit(store::Batch batch) override {
    for (const store::EventRow& row : batch.events) outputs.push_back(json::serialize(event_line(row)));
  }
  void send(SessionId session, const wire::ControllerMessage& message) override {
    if (auto line = order_line(session, message)) outputs.push_back(json::serialize(*line));
  }
  void close(SessionId, const std::string&) override {}
  void make_policy(const PolicyChange& change) override { wanted.push_back(change); }

  std::deque<std::string> outputs;
  std::deque<PolicyChange> wanted;
};

class Player {
 public:
  explicit Player(const OwnPolicyMaker& make_policy) : make_policy_(make_policy) {}
  Result<Replay> play(std::istream& in) {
    for (std::string text; std::getline(in, text);) {
      ++line_;
      json::error_code error;
      const json::value value = json::parse(text, error);
      const bool whole = !error && value.is_object();
      if (!whole && in.eof()) {  // it was being written when the controller was killed
        replay_.is_cut = true;
        break;
      }
      if (!whole) return fault("is not a JSON object");
      if (Status played = play_line(value.as_object()); !played.ok()) return played.error();
    }
    if (!logic_) return fault("is not a recording: its first line must state the version");
    // A controller that was killed had not yet written all that its last input led to.
    replay_.is_cut = replay_.is_cut || (replay_.differences == 0 && !echo_.outputs.empty());
    return std::move(replay_);
  }

 private:
  Error fault(const std::string& what) const {
    return invalid("bad-recording", fmt::format("line {} {}", line_, what));
  }

  Status play_line(const json::object& line) try {
    if (!logic_) return begin(line);
    if (const json::value* kind = line.if_contains("in")) return input(std::string(kind->as_string()), line);
    if (line.contains("order")) ++replay_.orders;
    if (line.contains("event")) ++replay_.events;
    compare(json::serialize(line));
    return {};
  } catch (const std::exception& wrong) {
    return fault(std::string("is damaged: ") + wrong.what());
  }

  Status begin(const json::object& line) {
    const json::value* version = line.if_contains("recording");
    if (!version) return fault("is not a recording: its first line must state the version");
    if (*version != recording_version) return fault("was written by another version of this program");
    auto loaded = wire::read_json<store::Loaded>(json::serialize(line.at("loaded")), wire::Unknown::ignore);
    if (!loaded.ok()) return loaded.error();
    LogicSettings settings;
    settings.version = line.at("version").as_string().c_str();
    settings.policy = line.at("policy").as_string().c_str();
    settings.lease_s = line.at("lease_s").to_number<double>();
    settings.queue_max = line.at("queue_max").to_number<std::size_t>();
    if (const json::value* most = line.if_contains("user_bytes_max"))
      settings.user_bytes_max = most->to_number<std::size_t>();
    logic_ = std::make_unique<Logic>(settings, echo_, *loaded, Instant{line.at("at").to_number<std::int64_t>()});
    replay_.policies.push_back(logic_->policies().in_force().name);
    policy_since_us_ = logic_->policies().in_force().since_us;
    return {};
  }

  Status input(const std::string& kind, const json::object& line) {
    const Instant at{line.at("at").to_number<std::int64_t>()};
    const auto text = [&](const char* key) { return std::string(line.at(key).as_string()); };
    const std::string by = line.contains("by") ? text("by") : "";  // older recordings do not say it of all
    const auto number = [&](const char* key) { return line.at(key).to_number<std::int64_t>(); };
    ++replay_.inputs;
    if (kind == "turn") {
      logic_->turn(at);
      note_policy();
    } else if (kind == "message") {
      const auto message = wire::decode_agent_message(json::serialize(line.at("message")));
      if (!message.ok()) return fault("has a message this program cannot read: " + message.error().message);
      logic_->on_agent_message(number("session"), *message, at);
    } else if (kind == "closed") {
      logic_->on_agent_closed(number("session"), at);
    } else if (kind == "committed") {
      const json::value* failure = line.if_contains("failure");
      logic_->on_committed(failure ? Status(unavailable("disk-full", failure->as_string().c_str())) : Status(), at);
    } else if (kind == "submit") {
      auto spec = wire::read_json<wire::JobSpec>(json::serialize(line.at("spec")), wire::Unknown::ignore);
      if (!spec.ok()) return fault("has a job this program cannot read: " + spec.error().message);
      PastStates past;
      if (const json::value* states = line.if_contains("past")) {
        for (const auto& [id, state] : states->as_object())
          past[std::stoll(std::string(id))] = state.as_string().c_str();
      }
      logic_->submit({std::move(*spec), text("key"), text("hash"), std::move(past)}, at,
                     [this](const Result<JobId>& job) { replay_.jobs += job.ok(); });
    } else if (kind == "cancel") {
      wire::Cancellation wanted;
      if (line.contains("reason")) wanted.reason = text("reason");  // of an earlier version
      if (const json::value* said = line.if_contains("wanted")) {
        const auto read = wire::parse_cancellation(wire::json_text(*said));
        if (!read.ok()) return fault("has a cancellation this program cannot read: " + read.error().message);
        wanted = *read;
      }
      logic_->cancel(
          JobId(number("job")), text("by"), at, [](const Result<JobId>&) {}, wanted);
    } else if (kind == "signal") {
      logic_->signal(JobId(number("job")), text("signal"), text("by"), at, [](const Result<JobId>&) {});
    } else if (kind == "edit") {
      const auto change = wire::parse_job_change(wire::json_text(line.at("change")));
      if (!change.ok()) return fault("has a change this program cannot read: " + change.error().message);
      logic_->edit(JobId(number("job")), *change, text("by"), at, [](const Result<JobId>&) {});
    } else if (kind == "intervene") {
      const auto wanted = wire::read_json<wire::Intervention>(wire::json_text(line.at("intervention")));
      if (!wanted.ok()) return fault("has an intervention this program cannot read: " + wanted.error().message);
      logic_->intervene(JobId(number("job")), *wanted, text("by"), at, [](const Result<JobId>&) {});
    } else if (kind == "release") {
      logic_->intervene(JobId(number("job")), {"resume", {}, {}}, text("by"), at, [](const Result<JobId>&) {});
    } else if (kind == "lost") {
      logic_->declare_lost(text("server"), text("by"), at, [](const Status&) {});
    } else if (kind == "server_removed") {
      logic_->remove_server(text("server"), text("by"), at, [](const Status&) {});
    } else if (kind == "server_released") {
      logic_->release_server(text("server"), text("by"), at, [](const Status&) {});
    } else if (kind == "server_drained") {
      DrainRequest wanted{line.at("stops_jobs").as_bool()};
      if (line.contains("reason")) wanted.reason = text("reason");
      if (line.contains("deadline_us")) wanted.deadline_us = line.at("deadline_us").to_number<std::int64_t>();
      logic_->drain_server(text("server"), wanted, text("by"), at, [](const Status&) {});
    } else if (kind == "server_undrained") {
      logic_->undrain_server(text("server"), text("by"), at, [](const Status&) {});
    } else if (kind == "stopping") {
      logic_->stop_jobs(json::value_to<std::vector<std::string>>(line.at("servers")), text("why"), at,
                        [](const Status&) {});
    } else if (kind == "profile") {
      auto profile = wire::parse_profile(text("profile"));
      if (!profile.ok()) return fault("has a profile this program cannot read: " + profile.error().message);
      logic_->put_profile(std::move(*profile), by, at, [](const Status&) {});
    } else if (kind == "profile_removed") {
      logic_->remove_profile(text("family"), by, at, [](const Status&) {});
    } else if (kind == "history_removed") {
      auto removal = wire::read_json<store::Removal>(json::serialize(line.at("removal")), wire::Unknown::ignore);
      if (!removal.ok()) return fault("has a removal this program cannot read: " + removal.error().message);
      logic_->remove_history(std::move(*removal), at, [](const Status&) {});
    } else if (kind == "noted") {
      auto events = wire::from_value<std::vector<store::EventRow>>(line.at("events"), wire::Unknown::ignore);
      if (!events.ok()) return fault("has events this program cannot read: " + events.error().message);
      std::vector<store::SettingRow> settings;
      if (const json::value* given = line.if_contains("settings")) {
        auto read = wire::from_value<std::vector<store::SettingRow>>(*given, wire::Unknown::ignore);
        if (!read.ok()) return fault("has settings this program cannot read: " + read.error().message);
        settings = std::move(*read);
      }
      logic_->note(
          *events, at, [](const Status&) {}, settings);
    } else if (kind == "policy") {
      logic_->set_policy(change_in(line), text("by"), at, [](const Status&) {});
      note_policy();
    } else if (kind == "policy_planned") {
      logic_->plan_policy(change_in(line), Instant{number("planned_for")}, text("by"), at, [](const Status&) {});
    } else if (kind == "policy_called_off") {
      logic_->call_off_policy(text("by"), at, [](const Status&) {});
    } else if (kind == "policy_made") {
      if (echo_.wanted.empty()) return note_difference(json::serialize(line)), Status();
      const PolicyChange change = std::move(echo_.wanted.front());
      echo_.wanted.pop_front();
      logic_->on_policy_made(make(change, line.if_contains("failure")), at);
      note_policy();
    } else {
      return fault("has an input of another version of this program: " + kind);
    }
    return {};
  }

  static PolicyChange change_in(const json::object& line) {
    PolicyChange change{.name = line.at("name").as_string().c_str()};
    for (const auto& [name, value] : line.at("parameters").as_object())
      change.parameters.emplace_back(name, value.as_string().c_str());
    if (const auto* source = line.if_contains("source")) change.source = source->as_string().c_str();
    if (const auto* reason = line.if_contains("reason")) change.reason = reason->as_string().c_str();
    return change;
  }

  // A policy that could not be made then is not tried again.
  Result<MadePolicy> make(const PolicyChange& change, const json::value* failure) const {
    if (failure) return invalid("policy-failed", failure->as_string().c_str());
    if (make_policy_) return make_policy_(change.name, change.source, change.parameters);
    return unavailable("no-own-policies", "only built-in policies can be replayed");
  }
  void note_policy() {
    const store::PolicyRow& now = logic_->policies().in_force();
    if (now.since_us == policy_since_us_ && now.name == replay_.policies.back()) return;
    replay_.policies.push_back(now.name);
    policy_since_us_ = now.since_us;
  }

  void compare(const std::string& recorded) {
    if (!echo_.outputs.empty() && echo_.outputs.front() == recorded) return echo_.outputs.pop_front();
    note_difference(recorded);
  }
  void note_difference(const std::string& recorded) {
    const std::string replayed = echo_.outputs.empty() ? "" : echo_.outputs.front();
    if (!echo_.outputs.empty()) echo_.outputs.pop_front();
    if (++replay_.differences <= differences_shown) replay_.first.push_back({line_, recorded, replayed});
  }

  const OwnPolicyMaker& make_policy_;
  Echo echo_;
  std::unique_ptr<Logic> logic_;
  Replay replay_;
  std::size_t line_ = 0;
  std::int64_t policy_since_us_ = 0;
};

}  // namespace

std::optional<json::object> order_line(SessionId session, const wire::ControllerMessage& message) {
  const bool decides =
      std::holds_alternative<wire::StartAttempt>(message) || std::holds_alternative<wire::LaunchAttempt>(message) ||
      std::holds_alternative<wire::StopAttempt>(message) || std::holds_alternative<wire::SignalAttempt>(message) ||
      std::holds_alternative<wire::ResizeAttempt>(message) || std::holds_alternative<wire::FreezeAttempt>(message) ||
      std::holds_alternative<wire::ThawAttempt>(message) || std::holds_alternative<wire::ForgetAttempt>(message);
  if (!decides) return std::nullopt;
  return json::object{{"order", json::parse(wire::encode(message))}, {"session", session}};
}

json::object event_line(const store::EventRow& row) { return {{"event", wire::to_value(row)}}; }

Result<Replay> replay(const std::string& path, const OwnPolicyMaker& make_policy) {
  if (std::error_code unknown; std::filesystem::is_directory(path, unknown))
    return invalid("not-a-file", path + " is a folder").hint("name the recording inside it");
  std::ifstream in(path, std::ios::binary);
  if (!in) return not_found("no-such-file", "cannot read " + path);
  return Player(make_policy).play(in);
}

std::string replay_text(const Replay& replay) {
  std::string text =
      fmt::format("{} inputs, {} jobs, {} orders, {} events\npolicies     {}\ndifferences  {}\n", replay.inputs,
                  replay.jobs, replay.orders, replay.events, fmt::join(replay.policies, " → "), replay.differences);
  for (const Difference& difference : replay.first) {
    text += fmt::format("\nline {}\n  recorded  {}\n  replayed  {}\n", difference.line,
                        difference.recorded.empty() ? "nothing" : difference.recorded,
                        difference.replayed.empty() ? "nothing" : difference.replayed);
  }
  if (replay.is_cut) text += "its end is missing: the controller was killed while writing it\n";
  return text;
}

std::string replay_json(const Replay& replay) {
  json::array first;
  for (const Difference& difference : replay.first)
    first.push_back(
        json::object{{"line", difference.line}, {"recorded", difference.recorded}, {"replayed", difference.replayed}});
  return json::serialize(json::object{{"inputs", replay.inputs},
                                      {"jobs", replay.jobs},
                                      {"orders", replay.orders},
                                      {"events", replay.events},
                                      {"policies", json::value_from(replay.policies)},
                                      {"differences", replay.differences},
                                      {"first", std::move(first)},
                                      {"is_cut", replay.is_cut}}) +
         "\n";
}

}  // namespace sl::controller
