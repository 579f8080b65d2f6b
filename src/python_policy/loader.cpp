#include "python_policy/loader.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "python_policy/python_policies.h"
#include "wire/utf8.h"

namespace sl::python_policy {
namespace {

namespace json = boost::json;

constexpr const char* deadline_parameter = "deadline_ms";

ParameterInfo deadline_info(const HostSettings& settings) {
  return {deadline_parameter,
          ParameterType::number,
          "ms",
          fmt::format("{}", settings.deadline.us / 1000),
          1,
          60'000,
          {},
          "how long a decision may take"};
}

ParameterInfo parameter_info(const json::value& told) {
  ParameterInfo info;
  info.name = told.at("name").as_string().c_str();
  info.default_value = told.at("default").as_string().c_str();
  const std::string_view type = told.at("type").as_string();
  for (const ParameterType known : {ParameterType::boolean, ParameterType::choice, ParameterType::ascending}) {
    if (type == to_string(known)) info.type = known;
  }
  if (const json::value* choices = told.as_object().if_contains("choices")) {
    for (const json::value& choice : choices->as_array()) info.choices.emplace_back(choice.as_string().c_str());
  }
  return info;
}

PolicyInfo policy_info(const Script& script, const HostSettings& settings, const json::object& told) {
  PolicyInfo info;
  info.name = script.file;
  info.title = told.at("title").as_string().c_str();
  info.summary = told.at("summary").as_string().c_str();
  if (info.summary.empty()) info.summary = "A policy written in Python.";
  info.good_for = "whatever its author wrote it for";
  info.weak_for = "each decision is a round trip to a Python process";
  info.preemptive = told.at("preemptive").as_bool();
  info.work_conserving = told.at("work_conserving").as_bool();
  for (const json::value& parameter : told.at("parameters").as_array())
    info.parameters.push_back(parameter_info(parameter));
  info.parameters.push_back(deadline_info(settings));
  return info;
}

Kind kind_of(const json::object& told) {
  return {.decides = told.at("kind") == "decide",
          .blocking = told.at("blocking").as_bool(),
          .preemptive = told.at("preemptive").as_bool(),
          .min_run = Duration::seconds(told.at("min_run_s").to_number<double>())};
}

Status check_text(const Script& script) {
  if (script.source.size() > source_bytes_max)
    return invalid("policy-too-large", fmt::format("{} is longer than {} bytes", script.file, source_bytes_max));
  if (script.source.find('\0') != std::string::npos || !wire::is_utf8(script.source))
    return invalid("policy-not-text", script.file + " is not UTF-8 text");
  return {};
}

struct ReadScript {
  std::unique_ptr<Worker> worker;
  PolicyInfo info;
  Kind kind;

  static Result<ReadScript> read(const Script& script, const HostSettings& settings) {
    if (Status fine = check_text(script); !fine.ok()) return fine.error();
    json::object told;
    auto worker = start_script(script, settings, told);
    if (!worker.ok()) return worker.error();
    try {
      return ReadScript{std::move(*worker), policy_info(script, settings, told), kind_of(told)};
    } catch (const std::exception&) {
      return to_error({"garbage", "its process is not a policy host", 0, ""}, script.file);
    }
  }
};

Duration deadline_of(const Parameters& given) { return Duration::seconds(given.number(deadline_parameter) / 1000); }

Result<MadePolicy> make_own(const Script& script, const GivenParameters& given, const HostSettings& settings) {
  auto read = ReadScript::read(script, settings);
  if (!read.ok()) return read.error();
  const auto parameters = parse_parameters(read->info, given);
  if (!parameters.ok()) return parameters.error();
  if (Status begun = begin_script(*read->worker, script, parameters->all(), settings); !begun.ok())
    return begun.error();
  Conversation talk(script, parameters->all(), deadline_of(*parameters), settings, std::move(read->worker));
  return MadePolicy{std::move(read->info), make_python_policy(read->kind, std::move(talk))};
}

}  // namespace

HostSettings simulation_settings() { return {}; }

HostSettings live_settings() {
  return {.deadline = Duration::milliseconds(50),
          .start_deadline = Duration::whole_seconds(2),
          .sandbox = true,
          .on_fault = [](const Error& error) { std::fprintf(stderr, "policy: %s\n", error.message.c_str()); }};
}

PolicyLoader make_loader(HostSettings settings) {
  return [settings](const std::string& name, const std::string& source) -> Result<PolicyEntry> {
    const Script script{name, source};
    const auto read = ReadScript::read(script, settings);
    if (!read.ok()) return read.error();
    if (Status begun = begin_script(*read->worker, script, {}, settings); !begun.ok()) return begun.error();
    auto make = [script, kind = read->kind, settings](const Parameters& given) {
      return make_python_policy(kind, Conversation(script, given.all(), deadline_of(given), settings));
    };
    return PolicyEntry{read->info, make};
  };
}

OwnPolicyMaker make_maker(HostSettings settings) {
  return [settings](const std::string& name, const std::string& source, const GivenParameters& given) {
    auto made = make_own({name, source}, given, settings);
    if (!made.ok() && settings.on_fault) settings.on_fault(made.error());
    return made;
  };
}

bool is_file_name(std::string_view name) { return name.ends_with(".py"); }

Result<Script> read_script(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(source_bytes_max + 1, '\0');
  std::error_code unreadable;
  if (!in || std::filesystem::is_directory(path, unreadable) ||
      in.read(text.data(), static_cast<std::streamsize>(text.size())).bad()) {
    return not_found("no-such-file", "cannot read " + path).hint("schedulearn policy ls lists the built-in policies");
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return Script{path.substr(path.rfind('/') + 1), std::move(text)};
}

}  // namespace sl::python_policy
