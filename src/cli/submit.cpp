#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "base/shell_words.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/dry_run.h"
#include "cli/expectation.h"
#include "cli/job_file_errors.h"
#include "cli/render.h"
#include "cli/shell.h"
#include "cli/snapshot.h"
#include "cli/starting.h"
#include "cli/submitter_environment.h"
#include "wire/error.h"
#include "wire/job_file.h"
#include "wire/json.h"
#include "wire/members.h"

namespace sl::cli {
namespace {

std::string working_directory() {
  std::string path(4096, '\0');
  return ::getcwd(path.data(), path.size()) ? std::string(path.c_str()) : "/";
}

// "time.limit" = "2h" as {"time": {"limit": "2h"}}.
void put(json::object& object, const std::string& key, const json::value& value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) {
    object[key] = value;
    return;
  }
  json::value& inner = object[key.substr(0, dot)];
  if (!inner.is_object()) inner = json::object{};
  put(inner.get_object(), key.substr(dot + 1), value);
}

// Keys whose value is text even if it looks like a number: a GPU may be called 3090.
bool is_word(std::string_view key) {
  constexpr std::array words = {
      "name",         "user",         "workdir",      "framework",          "launch",           "image",
      "snapshot",     "on_partition", "resize",       "resources.gpu_type", "checkpoint.dir",   "checkpoint.signal",
      "array",        "not_before",   "resources.on", "resources.not_on",   "progress.pattern", "training.family",
      "training.mode"};
  return std::find(words.begin(), words.end(), key) != words.end() || key.starts_with("env.") ||
         key.starts_with("labels.");
}

// The value that a flag's text means: true, 3, [1, 2] and {"a": 1} as in JSON, otherwise text.
json::value flag_value(std::string_view key, const std::string& text) {
  const bool is_line = key == "setup" && !text.starts_with('[');  // else a list of lines
  if (is_word(key) || is_line) return json::string(text);
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('[') || text.starts_with('{')) {
    if (auto parsed = wire::parse_json(text); parsed.ok()) return std::move(*parsed);
  }
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0') return static_cast<std::int64_t>(number);
  return json::string(text);
}

constexpr std::size_t job_file_bytes_max = 4 << 20;

