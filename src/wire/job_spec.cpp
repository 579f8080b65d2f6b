// From the documents users write to a JobSpec. TOML and JSON share one path: TOML becomes a JSON value first.
#include "wire/job_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "wire/job_file.h"
#include "wire/json.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

constexpr int gpus_max = 4096;

// Keys of the job file that exist in the design and are not carried out yet: refused plainly, never ignored.
constexpr std::pair<std::string_view, std::string_view> not_yet[] = {
    {"image", "containers cannot be started yet; leave image out and give a command that runs on the server"},
    {"snapshot", "the code runs where it lies; leave snapshot out"},
    {"setup", "put the set-up into the command"},
    {"after", "submit the second job when the first has ended: schedulearn wait ID"},
    {"after_any", "submit the second job when the first has ended: schedulearn wait ID"},
    {"array", "submit the jobs one by one"},
    {"matrix", "submit the jobs one by one"},
    {"secrets", "read secrets from a file with the right permissions"},
    {"mounts", "use absolute paths"},
    {"notify", "use schedulearn wait ID"},
    {"on_log", "leave on_log out"},
    {"metrics", "report through $SCHEDULEARN_METRICS_FILE"},
    {"env_file", "list the variables under [env]"},
};

Error not_supported(std::string_view key, std::string_view instead) {
  return invalid("not-supported-yet", std::string(key) + " is not supported yet")
      .hint(std::string(instead))
      .at("/" + std::string(key));
}

// Copies the value at `key` of `from` (moving it out, so that leftovers are unknown keys) and converts it.
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
    return with(key, [&](const json::value& v, const std::string& at) -> Status {
      if (v.is_null()) return {};
      if (v.is_number()) {
        into = static_cast<std::decay_t<decltype(*parse(""))>>(v.to_number<double>());
        return {};
      }
      if (!v.is_string()) return detail::wrong_type(at, "a number or a text like \"90s\" or \"4GiB\"");
      auto parsed = parse(std::string_view(v.get_string()));
      if (!parsed.ok()) return Error(parsed.error()).at(at);
      into = *parsed;
      return {};
    });
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
  Status finish() {
    if (!status_.ok()) return status_;
    for (const auto& [key, value] : object_) {
      for (const auto& [name, instead] : not_yet) {
        if (key == name && !value.is_null() && !(value.is_array() && value.get_array().empty()))
          return not_supported(key, instead);
        if (key == name) goto next;
      }
      {
        std::vector<std::string_view> known(known_.begin(), known_.end());
        return detail::unknown_key(at_, key, known);
      }
    next:;
    }
    return {};
  }

 private:
  json::object object_;
  std::string at_;
  std::vector<std::string> known_;
  Status status_;
};

Status read_gpus(const json::value& value, const std::string& at, GpuRange& into) {
  if (value.is_object()) return detail::read(value, into, Unknown::reject, at);
  if (value.is_int64()) {
    into.min = into.max = static_cast<int>(std::clamp<std::int64_t>(value.get_int64(), -1, gpus_max + 1));
    return {};
  }
  if (!value.is_string()) return detail::wrong_type(at, "a whole number or a range like \"1..4\"");
  const auto parsed = parse_gpus(std::string_view(value.get_string()));
  if (!parsed.ok()) return Error(parsed.error()).at(at);
  into = *parsed;
  return {};
}

