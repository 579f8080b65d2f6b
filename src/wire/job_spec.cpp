// From the documents users write to a JobSpec. TOML and JSON share one path: TOML becomes a JSON value first.
//
// A JSON document may use the keys of the job file ([time] limit, [resources] memory) or those of REST's `spec`
// (time_limit_s, resources.memory_bytes), and the five keys of the original API; a JobSpec that was written out is
// read back as itself.
#include "wire/job_spec.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "wire/job_file.h"
#include "wire/json.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

constexpr std::int64_t gpus_beyond = 1'000'000;  // any count from here on is refused alike by validate()

struct NotYet {
  std::string_view pointer;
  std::string_view instead;
};
// Keys that exist in the design and are not carried out yet: refused plainly, never ignored.
constexpr NotYet not_yet[] = {
    {"/image", "containers cannot be started yet; leave image out and give a command that runs on the server"},
    {"/snapshot", "the code runs where it lies; leave snapshot out"},
    {"/setup", "put the set-up into the command"},
    {"/after", "submit the second job when the first has ended: schedulearn wait ID"},
    {"/after_any", "submit the second job when the first has ended: schedulearn wait ID"},
    {"/not_before", "submit the job when it may start"},
    {"/time/not_before", "submit the job when it may start"},
    {"/array", "submit the jobs one by one"},
    {"/matrix", "submit the jobs one by one"},
    {"/secrets", "read secrets from a file with the right permissions"},
    {"/mounts", "use absolute paths"},
    {"/notify", "use schedulearn wait ID"},
    {"/on_log", "leave on_log out"},
    {"/metrics", "report through $SCHEDULEARN_METRICS_FILE"},
    {"/progress", "report through $SCHEDULEARN_METRICS_FILE"},
    {"/env_file", "list the variables under [env]"},
    {"/resources/on", "ask for a GPU type: [resources] gpu_type"},
    {"/resources/not_on", "ask for a GPU type: [resources] gpu_type"},
    {"/resources/share", "leave share out; a job has its GPUs to itself"},
    {"/checkpoint/every", "save as often as you like; leave every out"},
    {"/retry/backoff", "leave backoff out; a retry waits in the queue"},
};

// What a newer client writes for "nothing of the kind".
bool asks_nothing(const json::value& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty()) ||
         (value.is_string() && (value.get_string().empty() || value.get_string() == "none"));
}

// Empty when there is no such key in the design.
std::optional<Status> status_of_unsupported(const std::string& pointer, const json::value& value) {
  const auto* found =
      std::find_if(std::begin(not_yet), std::end(not_yet), [&](const NotYet& key) { return key.pointer == pointer; });
  if (found == std::end(not_yet)) return std::nullopt;
  if (asks_nothing(value)) return Status();
  return invalid("not-supported-yet", pointer.substr(pointer.rfind('/') + 1) + " is not supported yet")
      .hint(std::string(found->instead))
      .at(pointer);
}

// Copies the value at `key` of an object (moving it out, so that leftovers are unknown keys) and converts it. The first
// error stays.
class Keys {
 public:
  Keys(json::object object, std::string at) : object_(std::move(object)), at_(std::move(at)) {}

  template <typename T>
  Keys& take(const char* key, T& into) {
    return with(
        key, [&](const json::value& v, const std::string& at) { return detail::read(v, into, Unknown::reject, at); });
  }
  // A quantity: a number, or a text that `parse` understands.
  template <typename T, typename Parse>
  Keys& take(const char* key, T& into, Parse parse) {
    return with(key, [&](const json::value& v, const std::string& at) { return read_quantity(v, into, parse, at); });
  }
  template <typename Use>
  Keys& with(const char* key, Use use) {
    known_.push_back(key);
    const auto found = object_.find(key);
    if (found == object_.end()) return *this;
    const json::value value = std::move(found->value());
    object_.erase(found);
    if (status_.ok()) status_ = use(value, at_ + "/" + key);
    return *this;
  }
  // The object at `key`, with keys of its own.
  template <typename Fill>
  Keys& section(const char* key, Fill fill) {
    return with(key, [&](const json::value& v, const std::string& at) -> Status {
      if (v.is_null()) return {};
      if (!v.is_object()) return detail::wrong_type(at, "a table");
      Keys keys(v.get_object(), at);
      fill(keys);
      return keys.finish();
    });
  }
  Status finish() {
    if (!status_.ok()) return status_;
    for (const auto& [key, value] : object_) {
      const auto unsupported = status_of_unsupported(detail::pointer_to(at_, key), value);
      if (!unsupported) return detail::unknown_key(at_, key, known_);
      if (!unsupported->ok()) return *unsupported;
    }
    return {};
  }

 private:
  template <typename T, typename Parse>
  static Status read_quantity(const json::value& v, T& into, Parse parse, const std::string& at) {
    using Number = std::decay_t<decltype(*parse(""))>;
    if (v.is_null()) return {};
    if (v.is_number()) {
      const auto number = v.to_number<double>();
      if (!(std::abs(number) < 9e18)) return detail::wrong_type(at, "a number of a sensible size");
      into = static_cast<Number>(number);
      return {};
    }
    if (!v.is_string()) return detail::wrong_type(at, "a number or a text like \"90s\" or \"4GiB\"");
    auto parsed = parse(std::string_view(v.get_string()));
    if (!parsed.ok()) return Error(parsed.error()).at(at);
    into = *parsed;
    return {};
  }

