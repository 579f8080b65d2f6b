#include "cli/set.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/whole_number.h"
#include "cli/job_file_errors.h"
#include "cli/render.h"
#include "wire/json.h"
#include "wire/notify.h"

namespace sl::cli {
namespace {

std::string list_text(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string sentence(const std::vector<std::string>& has, const std::vector<std::string>& is,
                     const std::vector<std::string>& says) {
  std::string text = has.empty() ? "" : " has " + list_text(has);
  if (!is.empty()) text += (text.empty() ? " is " : " and is ") + list_text(is);
  if (!text.empty()) text += " from now on";
  for (const std::string& each : says) text += (text.empty() ? ": " : "; ") + each;
  return text;
}

std::string place_text(const json::value& position) {
  return position.is_number() ? std::to_string(position.to_number<int>()) : "none";
}

void say_preview(const json::value& preview) {
  const json::value& known = value_at(preview, "changes");
  const json::array changes = known.is_array() ? known.get_array() : json::array();
  std::printf("dry run:%s\n", changes.empty() ? " nothing changes" : "");
  for (const json::value& change : changes)
    std::printf("  job %lld %s  %s\n", static_cast<long long>(number_at(change, "id")), name_text(change).c_str(),
                for_terminal(text_at(change, "change")).c_str());
  const json::value& line = value_at(preview, "line");
  if (line.is_object())
    std::printf("  place in line under policy %s: %s, then %s\n", text_at(line, "policy").c_str(),
                place_text(value_at(line, "position_before")).c_str(), place_text(value_at(line, "position")).c_str());
}

}  // namespace

Result<SetCommand::Request> SetCommand::request() const {
  Request request;
  for (const auto& [key, value] : values_) {
    request.body[key] = value;
    if (key == "before") {
      request.is.push_back("served before job " + value + ", under policies that heed priorities");
    } else if (key == "max_running") {
      request.says.push_back((value == "0" ? "any number" : "at most " + value) + " of its members run at once");
    } else if (key == "servers") {
      request.says.push_back("its GPUs may be on " + (value == "1" ? "1 server" : value + " servers"));
    } else {
      request.has.push_back((key == "time_limit_s" ? "time limit" : key == "name" ? "the name" : key) + " " + value);
    }
  }
  json::array notify;
  for (const std::string& flag : notify_) {
    wire::NotifySpec wanted = wire::parse_notify_flag(flag);
    if (wanted.on == std::vector<std::string>{"none"}) wanted.on.clear();
    request.says.push_back(wanted.on.empty() ? wanted.to + " is not told of it any more"
                                             : wanted.to + " is told of it: " + list_text(wanted.on));
    notify.push_back(wire::to_value(wanted));
  }
  if (!notify.empty()) request.body["notify"] = std::move(notify);
  // What is no number is named by the controller.
  for (const char* key : {"priority", "servers", "before", "max_running"}) {
    const auto at = values_.find(key);
    const auto number = at == values_.end() ? std::nullopt : parse_whole_number(at->second);
    if (number) request.body[key] = *number;
  }
  json::object labels;
  for (const std::string& label : labels_) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid("bad-label", "a label is KEY=VALUE: " + label)
          .hint("--label project=vision, --label project= to remove it");
    const std::string name = label.substr(0, equals), value = label.substr(equals + 1);
    labels[name] = value.empty() ? json::value() : json::value(value);
    request.has.push_back(value.empty() ? "no label " + name : "label " + label);
  }
  if (!labels.empty()) request.body["labels"] = std::move(labels);
  for (const auto& [key, value] : flags_) {
    request.body[key] = value;
    request.is.push_back(key == "first" ? "first in line, under policies that heed priorities"
                         : value        ? "held"
                                        : "no longer held");
  }
  return request;
}

int SetCommand::set() const {
  const Context context = context_();
  Result<Request> request = this->request();
  if (!request.ok()) return fail(request.error());
  if (request->body.empty())
    return fail(invalid("nothing-to-change", "say what to change")
                    .hint("schedulearn set 5 --priority 10")
                    .hint("schedulearn set --help"));
  const auto ids = select_jobs(context, selectors_);
  if (!ids.ok()) return fail(ids.error());
  if (json::value* before = request->body.if_contains("before"); before && before->is_string()) {
    const auto found = select_jobs(context, {std::string(before->as_string())});
    if (!found.ok()) return fail(found.error());
    if (found->size() != 1)
      return fail(invalid("one-job", "--before names one job").hint("schedulearn set 7 --before 5"));
    *before = found->front();
  }
  int status = 0;
  for (const std::int64_t id : *ids) {
    const std::string path = fmt::format("/api/v1/jobs/{}{}", id, dry_run_ ? "?dry_run=true" : "");
    const Result<json::value> job = context.call("PATCH", path, json::serialize(request->body));
    if (!job.ok()) {
      status = fail(job.error());
    } else if (context.as_json) {
      context.print_json(*job);
    } else if (dry_run_) {
      say_preview(*job);
    } else if (!context.quiet) {
      std::printf("%s job %lld %s%s\n", state_text(context, text_at(*job, "state")).c_str(), static_cast<long long>(id),
                  name_text(*job).c_str(), sentence(request->has, request->is, request->says).c_str());
    }
  }
  return status;
}

void SetCommand::add_to(CLI::App& app) {
  CLI::App* set = command_(
      app, "set",
      "Change jobs that have not ended: priority, GPUs, servers, time limit, name, labels, notifications, hold.",
      "  schedulearn set 5 --priority 10\n  schedulearn set 5-9 --gpus 1..4\n  schedulearn set 7 --first\n"
      "  schedulearn set 7 --before 5 --dry-run\n  schedulearn set 7 --notify team\n"
      "  schedulearn set 12 --max-running 8\n",
      [this] { return this->set(); });
  set->add_option("job", selectors_, "5, 1-5, 12_3 (of an array), last, all or a name")->required();
  const auto value = [&](const char* option, const char* key, const char* what) {
    set->add_option_function<std::string>(
        option, [this, key](const std::string& text) { values_[key] = text; }, what);
  };
  value("--priority", "priority", "higher is served first, under policies that heed it");
  value("--before", "before",
        "served right before this job, by number or name; jobs in front of it get higher priorities if they need them");
  value("--gpus", "gpus", "2, or 1..4; only while the job waits");
  value("--servers", "servers", "its GPUs may be on so many servers; only while the job waits");
  value("--max-running", "max_running", "of an array: as many of its members at once; 0: any number");
  value("--time-limit", "time_limit_s", "90s, 15m, 2h: it is stopped after running this long");
  set->add_option("--notify", notify_,
                  "CHANNEL, or failed,preempted=CHANNEL, also tells you of it; none=CHANNEL does not")
      ->allow_extra_args(false);
  value("--name", "name", "a new name; what is known of trainings of the old one still counts");
  set->add_option("--label", labels_, "KEY=VALUE, or KEY= to remove it")->allow_extra_args(false);
  const auto flag = [&](const char* option, const char* key, bool on, const char* what) {
    return set->add_flag_callback(
        option, [this, key, on] { flags_[key] = on; }, what);
  };
  CLI::Option* hold = flag("--hold", "hold", true, "a waiting job waits until --release");
  flag("--release", "hold", false, "it waits for GPUs again")->excludes(hold);
  flag("--first", "first", true, "a priority above all others that wait");
  set->add_flag("-n,--dry-run", dry_run_, "only say what would change, and the place in line that follows");
}

}  // namespace sl::cli