std::string read_at_most(std::istream& stream, std::size_t most) {
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

Result<JobFile> read_document(const std::string& file) {
  JobFile document{.path = file, .text = {}, .object = {}, .base_dir = working_directory()};
  if (file.empty()) return document;
  std::string content;
  if (file == "-") {
    content = read_at_most(std::cin, job_file_bytes_max + 1);
  } else {
    std::error_code unreadable;
    if (std::filesystem::is_directory(file, unreadable))
      return invalid("not-a-job-file", file + " is a folder, not a job file")
          .hint("schedulearn submit job.toml")
          .hint(fmt::format("schedulearn submit --gpus 1 -C {} -- python train.py", shell_word(file)));
    std::ifstream stream(file);
    if (!stream && file.find(' ') != std::string::npos)
      return not_found("no-such-file", "there is no job file " + file)
          .hint("a command follows --, without quotes around all of it: schedulearn submit --gpus 1 -- " + file);
    if (!stream) return not_found("no-such-file", "there is no job file " + file);
    content = read_at_most(stream, job_file_bytes_max + 1);
    const std::string folder = file.find('/') == std::string::npos ? "." : file.substr(0, file.rfind('/') + 1);
    document.base_dir = folder[0] == '/' ? folder : working_directory() + "/" + folder;
  }
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (content.starts_with(byte_order_mark)) content.erase(0, byte_order_mark.size());
  if (content.size() > job_file_bytes_max)
    return invalid("not-a-job-file",
                   (file == "-" ? std::string("the input") : file) + " is longer than 4 MiB, which no job file is")
        .hint("what a training reads belongs in files of its own");
  const bool is_json =
      content.find_first_not_of(" \t\r\n") != std::string::npos && content[content.find_first_not_of(" \t\r\n")] == '{';
  if (is_json) {
    Result<json::value> value = wire::parse_json(content);
    if (!value.ok()) return Error(value.error()).note("in " + file);
    document.object = std::move(value->get_object());
    return document;
  }
  Result<json::object> object = wire::toml_to_json(content);
  if (!object.ok() && (file.ends_with(".py") || file.ends_with(".sh")))
    return invalid("not-a-job-file", file + " is a program, not a job file")
        .hint(fmt::format("schedulearn submit --gpus 1 -- {} {}", file.ends_with(".py") ? "python" : "bash", file));
  if (!object.ok()) return Error(object.error()).note("in " + file);
  document.object = std::move(*object);
  document.text = content;
  return document;
}

// "python train.py" in quotes is the name of one program, which nobody has.
Status check_words(const std::vector<std::string>& command) {
  if (command.size() != 1) return {};
  const std::string& word = command.front();
  const std::size_t space = word.find(' ');
  std::error_code ignored;
  if (space == std::string::npos || word.substr(0, space).find('/') != std::string::npos ||
      std::filesystem::exists(word, ignored))
    return {};
  return invalid("quoted-command", "there is no program called \"" + word + "\"")
      .hint("without quotes around all of it: schedulearn submit --gpus 1 -- " + word)
      .hint("what a shell is to read: schedulearn submit --gpus 1 -- sh -c " + shell_word(word));
}

// Alone it would do nothing.
Status check_backoff(const SubmitOptions& options, const json::object& job) {
  const json::value* retry = job.if_contains("retry");
  const bool is_retried = retry && retry->is_object() && retry->get_object().contains("max");
  if (is_retried || !options.keys.contains("retry.backoff")) return {};
  return invalid("bad-flag", "--retry-backoff is the time before a retry, and the job is not retried")
      .hint("say how often it is: --retry 3");
}

// Of jobs that were submitted as one.
void report_group(const Context& context, const json::value& job) {
  const auto id = static_cast<std::int64_t>(number_at(job, "id"));
  const auto members = static_cast<std::int64_t>(number_at(value_at(job, "members"), "total"));
  const char* dot = context.unicode ? "·" : "-";
  const std::string gpus =
      plural(static_cast<std::size_t>(number_at(value_at(value_at(job, "spec"), "gpus"), "max", 1)), "GPU");
  std::printf(
      "%s Job %lld %s  %s  %s, %s  %s  %s each\n", context.unicode ? "✓" : "+", static_cast<long long>(id),
      name_text(job).c_str(), dot, plural(static_cast<std::size_t>(members), "member").c_str(),
      (members == 1 ? fmt::format("job {}", id + 1) : fmt::format("jobs {} to {}", id + 1, id + members)).c_str(), dot,
      gpus.c_str());
  const std::string reason = text_at(value_at(job, "reason"), "text");
  if (!reason.empty()) std::printf("  waits: %s\n", reason.c_str());
  const std::string expected = expectation_text(context, job);
  if (!expected.empty()) std::printf("  %s\n", expected.c_str());
  std::printf("\n  schedulearn ls --group %lld   its members\n  schedulearn why %lld          what they wait for\n",
              static_cast<long long>(id), static_cast<long long>(id));
}

void report(const Context& context, const json::value& job) {
  if (value_at(job, "members").is_object()) return report_group(context, job);
  const auto id = static_cast<std::int64_t>(number_at(job, "id"));
  const std::size_t gpus = static_cast<std::size_t>(number_at(value_at(value_at(job, "spec"), "gpus"), "max", 1));
  const std::string image = text_at(value_at(job, "spec"), "image");
  const char* dot = context.unicode ? "·" : "-";
  const std::string code = snapshot_text(value_at(job, "snapshot"));
  std::printf("%s Job %lld %s  %s  %s  %s  %s%s\n", context.unicode ? "✓" : "+", static_cast<long long>(id),
              name_text(job).c_str(), dot, plural(gpus, "GPU").c_str(), dot,
              image.empty() ? "process" : ("container " + image).c_str(),
              code.empty() ? "" : fmt::format("  {}  {}", dot, code).c_str());
  const std::string reason = text_at(value_at(job, "reason"), "text");
  if (text_at(job, "state") == "held")
    std::printf("  is held until: schedulearn resume %lld\n", static_cast<long long>(id));
  if (text_at(job, "state") == "pending" && !reason.empty()) std::printf("  waits: %s\n", reason.c_str());
  const std::string expected = expectation_text(context, job);
  if (!expected.empty() && text_at(job, "state") != "held") std::printf("  %s\n", expected.c_str());
  std::printf(
      "\n  schedulearn logs -f %lld      follow the output\n  schedulearn show %lld         everything about it\n",
      static_cast<long long>(id), static_cast<long long>(id));
}

// For `run`, whose standard output is the job's.
void say_why_it_waits(const json::value& job) {
  const std::string reason = text_at(value_at(job, "reason"), "text");
  if (text_at(job, "state") == "pending" && !reason.empty())
    std::fprintf(stderr, "job %lld waits: %s\n", static_cast<long long>(number_at(job, "id")), reason.c_str());
}

// Like report, but after a moment, once a free GPU has been found or the reason is known, and the forecast knows the job.
json::value settled(const Context& context, const json::value& submitted) {
  Result<json::value> job = context.get(
      "/api/v1/jobs/" + std::to_string(static_cast<std::int64_t>(number_at(submitted, "id"))) + "?fresh_ms=500");
  return job.ok() ? *job : submitted;
}

int follow_to_the_end(const Context& context, const SubmitOptions& options, std::int64_t id);

// `run`: pressed again within two seconds, Ctrl-C cancels the job.
bool is_interrupted_again() {
  for (int waited_ms = 0; waited_ms < 2000 && interrupts() < 2; waited_ms += 20)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return interrupts() > 1;
}

// Until it runs, or has ended. False: Ctrl-C.
Result<bool> wait_for_start(const Context& context, std::int64_t id) {
  while (interrupts() == 0) {
    const Result<json::value> job = context.get("/api/v1/jobs/" + std::to_string(id));
    if (!job.ok()) return job.error();
    if (text_at(*job, "state") == "running" || value_at(*job, "finished_at").is_string()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

// What ended before anybody was connected is read from its output.
int run_at_terminal(const Context& context, SubmitOptions options, std::int64_t id) {
  const Result<bool> started = wait_for_start(context, id);
  if (!started.ok()) return fail(started.error());
  const TerminalEnd end = *started ? connect_to_job(context, id) : TerminalEnd();
  if (end.status) return *end.status;
  options.pty = false;
  options.follow = !end.was_connected;
  return follow_to_the_end(context, options, id);
}

int follow_to_the_end(const Context& context, const SubmitOptions& options, std::int64_t id) {
  if (options.pty) return run_at_terminal(context, options, id);
  if (options.follow) {
    Result<bool> ended = follow_output(context, id);
    if (!ended.ok()) return fail(ended.error());
    if (!*ended) {
      std::fprintf(stderr, "\njob %lld goes on; return with: schedulearn logs -f %lld%s\n", static_cast<long long>(id),
                   static_cast<long long>(id),
                   options.cancel_on_interrupt ? "; Ctrl-C again within 2 s cancels it" : "");
      if (options.cancel_on_interrupt && is_interrupted_again()) cancel_jobs(context, {std::to_string(id)});
      return 130;
    }
  }
  return options.wait ? wait_jobs(context, {{std::to_string(id)}, 0}) : 0;
}

}  // namespace

namespace {

// The lines of a file but empty ones and comments.
Result<std::vector<std::string>> variables_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("no-such-file", "there is no file " + path);
  std::vector<std::string> entries;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && line.front() != '#') entries.push_back(line);
  }
  return entries;
}

// Replaces the key env_file, one path or several, by the variables in these files; those that are listed count more.
Status read_env_files(json::object& object, const std::string& base_dir) {
  const auto at = object.find("env_file");
  if (at == object.end()) return {};
  const json::value given = at->value();
  object.erase(at);
  std::vector<std::string> paths;
  for (const json::value& path : given.is_array() ? given.get_array() : json::array{given}) {
    if (!path.is_string())
      return invalid("wrong-type", "env_file must be the path of a file, or a list of paths").at("/env_file");
    if (!path.get_string().empty()) paths.emplace_back(path.get_string());
  }
  json::object found;
  for (const std::string& path : paths) {
    const std::string file = (std::filesystem::path(base_dir) / path).lexically_normal().string();
    const auto entries = variables_in(file);
    if (!entries.ok()) return Error(entries.error()).at("/env_file");
    if (Status added = add_variables(found, *entries); !added.ok()) return wire::in_file(added.error(), file);
  }
  add_missing(object, found);
  return {};
}

}  // namespace

