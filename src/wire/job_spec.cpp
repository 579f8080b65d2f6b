// Reads the documents that users write into a JobSpec. TOML and JSON share one path: TOML becomes a JSON value first.
//
// A JSON document may use the keys of the job file ([time] limit, [resources] memory) or those of REST's `spec`
// (time_limit_s, resources.memory_bytes), and the five keys of the original API; a JobSpec that was written out
// reads back as itself.
#include "wire/job_spec.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "wire/intervention.h"
#include "wire/job_file.h"
#include "wire/json.h"
#include "wire/keys.h"
#include "wire/members.h"
#include "wire/request_schemas.h"
#include "wire/utf8.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

constexpr std::int64_t gpus_beyond = 1'000'000;  // any count from here on is refused by validate()

// Reads a list: these numbers of GPUs and no others.
Status read_gpu_list(const json::value& value, const std::string& at, GpuRange& into) {
  if (Status status = detail::read(value, into.allowed, Unknown::reject, at); !status.ok()) return status;
  if (into.allowed.empty()) return invalid("bad-gpus", "the list of numbers of GPUs is empty").at(at);
  std::ranges::sort(into.allowed);
  into.min = into.allowed.front();
  into.max = into.allowed.back();
  return {};
}

Status read_gpus(const json::value& value, const std::string& at, GpuRange& into) {
  if (value.is_object()) return detail::read(value, into, Unknown::reject, at);
  if (value.is_array()) return read_gpu_list(value, at, into);
  if (value.is_string()) {
    const auto parsed = parse_gpus(std::string_view(value.get_string()));
    if (!parsed.ok()) return Error(parsed.error()).at(at);
    into = *parsed;
    return {};
  }
  const double count = value.is_number() ? value.to_number<double>() : 0.5;
  if (count != std::floor(count)) return detail::wrong_type(at, "a whole number, a range like \"1..4\" or a list");
  into.min = into.max = static_cast<int>(std::clamp<double>(count, -1, gpus_beyond));
  return {};
}

// The unit is in the description's brackets.
json::object schema_of_key(const TrainingKey& key) {
  json::object schema = key.unit.empty() ? detail::or_null(detail::type("string")) : detail::quantity();
  schema["description"] = std::string(key.meaning) + (key.unit.empty() ? "" : " (" + std::string(key.unit) + ")");
  return schema;
}

void read_training(Keys& keys, TrainingSpec& into) {
  for (const TrainingKey& key : training_keys())
    keys.with(
        key.name, [&](const json::value& v, const std::string& at) { return key.read(v, at, into); },
        schema_of_key(key));
}

// Reads a number, or the text of a flag.
Status read_weight(const json::value& value, const std::string& at, double& into) {
  if (!value.is_string()) return detail::read(value, into, Unknown::reject, at);
  const std::string text(value.get_string());
  char* end = nullptr;
  into = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? Status(detail::wrong_type(at, "a number")) : Status();
}

