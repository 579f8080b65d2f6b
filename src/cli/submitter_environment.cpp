#include "cli/submitter_environment.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "wire/environment_name.h"
#include "wire/utf8.h"

namespace sl::cli {

namespace json = boost::json;

namespace {

constexpr std::array inherited = {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH"};

// The job's variables; null if the job file has something else there, which is an error of its own.
json::object* variables_of(json::object& job) {
  json::value& env = job["env"];
  if (env.is_null()) env = json::object{};
  return env.if_object();
}

}  // namespace

void add_submitter_environment(json::object& job) {
  json::object* const variables = variables_of(job);
  if (!variables) return;
  for (const char* name : inherited) {
    const char* const value = std::getenv(name);
    if (!value || *value == '\0' || variables->contains(name)) continue;
    if (wire::is_utf8(value))
      (*variables)[name] = value;
    else
      std::fprintf(stderr, "note: your %s is no UTF-8 text and is left out\n", name);
  }
}

Status add_variables(json::object& job, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (Status sound = wire::check_environment_name(name); !sound.ok()) return sound;
    const char* const value = equals == std::string::npos ? std::getenv(name.c_str()) : entry.c_str() + equals + 1;
    if (!value)
      return invalid("bad-env", name + " is not set here, so there is no value to pass on")
          .hint("--env " + name + "=VALUE");
    if (json::object* const variables = variables_of(job)) (*variables)[name] = value;
  }
  return {};
}

std::vector<std::string> notes_about(const wire::JobSpec& spec) {
  std::vector<std::string> notes;
  std::error_code ignored;
  const bool is_elsewhere = spec.workdir.empty() || spec.workdir[0] == '~' || spec.image.has_value();
  if (!is_elsewhere && !std::filesystem::is_directory(spec.workdir, ignored))
    notes.push_back("there is no folder " + spec.workdir + " on this machine; the job fails on a server without it");
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
    if (spec.env.count(name) != 0)
      notes.push_back(std::string(name) + " will name the GPUs that the job gets; your value is not used");
  }
  return notes;
}

}  // namespace sl::cli