Result<wire::JobSpec> job_to_submit(const Context& context, const SubmitOptions& options) {
  if (Status words = check_words(options.command); !words.ok()) return words.error();
  const Result<JobFile> document = read_document(options.file);
  if (!document.ok()) return document.error();
  json::object object = document->object;
  if (!options.command.empty()) object["command"] = wire::to_value(options.command);
  for (const auto& [key, text] : options.keys) {
    const bool path = key == "workdir" && !text.empty() && text[0] != '/' && text[0] != '~';
    put(object, key, flag_value(key, path ? working_directory() + "/" + text : text));
  }
  for (const std::string& path : options.env_files) {
    const auto entries = variables_in(path);
    if (!entries.ok()) return entries.error();
    if (Status added = add_variables(object, *entries); !added.ok()) return wire::in_file(added.error(), path);
  }
  if (Status added = add_variables(object, options.env); !added.ok()) return added.error();
  for (const std::string& label : options.labels) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == label.size())
      return invalid("bad-label", "a label is KEY=VALUE: " + label).hint("--label project=vision");
    json::value& labels = object["labels"];
    if (!labels.is_object()) labels = json::object();
    labels.get_object()[label.substr(0, equals)] = label.substr(equals + 1);
  }
  for (const std::string& entry : options.set) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos)
      return invalid("bad-flag", "--set takes key=value, not " + entry).hint("--set time.limit=2h");
    put(object, entry.substr(0, equals), flag_value(entry.substr(0, equals), entry.substr(equals + 1)));
  }
  if (Status read = read_env_files(object, document->base_dir); !read.ok())
    return options.file.empty() ? read.error() : wire::in_file(read.error(), options.file);
  if (options.pty) object["pty"] = true;
  if (!options.mounts.empty()) object["mounts"] = wire::to_value(options.mounts);
  if (!options.secrets.empty()) object["secrets"] = wire::to_value(options.secrets);
  if (!options.notify.empty()) {
    std::vector<wire::NotifySpec> notify;
    for (const std::string& text : options.notify) notify.push_back(wire::parse_notify_flag(text));
    object["notify"] = wire::to_value(notify);
  }
  if (Status added = add_matrix(object, options.matrix); !added.ok()) return added.error();
  const auto is_default = [given = object, &defaults = context.defaults](const std::string& pointer) {
    boost::system::error_code failed;
    return json::value(defaults).find_pointer(pointer, failed) && !json::value(given).find_pointer(pointer, failed);
  };
  add_missing(object, context.defaults);
  if (Status resolved = resolve_starting(context, object); !resolved.ok()) return resolved.error();
  const bool has_image = object.contains("image") || object.contains("container_image");
  if (!options.clean_env && !has_image) add_submitter_environment(object);
  Result<wire::JobSpec> spec = wire::job_from_json(object, document->base_dir);
  if (!spec.ok()) {
    if (!spec.error().pointer.empty() && is_default(spec.error().pointer))
      return Error(spec.error()).note("it is among your defaults").hint("schedulearn config show");
    return everything_wrong(spec.error(), object, *document);
  }
  if (Status backoff = check_backoff(options, object); !backoff.ok()) return backoff.error();
  if (spec->user.empty()) spec->user = context.user;
  if (Status added = add_snapshot(context, *spec, options.dry_run); !added.ok()) return added.error();
  return spec;
}

