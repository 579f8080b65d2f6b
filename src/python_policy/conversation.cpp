#include "python_policy/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "python_policy/texts.h"

namespace sl::python_policy {
namespace {

namespace json = boost::json;

constexpr Duration longest_wait = Duration::whole_seconds(10L * 365 * 86400);

// Anything but an object counts as garbage.
std::optional<Fault> parse(const std::string& text, json::object& answer) {
  json::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object()) return Fault{"garbage", "its process wrote something that is not an answer", 0, ""};
  answer = std::move(value.get_object());
  const json::value* said = answer.if_contains("fault");
  if (!said) return std::nullopt;
  try {
    return Fault{said->at("kind").as_string().c_str(), said->at("message").as_string().c_str(),
                 said->at("line").to_number<int>(), said->at("function").as_string().c_str()};
  } catch (const std::exception&) {
    return Fault{"garbage", "its process wrote something that is not an answer", 0, ""};
  }
}

// If interruptions take no time, a policy that keeps undoing its decisions would stop the clock.
constexpr int asked_at_once_max = 2000;
Fault endless() {
  return {"rules",
          fmt::format("it was asked {} times at one instant: it stops and starts jobs for ever", asked_at_once_max), 0,
          ""};
}

// Includes the line itself, for readers who do not have the file open.
Error told(const Fault& fault, const Script& script) {
  Error error = to_error(fault, script.file);
  std::istringstream text(script.source);
  std::string line;
  for (int number = 0; number < fault.line; ++number) std::getline(text, line);
  if (fault.line > 0 && text && line.size() < 200) error.notes.push_back(fmt::format("line {}: {}", fault.line, line));
  return error;
}

// A message before the first decision, and its answer.
Result<json::object> prepare(Worker& worker, const Script& script, const json::object& message, const char* if_late,
                             const HostSettings& settings) {
  std::string text;
  Fault fault;
  if (!worker.exchange(json::serialize(message), settings.start_deadline * settings.patience, text, fault)) {
    if (fault.kind == "too-slow") fault.message = if_late;
    return told(fault, script);
  }
  json::object answer;
  if (const auto wrong = parse(text, answer)) return told(*wrong, script);
  return answer;
}

}  // namespace

Result<std::unique_ptr<Worker>> start_script(const Script& script, const HostSettings& settings, json::object& info) {
  auto worker = Worker::start({.file = script.file, .sandbox = settings.sandbox});
  if (!worker.ok()) return worker;
  const json::object hello = {{"api", policy_text}, {"file", script.file}, {"source", script.source}};
  auto answer = prepare(**worker, script, hello, "reading it takes longer than allowed", settings);
  if (!answer.ok()) return answer.error();
  const json::value* said = answer->if_contains("info");
  if (!said || !said->is_object()) return to_error({"garbage", "its process is not a policy host", 0, ""}, script.file);
  info = said->get_object();
  return worker;
}

Status begin_script(Worker& worker, const Script& script, const GivenParameters& parameters,
                    const HostSettings& settings) {
  json::object given;
  for (const auto& [name, value] : parameters) given[name] = value;
  const json::object begin = {{"parameters", std::move(given)}};
  const auto answer = prepare(worker, script, begin, "its __init__ takes longer than allowed", settings);
  return answer.ok() ? Status() : answer.error();
}

Conversation::Conversation(Script script, GivenParameters parameters, Duration deadline, HostSettings settings,
                           std::unique_ptr<Worker> begun)
    : script_(std::move(script)),
      parameters_(std::move(parameters)),
      deadline_(deadline),
      settings_(std::move(settings)),
      worker_(std::move(begun)) {}

// A process that has already received messages cannot be used again.
void Conversation::attach() {
  if (!mirror_.knows_nothing()) worker_.reset();
  mirror_.forget();
}

std::optional<json::object> Conversation::ask(const Snapshot& snapshot, Plan& plan) {
  if (failure_) return std::nullopt;
  times_asked_ = asked_at_ == snapshot.now ? times_asked_ + 1 : 1;
  asked_at_ = snapshot.now;
  if (times_asked_ > asked_at_once_max) {
    refuse(endless());
    return std::nullopt;
  }
  if (!worker_) {
    if (const Status started = start(); !started.ok()) {
      fail(started.error());
      return std::nullopt;
    }
  }
  json::object answer;
  if (const auto fault = exchange(snapshot, answer)) {
    refuse(*fault);
    return std::nullopt;
  }
  const json::value* wake = answer.if_contains("wake");
  if (wake && wake->is_int64() && wake->get_int64() > 0)
    plan.wake_at(snapshot.now + std::min(Duration{wake->get_int64()}, longest_wait));
  return answer;
}

std::optional<Fault> Conversation::exchange(const Snapshot& snapshot, json::object& answer) {
  std::string text;
  Fault fault;
  if (!worker_->exchange(json::serialize(mirror_.update(snapshot)), deadline_ * settings_.patience, text, fault)) {
    // The deadline as it was set: a replay, which has more patience, says the same.
    if (fault.kind == "too-slow")
      fault.message = fmt::format("no decision within {:g} ms", static_cast<double>(deadline_.us) / 1000);
    return fault;
  }
  if (auto wrong = parse(text, answer)) return wrong;
  for (const char* key : {"order", "actions"}) {
    if (const json::value* list = answer.if_contains(key); list && list->is_array()) return std::nullopt;
  }
  return Fault{"garbage", "its process wrote something that is not an answer", 0, ""};
}

Status Conversation::start() {
  json::object info;
  auto started = start_script(script_, settings_, info);
  if (!started.ok()) return started.error();
  worker_ = std::move(*started);
  return begin_script(*worker_, script_, parameters_, settings_);
}

void Conversation::refuse(const Fault& fault) { fail(told(fault, script_)); }

void Conversation::fail(Error error) {
  worker_.reset();
  if (settings_.on_fault) settings_.on_fault(error);
  failure_ = std::move(error);
}

JobIndex Conversation::job(const json::value& slot) const {
  if (!slot.is_int64() || slot.get_int64() < 0 || slot.get_int64() >= JobIndex::none().value) return JobIndex::none();
  const JobIndex index(static_cast<std::uint32_t>(slot.get_int64()));
  return mirror_.knows(index) ? index : JobIndex::none();
}

}  // namespace sl::python_policy