Status read_section(const json::value& value, const std::string& at, const std::function<void(Keys&)>& fill) {
  if (value.is_null()) return {};
  if (!value.is_object()) return detail::wrong_type(at, "a table");
  Keys keys(value.get_object(), at);
  fill(keys);
  return keys.finish();
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
  std::optional<std::string> image;
  keys.take("name", spec.name)
      .take("user", spec.user)
      .take("command", spec.command)
      .take("framework", spec.framework)
      .take("launch", spec.launch);
  keys.with("image", [&](const json::value& v, const std::string& at) -> Status {
    if (Status read = detail::read(v, image, Unknown::reject, at); !read.ok()) return read;
    return image ? Status(not_supported("image", not_yet[0].second)) : Status();
  });
  keys.with("gpus", [&](const json::value& v, const std::string& at) { return read_gpus(v, at, spec.gpus); });
  keys.take("servers", spec.servers)
      .take("workdir", spec.workdir)
      .take("env", spec.env)
      .take("labels", spec.labels)
      .take("priority", spec.priority);
  keys.take("hold", spec.hold).take("preemptible", spec.preemptible).take("preempt", spec.preemptible);
  keys.take("migratable", spec.migratable).take("migrate", spec.migratable);
  keys.take("time_limit_s", spec.time_limit_s, parse_duration_s)
      .take("estimate_s", spec.estimate_s, parse_duration_s)
      .take("deadline_s", spec.deadline_s, parse_duration_s);
  keys.with("resources", [&](const json::value& v, const std::string& at) {
    return read_section(v, at, [&](Keys& k) {
      ResourceSpec& r = spec.resources;
      k.take("cpus", r.cpus)
          .take("memory", r.memory_bytes, parse_bytes)
          .take("memory_bytes", r.memory_bytes, parse_bytes);
      k.take("gpu_memory", r.gpu_memory_bytes, parse_bytes).take("gpu_memory_bytes", r.gpu_memory_bytes, parse_bytes);
      k.with("gpu_type", [&](const json::value& type, const std::string& where) {
        if (type.is_string()) return detail::read(type, r.gpu_type.emplace_back(), Unknown::reject, where);
        return detail::read(type, r.gpu_type, Unknown::reject, where);
      });
      k.take("shm", r.shm_bytes, parse_bytes).take("shm_bytes", r.shm_bytes, parse_bytes);
    });
  });
  keys.with("time", [&](const json::value& v, const std::string& at) {
    return read_section(v, at, [&](Keys& k) {
      k.take("limit", spec.time_limit_s, parse_duration_s)
          .take("estimate", spec.estimate_s, parse_duration_s)
          .take("deadline", spec.deadline_s, parse_duration_s);
    });
  });
  keys.with("checkpoint", [&](const json::value& v, const std::string& at) {
    return read_section(v, at, [&](Keys& k) {
      k.take("dir", spec.checkpoint.dir).take("signal", spec.checkpoint.signal);
      k.take("grace", spec.checkpoint.grace_s, parse_duration_s)
          .take("grace_s", spec.checkpoint.grace_s, parse_duration_s);
    });
  });
  keys.with("retry", [&](const json::value& v, const std::string& at) {
    return read_section(v, at, [&](Keys& k) { k.take("max", spec.retry.max).take("on", spec.retry.on); });
  });
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

namespace {

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

bool is_blank(const CommandLine& command) {
  if (const auto* line = std::get_if<std::string>(&command))
    return line->find_first_not_of(" \t\r\n") == std::string::npos;
  const auto& words = std::get<std::vector<std::string>>(command);
  return words.empty() || words.front().empty();
}

Status validate_gpus(const JobSpec& spec) {
  if (spec.gpus.min < 0 || spec.gpus.max < 0) return invalid("bad-gpus", "gpus cannot be negative").at("/gpus");
  if (spec.gpus.min > gpus_max || spec.gpus.max > gpus_max)
    return invalid("bad-gpus", "gpus is more than " + std::to_string(gpus_max)).at("/gpus");
  if (spec.gpus.min > spec.gpus.max) return invalid("bad-gpus", "the range of gpus ends before it begins").at("/gpus");
  if (spec.gpus.min == 0)
    return invalid("not-supported-yet", "jobs without a GPU are not supported yet")
        .hint("ask for one: --gpus 1")
        .at("/gpus");
  if (spec.servers != 1)
    return invalid("not-supported-yet", "a job on several servers is not supported yet")
        .hint("leave servers out")
        .at("/servers");
  return {};
}

Status validate_words(const JobSpec& spec) {
  if (has_control_characters(spec.name))
    return invalid("bad-name", "a name cannot hold line breaks or control characters").at("/name");
  if (spec.name.size() > 128) return invalid("bad-name", "a name has at most 128 bytes").at("/name");
  if (has_control_characters(spec.user) || spec.user.size() > 128)
    return invalid("bad-user", "a user name has at most 128 bytes, no control characters").at("/user");
  if (is_blank(spec.command))
    return invalid("empty-command", "there is no command to run")
        .hint("schedulearn submit --gpus 1 -- python train.py")
        .at("/command");
  if (spec.launch != "none" && spec.launch != "torchrun" && spec.launch != "ranks") {
    if (spec.launch == "horovod" || spec.launch == "mpi")
      return invalid("not-supported-yet", "launch = \"" + spec.launch + "\" is not supported yet")
          .hint("use torchrun or ranks")
          .at("/launch");
    Error error =
        invalid("bad-launch", "unknown launch " + spec.launch).note("it is one of none, torchrun, ranks").at("/launch");
    if (const auto near = did_you_mean(spec.launch, {"none", "torchrun", "ranks"}))
      error.hints.push_back("did you mean " + *near + "?");
    return error;
  }
  for (const auto& [name, value] : spec.env) {
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos ||
        value.find('\0') != std::string::npos) {
      return invalid("bad-env", "an environment variable needs a name without = and no zero byte").at("/env");
    }
  }
  return {};
}

}  // namespace

Status validate(const JobSpec& spec) {
  if (Status status = validate_words(spec); !status.ok()) return status;
  if (Status status = validate_gpus(spec); !status.ok()) return status;
  const auto bad_time = [](const std::optional<double>& s) { return s && !(*s > 0 && *s < 1e10); };
  if (bad_time(spec.time_limit_s)) return invalid("bad-time", "the time limit must be above zero").at("/time/limit");
  if (bad_time(spec.estimate_s)) return invalid("bad-time", "the estimate must be above zero").at("/time/estimate");
  if (bad_time(spec.deadline_s)) return invalid("bad-time", "the deadline must be in the future").at("/time/deadline");
  if (!(spec.checkpoint.grace_s >= 0 && spec.checkpoint.grace_s <= 86'400))
    return invalid("bad-time", "the grace must be 0 s to 1 day").at("/checkpoint/grace");
  if (spec.retry.max < 0 || spec.retry.max > 1000)
    return invalid("bad-retry", "retry.max must be 0 to 1000").at("/retry/max");
  const ResourceSpec& r = spec.resources;
  if ((r.cpus && *r.cpus < 0) || (r.memory_bytes && *r.memory_bytes < 0) ||
      (r.gpu_memory_bytes && *r.gpu_memory_bytes < 0)) {
    return invalid("bad-resources", "resources cannot be negative").at("/resources");
  }
  return {};
}

}  // namespace sl::wire