int submit(const Context& context, const SubmitOptions& options) {
  if (options.file.empty() && options.command.empty() && options.keys.count("command") == 0) {
    return fail(invalid("empty-command", "there is nothing to run")
                    .hint("schedulearn submit --gpus 1 -- python train.py")
                    .hint("schedulearn submit job.toml"));
  }
  Result<wire::JobSpec> spec = job_to_submit(context, options);
  if (!spec.ok()) return fail(spec.error());
  if (options.follow && wire::is_group(*spec))
    return fail(invalid("group-has-no-output", "each member of an array has an output of its own")
                    .hint("submit it without following: schedulearn submit …"));
  for (const std::string& note : notes_about(*spec)) std::fprintf(stderr, "note: %s\n", note.c_str());
  const std::string body = wire::write_json(*spec);
  Result<json::value> job = options.dry_run ? context.call("POST", "/api/v1/jobs?dry_run=true", body)
                                            : context.create_job("/api/v1/jobs", body);
  if (!job.ok()) return fail(job.error());
  if (options.dry_run) {
    context.as_json ? context.print_json(*job) : report_dry_run(context, *job);
    return 0;
  }
  const auto id = static_cast<std::int64_t>(number_at(*job, "id"));
  if (context.as_json && !options.wait) context.print_json(*job);
  if (context.quiet) std::printf("%lld\n", static_cast<long long>(id));
  if (options.follow || options.wait) catch_interrupts();
  if (options.cancel_on_interrupt)
    say_why_it_waits(settled(context, *job));
  else if (!context.as_json && !context.quiet)
    report(context, settled(context, *job));
  std::fflush(stdout);
  return options.follow || options.wait ? follow_to_the_end(context, options, id) : 0;
}

}  // namespace sl::cli