// One word, or a list; with a separator, one text may hold several (flags do).
Status read_words(const json::value& value, const std::string& at, char separator, std::vector<std::string>& into) {
  if (!value.is_string()) return detail::read(value, into, Unknown::reject, at);
  std::string_view rest = value.get_string();
  while (!rest.empty()) {
    const std::size_t end = separator == '\0' ? rest.size() : std::min(rest.find(separator), rest.size());
    into.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

void read_resources(Keys& keys, ResourceSpec& into) {
  keys.take("cpus", into.cpus)
      .take("memory", into.memory_bytes, parse_bytes)
      .take("memory_bytes", into.memory_bytes, parse_bytes)
      .take("gpu_memory", into.gpu_memory_bytes, parse_bytes)
      .take("gpu_memory_bytes", into.gpu_memory_bytes, parse_bytes)
      .take("shm", into.shm_bytes, parse_bytes)
      .take("shm_bytes", into.shm_bytes, parse_bytes)
      .take("processes", into.processes)
      .take("pin_cpus", into.pin_cpus)
      .take("share", into.share);
  keys.with("gpu_type", [&](const json::value& type, const std::string& at) {
    if (type.is_string()) return detail::read(type, into.gpu_type.emplace_back(), Unknown::reject, at);
    return detail::read(type, into.gpu_type, Unknown::reject, at);
  });
  keys.with("on", [&](const json::value& v, const std::string& at) { return read_words(v, at, ',', into.on); });
  keys.with("not_on", [&](const json::value& v, const std::string& at) { return read_words(v, at, ',', into.not_on); });
}

void read_times(Keys& keys, JobSpec& into) {
  const auto not_before = [&](const json::value& v, const std::string& at) { return read_not_before(v, at, into); };
  keys.with("not_before", not_before);
  keys.with("after", [&](const json::value& v, const std::string& at) { return read_after(v, at, into.after); });
  keys.with("after_any",
            [&](const json::value& v, const std::string& at) { return read_after(v, at, into.after_any); });
  keys.take("time_limit_s", into.time_limit_s, parse_duration_s)
      .take("estimate_s", into.estimate_s, parse_duration_s)
      .take("deadline_s", into.deadline_s, parse_duration_s);
  keys.section("time", [&](Keys& k) {
    k.take("limit", into.time_limit_s, parse_duration_s)
        .take("estimate", into.estimate_s, parse_duration_s)
        .take("deadline", into.deadline_s, parse_duration_s)
        .with("not_before", not_before);
  });
}

void read_interruptions(Keys& keys, JobSpec& into) {
  keys.take("hold", into.hold)
      .take("preemptible", into.preemptible)
      .take("preempt", into.preemptible)
      .take("freeze", into.freeze)
      .take("resize", into.resize)
      .take("migratable", into.migratable)
      .take("migrate", into.migratable)
      .take("on_partition", into.on_partition)
      .take("output_limit", into.output_limit_bytes, parse_bytes)
      .take("output_limit_bytes", into.output_limit_bytes, parse_bytes);
  keys.section("checkpoint", [&](Keys& k) {
    k.take("dir", into.checkpoint.dir)
        .take("signal", into.checkpoint.signal)
        .take("grace", into.checkpoint.grace_s, parse_duration_s)
        .take("grace_s", into.checkpoint.grace_s, parse_duration_s)
        .take("every", into.checkpoint.every_s, parse_duration_s)
        .take("every_s", into.checkpoint.every_s, parse_duration_s);
  });
  keys.section("retry", [&](Keys& k) {
    k.take("max", into.retry.max)
        .take("on", into.retry.on)
        .take("backoff", into.retry.backoff_s, parse_duration_s)
        .take("backoff_s", into.retry.backoff_s, parse_duration_s);
  });
  keys.section("progress", [&](Keys& k) {
    ProgressSpec& progress = into.progress ? *into.progress : into.progress.emplace();
    k.take("pattern", progress.pattern).take("total", progress.total);
  });
  keys.with("setup", [&](const json::value& v, const std::string& at) { return read_words(v, at, '\0', into.setup); });
}

// "git" asks for a snapshot; the object says what is in one that has been taken.
Status read_snapshot(const json::value& value, const std::string& at, std::optional<SnapshotSpec>& into) {
  if (value.is_null() || value == json::value("none") || value == json::value("")) return into.reset(), Status();
  if (!value.is_string()) return detail::read(value, into, Unknown::reject, at);
  into.emplace().kind = value.get_string();
  return {};
}

// "notebook = 8888", or a table.
Status read_port(const json::value& value, const std::string& at, PortSpec& into) {
  if (value.is_object()) return detail::read(value, into, Unknown::reject, at);
  if (!value.is_number()) return detail::wrong_type(at, "the number of a port, 0 for any, or a table");
  return detail::read(value, into.port, Unknown::reject, at);
}

Status read_ports(const json::value& value, const std::string& at, std::map<std::string, PortSpec>& into) {
  if (value.is_null()) return {};
  if (!value.is_object()) return detail::wrong_type(at, "a table: names and numbers of ports");
  for (const auto& [name, port] : value.get_object()) {
    if (Status read = read_port(port, detail::pointer_to(at, name), into[std::string(name)]); !read.ok()) return read;
  }
  return {};
}

void read_job(Keys& keys, JobSpec& into) {
  keys.take("name", into.name)
      .take("user", into.user)
      .take("command", into.command)
      .take("image", into.image)
      .take("mounts", into.mounts)
      .take("secrets", into.secrets)
      .take("notify", into.notify)
      .take("framework", into.framework)
      .take("launch", into.launch)
      .take("pty", into.pty)
      .take("servers", into.servers)
      .take("workdir", into.workdir)
      .take("env", into.env)
      .take("labels", into.labels)
      .take("priority", into.priority);
  keys.with("weight", [&](const json::value& v, const std::string& at) { return read_weight(v, at, into.weight); });
  keys.with("gpus", [&](const json::value& v, const std::string& at) { return read_gpus(v, at, into.gpus); });
  keys.with("roles", [&](const json::value& v, const std::string& at) { return read_roles(v, at, into.roles); });
  keys.with("ports", [&](const json::value& v, const std::string& at) { return read_ports(v, at, into.ports); });
  keys.with("snapshot",
            [&](const json::value& v, const std::string& at) { return read_snapshot(v, at, into.snapshot); });
  keys.section("resources", [&](Keys& k) { read_resources(k, into.resources); });
  keys.section("training", [&](Keys& k) { read_training(k, into.training); });
  read_members(keys, into);
  read_times(keys, into);
  read_interruptions(keys, into);
}

// Keys of the original API, and what they are called now.
constexpr std::pair<const char*, const char*> original_names[] = {
    {"type", "framework"}, {"container_image", "image"}, {"required_gpus", "gpus"}};

void translate_original(json::object& object) {
  for (const auto& [old_name, name] : original_names) {
    const auto found = object.find(old_name);
    if (found == object.end() || object.contains(name)) continue;
    json::value value = std::move(found->value());
    object.erase(found);
    if (value.is_string() && value.get_string().empty()) continue;
    object[name] = std::move(value);
    // A container of the original runs its command under Horovod, one process for each GPU.
    if (std::string_view(name) == "image" && !object.contains("launch")) object["launch"] = "horovod";
  }
}

std::string absolute(const std::string& path, const std::string& base_dir) {
  // the agent knows the home directory
  if (!path.empty() && path[0] == '~' && (path.size() == 1 || path[1] == '/')) return path;
  if (base_dir.empty() && !path.empty() && path[0] != '/') return path;  // Submissions::check
  std::string result = (std::filesystem::path(base_dir.empty() ? "/" : base_dir) / path).lexically_normal().string();
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

// "data:/inside:rw": only the first part may be relative.
std::string absolute_mount(const std::string& mount, const std::string& base_dir) {
  const std::size_t colon = mount.find(':');
  const std::string from = mount.substr(0, colon);
  if (from.empty() || from[0] == '~') return mount;
  return absolute(from, base_dir) + (colon == std::string::npos ? "" : mount.substr(colon));
}

}  // namespace

Result<JobSpec> job_from_json(json::object object, const std::string& base_dir) {
  translate_original(object);
  JobSpec spec;
  const bool says_gpus = object.contains("gpus");
  Keys keys(std::move(object), "");
  read_job(keys, spec);
  if (Status status = keys.finish(); !status.ok()) return status.error();
  if (!spec.image || !spec.workdir.empty() || spec.snapshot) spec.workdir = absolute(spec.workdir, base_dir);
  for (std::string& mount : spec.mounts) mount = absolute_mount(mount, base_dir);
  if (Status status = apply_roles(spec, says_gpus); !status.ok()) return status.error();
  if (Status status = validate(spec); !status.ok()) return status.error();
  return spec;
}

namespace {

void read_change(Keys& keys, JobChange& change) {
  keys.take("priority", change.priority);
  keys.with("gpus", [&](const json::value& v, const std::string& at) {
    return v.is_null() ? Status() : read_gpus(v, at, change.gpus.emplace());
  });
  keys.take("time_limit_s", change.time_limit_s, parse_duration_s);
  keys.section("time", [&](Keys& k) { k.take("limit", change.time_limit_s, parse_duration_s); });
  keys.take("name", change.name).take("hold", change.hold).take("first", change.first).take("before", change.before);
  keys.take("notify", change.notify).take("max_running", change.max_running).take("servers", change.servers);
  keys.with("labels", [&](const json::value& v, const std::string& at) -> Status {
    if (!v.is_object()) return detail::wrong_type(at, "an object");
    for (const auto& [name, text] : v.get_object()) {
      if (!text.is_string() && !text.is_null())
        return detail::wrong_type(at + "/" + std::string(name), "text, or null to remove the label");
      change.labels[name] = text.is_null() ? std::optional<std::string>() : std::string(text.get_string());
    }
    return {};
  });
}

void read_intervention(Keys& keys, Intervention& wanted) {
  if (wanted.verb == "migrate") keys.take("to", wanted.to);
  if (wanted.verb == "scale") {
    keys.with("gpus",
              [&](const json::value& v, const std::string& at) { return read_gpus(v, at, wanted.gpus.emplace()); });
  }
}

void read_cancellation(Keys& keys, Cancellation& wanted) {
  keys.take("reason", wanted.reason).take("now", wanted.now).take("signal", wanted.signal);
}

void read_signal_request(Keys& keys, SignalRequest& wanted) { keys.take("signal", wanted.signal); }

template <typename T>
Result<T> parse_body(std::string_view body, void (*read)(Keys&, T&)) {
  Result<json::value> value = parse_json(body.empty() ? "{}" : body);
  if (!value.ok()) return value.error();
  if (!value->is_object()) return detail::wrong_type("", "an object");
  T wanted;
  Keys keys(std::move(value->get_object()), "");
  read(keys, wanted);
  if (Status status = keys.finish(); !status.ok()) return status.error();
  return wanted;
}

// Of the keys that `read` reads into `into`.
template <typename T>
json::object schema_of_keys(void (*read)(Keys&, T&), T into) {
  json::object properties;
  Keys keys(properties);
  read(keys, into);
  return detail::object_of(std::move(properties), KeysOf::read);
}

}  // namespace

json::object job_schema() {
  json::object schema = schema_of_keys(read_job, JobSpec());
  json::object& properties = schema["properties"].get_object();
  for (const auto& [old_name, name] : original_names) properties[old_name] = properties[name];
  return schema;
}

json::object job_change_schema() { return schema_of_keys(read_change, JobChange()); }

json::object intervention_schema(const std::string& verb) {
  return schema_of_keys(read_intervention, Intervention{verb, {}, {}});
}

json::object cancellation_schema() { return schema_of_keys(read_cancellation, Cancellation()); }
json::object signal_schema() { return schema_of_keys(read_signal_request, SignalRequest()); }

Result<JobChange> parse_job_change(std::string_view text) {
  Result<json::value> value = parse_json(text);
  if (!value.ok()) return value.error();
  if (!value->is_object()) return detail::wrong_type("", "an object");
  JobChange change;
  Keys keys(std::move(value->get_object()), "");
  read_change(keys, change);
  if (Status status = keys.finish(); !status.ok()) return status.error();
  if (change.name && change.name->empty()) return invalid("bad-name", "a job cannot be without a name").at("/name");
  if ((change.first ? 1 : 0) + (change.before ? 1 : 0) + (change.priority ? 1 : 0) > 1)
    return invalid("bad-priority", "first, before and priority each set the priority: leave all but one out")
        .at(change.before ? "/before" : "/first");
  return change;
}

Result<Intervention> parse_intervention(const std::string& verb, std::string_view body) {
  Result<json::value> value = parse_json(body.empty() ? "{}" : body);
  if (!value.ok()) return value.error();
  if (!value->is_object()) return detail::wrong_type("", "an object");
  Intervention wanted{verb, {}, {}};
  Keys keys(std::move(value->get_object()), "");
  read_intervention(keys, wanted);
  if (Status status = keys.finish(); !status.ok()) return status.error();
  if (verb == "scale" && !wanted.gpus)
    return invalid("gpus-missing", "say how many GPUs the job shall have").hint("schedulearn scale 5 2").at("/gpus");
  return wanted;
}

Result<Cancellation> parse_cancellation(std::string_view body) {
  Result<Cancellation> wanted = parse_body(body, read_cancellation);
  if (!wanted.ok()) return wanted;
  if (Status plain = check_reason(wanted->reason); !plain.ok()) return plain.error();
  if (wanted->signal.empty()) return wanted;
  if (Status known = check_signal(wanted->signal); !known.ok()) return known.error();
  return wanted;
}

Result<SignalRequest> parse_signal_request(std::string_view body) {
  Result<SignalRequest> wanted = parse_body(body, read_signal_request);
  if (!wanted.ok()) return wanted;
  if (wanted->signal.empty())
    return invalid("bad-signal", "say which signal").hint("schedulearn signal 5 USR1").at("/signal");
  if (Status known = check_signal(wanted->signal); !known.ok()) return known.error();
  wanted->signal = plain_signal(wanted->signal);
  return wanted;
}

Status check_reason(const std::string& reason) {
  constexpr std::size_t longest = 200;
  const bool is_text = is_utf8(reason) && !has_control_characters(reason);
  if (is_text && reason.size() <= longest) return {};
  return invalid("bad-reason", "a reason has at most 200 bytes and no control characters").at("/reason");
}

bool concerns_its_run(JobChange change) {
  change.name.reset();
  change.labels.clear();
  change.notify.clear();
  return !change.is_empty();
}

JobSpec changed(JobSpec spec, const JobChange& change) {
  if (change.priority) spec.priority = *change.priority;
  if (change.gpus) spec.gpus = *change.gpus;
  if (change.servers) spec.servers = *change.servers;
  if (change.time_limit_s) spec.time_limit_s = change.time_limit_s;
  if (change.max_running) spec.max_running = *change.max_running;
  if (change.name && *change.name != spec.name) {
    if (!spec.training.family) spec.training.family = spec.name;  // it still trains like those of its old name
    spec.name = *change.name;
  }
  for (const auto& [name, value] : change.labels) {
    value ? static_cast<void>(spec.labels[name] = *value) : static_cast<void>(spec.labels.erase(name));
  }
  for (const NotifySpec& wanted : change.notify) {
    std::erase_if(spec.notify, [&](const NotifySpec& known) { return known.to == wanted.to; });
    if (!wanted.on.empty()) spec.notify.push_back(wanted);
  }
  return spec;
}

Result<JobSpec> parse_job_json(std::string_view text, const std::string& base_dir) {
  Result<json::value> value = parse_json(text);
  if (!value.ok()) return value.error();
  if (!value->is_object()) return detail::wrong_type("", "an object");
  return job_from_json(std::move(value->get_object()), base_dir);
}

}  // namespace sl::wire