  json::object object_;
  std::string at_;
  std::vector<std::string_view> known_;
  Status status_;
};

Status read_gpus(const json::value& value, const std::string& at, GpuRange& into) {
  if (value.is_object()) return detail::read(value, into, Unknown::reject, at);
  if (value.is_string()) {
    const auto parsed = parse_gpus(std::string_view(value.get_string()));
    if (!parsed.ok()) return Error(parsed.error()).at(at);
    into = *parsed;
    return {};
  }
  const double count = value.is_number() ? value.to_number<double>() : 0.5;
  if (count != std::floor(count)) return detail::wrong_type(at, "a whole number or a range like \"1..4\"");
  into.min = into.max = static_cast<int>(std::clamp<double>(count, -1, gpus_beyond));
  return {};
}

void read_resources(Keys& keys, ResourceSpec& into) {
  keys.take("cpus", into.cpus)
      .take("memory", into.memory_bytes, parse_bytes)
      .take("memory_bytes", into.memory_bytes, parse_bytes)
      .take("gpu_memory", into.gpu_memory_bytes, parse_bytes)
      .take("gpu_memory_bytes", into.gpu_memory_bytes, parse_bytes)
      .take("shm", into.shm_bytes, parse_bytes)
      .take("shm_bytes", into.shm_bytes, parse_bytes);
  keys.with("gpu_type", [&](const json::value& type, const std::string& at) {
    if (type.is_string()) return detail::read(type, into.gpu_type.emplace_back(), Unknown::reject, at);
    return detail::read(type, into.gpu_type, Unknown::reject, at);
  });
}

void read_times(Keys& keys, JobSpec& into) {
  keys.take("time_limit_s", into.time_limit_s, parse_duration_s)
      .take("estimate_s", into.estimate_s, parse_duration_s)
      .take("deadline_s", into.deadline_s, parse_duration_s);
  keys.section("time", [&](Keys& k) {
    k.take("limit", into.time_limit_s, parse_duration_s)
        .take("estimate", into.estimate_s, parse_duration_s)
        .take("deadline", into.deadline_s, parse_duration_s);
  });
}

void read_interruptions(Keys& keys, JobSpec& into) {
  keys.take("hold", into.hold)
      .take("preemptible", into.preemptible)
      .take("preempt", into.preemptible)
      .take("migratable", into.migratable)
      .take("migrate", into.migratable)
      .take("on_partition", into.on_partition)
      .take("output_limit", into.output_limit_bytes, parse_bytes)
      .take("output_limit_bytes", into.output_limit_bytes, parse_bytes);
  keys.section("checkpoint", [&](Keys& k) {
    k.take("dir", into.checkpoint.dir)
        .take("signal", into.checkpoint.signal)
        .take("grace", into.checkpoint.grace_s, parse_duration_s)
        .take("grace_s", into.checkpoint.grace_s, parse_duration_s);
  });
  keys.section("retry", [&](Keys& k) { k.take("max", into.retry.max).take("on", into.retry.on); });
}

void read_job(Keys& keys, JobSpec& into) {
  keys.take("name", into.name)
      .take("user", into.user)
      .take("command", into.command)
      .take("framework", into.framework)
      .take("launch", into.launch)
      .take("servers", into.servers)
      .take("workdir", into.workdir)
      .take("env", into.env)
      .take("labels", into.labels)
      .take("priority", into.priority);
  keys.with("gpus", [&](const json::value& v, const std::string& at) { return read_gpus(v, at, into.gpus); });
  keys.section("resources", [&](Keys& k) { read_resources(k, into.resources); });
  read_times(keys, into);
  read_interruptions(keys, into);
}

// The five keys of the original API under their present names.
void translate_original(json::object& object) {
  constexpr std::pair<const char*, const char*> names[] = {
      {"type", "framework"}, {"container_image", "image"}, {"required_gpus", "gpus"}};
  for (const auto& [old_name, name] : names) {
    const auto found = object.find(old_name);
    if (found == object.end() || object.contains(name)) continue;
    json::value value = std::move(found->value());
    object.erase(found);
    if (!(value.is_string() && value.get_string().empty())) object[name] = std::move(value);
  }
}

std::string absolute(const std::string& path, const std::string& base_dir) {
  if (!path.empty() && path[0] == '~' && (path.size() == 1 || path[1] == '/')) return path;  // the agent knows the home
  std::string result = (std::filesystem::path(base_dir) / path).lexically_normal().string();
  while (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

}  // namespace

Result<JobSpec> job_from_json(json::object object, const std::string& base_dir) {
  translate_original(object);
  JobSpec spec;
  Keys keys(std::move(object), "");
  read_job(keys, spec);
  if (Status status = keys.finish(); !status.ok()) return status.error();
  spec.workdir = absolute(spec.workdir, base_dir);
  if (Status status = validate(spec); !status.ok()) return status.error();
  return spec;
}

Result<JobSpec> parse_job_json(std::string_view text, const std::string& base_dir) {
  Result<json::value> value = parse_json(text);
  if (!value.ok()) return value.error();
  if (!value->is_object()) return detail::wrong_type("", "an object");
  return job_from_json(std::move(value->get_object()), base_dir);
}

}  // namespace sl::wire
