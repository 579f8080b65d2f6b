// Output of jobs. Following keeps the offset of what was printed, so that a broken connection or a restarted controller
// neither loses nor repeats a byte.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/event_reader.h"
#include "cli/render.h"
#include "cli/starting.h"
#include "cli/terminal_text.h"
#include "wire/error.h"
#include "wire/json.h"

namespace sl::cli {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

bool print(std::string_view bytes) { return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size(); }

// At a terminal what it may obey; elsewhere, and with --raw, what the job wrote.
OutputFilter::Print printer(const LogsOptions& options) {
  if (options.raw || ::isatty(STDOUT_FILENO) == 0) return print;
  const auto end = [](TerminalText* text) {
    print(text->finish());
    delete text;
  };
  return [text = std::shared_ptr<TerminalText>(new TerminalText, end)](std::string_view bytes) {
    return print(text->add(bytes));
  };
}

struct Following {
  const Context& context;
  std::int64_t job;
  const LogsOptions& options;
  OutputFilter& filter;
  int attempt = 0;          // 0: the latest
  std::int64_t offset = 0;  // in its output
  bool has_begun = false;   // at `offset`; else with the lines that were asked for
  bool ended = false;
  bool begins_line = true;  // what comes next

  // The id of an event is "ATTEMPT-OFFSET". Notes the attempt and returns the offset after the event.
  std::int64_t read_id(const std::string& event_id) {
    const std::size_t dash = event_id.find('-');
    if (dash == std::string::npos) return std::atoll(event_id.c_str());  // of an older controller
    attempt = std::atoi(event_id.c_str());
    return std::atoll(event_id.c_str() + dash + 1);
  }
  std::string logs() const {
    return "/api/v1/jobs/" + std::to_string(job) + "/logs?rank=" + std::to_string(options.rank) +
           (attempt > 0 ? "&attempt=" + std::to_string(attempt) : "");
  }
};

// A line as it was written: events carry what JSON can. Without it, as it came.
std::string original(const Following& following, std::string line, std::int64_t end) {
  if (line.find("\xEF\xBF\xBD") == std::string::npos) return line;
  net::ClientRequest request = following.context.request("GET", following.logs(), "");
  request.headers.emplace_back("Range", "bytes=" + std::to_string(following.offset) + "-" + std::to_string(end - 1));
  std::string bytes;
  const auto response = following.context.stream(request, [&](std::string_view piece) { return bytes += piece, true; });
  const bool is_whole =
      response.ok() && response->status == 206 && static_cast<std::int64_t>(bytes.size()) == end - following.offset;
  return is_whole ? bytes : line;
}

void use_line(Following& following, const json::value& event, std::int64_t end) {
  const bool is_complete = value_at(event, "nl") == json::value(true);
  std::string line = text_at(event, "x") + (is_complete ? "\n" : "");
  if (following.options.raw) line = original(following, std::move(line), end);
  if (following.begins_line && following.options.lines.has_times()) line.insert(0, text_at(event, "t", "-") + " ");
  following.begins_line = is_complete;
  following.filter.add(line);
  std::fflush(stdout);
}

bool use_event(Following& following, const std::string& event, const std::string& id, const std::string& data) {
  const auto parsed = wire::parse_json(data);
  if (!parsed.ok()) return true;
  if (event != "closed") following.has_begun = true;
  const std::int64_t offset = following.read_id(id);
  if (event == "from") {
    following.offset = offset;
  } else if (event == "line") {
    use_line(following, *parsed, offset);
    following.offset = offset;
  } else if (event == "skip") {
    std::fprintf(stderr, "[... %s of output were dropped here: the limit is exceeded ...]\n",
                 bytes_text(number_at(*parsed, "bytes")).c_str());
    following.offset = offset;
  } else if (event == "away") {
    std::fprintf(stderr, "[%s]\n", text_at(*parsed, "reason").c_str());
  } else if (event == "gone") {
    std::fprintf(stderr, "[%s]\n", text_at(*parsed, "reason").c_str());
  } else if (event == "attempt") {
    following.filter.finish();
    following.begins_line = true;
    following.attempt = static_cast<int>(number_at(*parsed, "attempt"));
    following.offset = 0;
    std::fprintf(stderr, "--- attempt %d ---\n", following.attempt);
  } else if (event == "end") {
    following.ended = true;
    return false;
  }
  return true;
}

// What the reader of an output should know besides it. Whether there can be an output: the job has started.
bool say_more(const Context& context, std::int64_t id, const LogsOptions& options) {
  const Result<json::value> job = context.get("/api/v1/jobs/" + std::to_string(id));
  if (!job.ok()) return true;
  const int attempt = static_cast<int>(number_at(*job, "attempt"));
  if (value_at(*job, "started_at").is_string()) {
    if (attempt > 1 && options.attempt == 0)
      std::fprintf(stderr, "This is attempt %d; before it:  %s\n", attempt,
                   context.next_command("logs --attempt " + std::to_string(attempt - 1), id).c_str());
    return true;
  }
  const bool has_ended = value_at(*job, "finished_at").is_string();
  std::string why = text_at(value_at(*job, "failure"), "message");
  if (why.empty()) why = text_at(value_at(*job, "reason"), "text");
  if (why.empty()) why = text_at(*job, "state");
  std::fprintf(stderr, "Job %lld %s: %s\n", static_cast<long long>(id),
               has_ended ? "never started" : "has not started yet", why.c_str());
  return false;
}

// What the choice of lines left to say. The status.
int report(const OutputFilter& filter, const LineChoice& lines, std::int64_t job) {
  std::fflush(stdout);
  const auto id = static_cast<long long>(job);
  if (filter.untimed() > 0)
    std::fprintf(stderr, "Job %lld: it is not known when %lld of its lines were written; they are not left out.\n", id,
                 static_cast<long long>(filter.untimed()));
  if (filter.has_found() || (lines.grep.empty() && !lines.errors)) return 0;
  std::fprintf(stderr, "Job %lld: no line %s\n", id,
               lines.errors && lines.grep.empty() ? "looks like an error" : "matches");
  return 1;
}

}  // namespace

int interrupts() { return interrupt_count; }

void catch_interrupts(bool also_endings) {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_count = interrupt_count + 1; };
  sigaction(SIGINT, &action, nullptr);  // without SA_RESTART, so that the signal ends a read
  if (!also_endings) return;
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hang_up {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN)  // not with nohup
    sigaction(SIGHUP, &action, nullptr);
}

namespace {

Result<bool> follow_on(Following& following) {
  double pause_s = 0.1;
  for (int failures = 0; interrupts() == 0;) {
    std::string path = following.logs().insert(following.logs().find('?'), "/stream");
    if (following.options.lines.has_times()) path += "&timestamps=true";
    const bool begins_at_tail = following.options.tail >= 0 && !following.has_begun;
    if (begins_at_tail) path += "&tail=" + std::to_string(following.options.tail);
    net::ClientRequest request = following.context.request("GET", path, "");
    if (!begins_at_tail) request.headers.emplace_back("Last-Event-ID", std::to_string(following.offset));
    request.is_given_up = [] { return interrupts() > 0; };
    EventReader reader;
    const auto response = net::fetch_stream(request, [&](std::string_view bytes) {
      failures = 0, pause_s = 0.1;
      return interrupts() == 0 && reader.add(bytes, [&](const auto& event, const auto& id, const auto& data) {
        return use_event(following, event, id, data);
      });
    });
    if (following.ended) return true;
    if (response.ok() && response->status >= 400) return wire::error_from_problem(response->status, response->body);
    if (!response.ok() && ++failures > 60) return response.error();
    for (int i = 0; i < static_cast<int>(pause_s * 20) && interrupts() == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pause_s = std::min(2.0, pause_s * 2);
  }
  return false;
}

Result<bool> follow_output(const Context& context, std::int64_t job, const LogsOptions& options, OutputFilter& filter) {
  Following following{context, job, options, filter, options.attempt};
  Result<bool> ended = follow_on(following);
  filter.finish();
  return ended;
}

// The output as it is now.
Result<net::ClientResponse> print_output(const Context& context, std::int64_t job, const LogsOptions& options,
                                         OutputFilter& filter) {
  std::string path = "/api/v1/jobs/" + std::to_string(job) + "/logs?rank=" + std::to_string(options.rank);
  if (options.attempt > 0) path += "&attempt=" + std::to_string(options.attempt);
  if (options.lines.has_times()) path += "&timestamps=true";
  if (options.tail >= 0) path += "&tail=" + std::to_string(options.tail);
  net::ClientRequest request = context.request("GET", path, "");
  if (options.raw) request.headers.emplace_back("Range", "bytes=0-");  // nothing is put into a range
  auto response = context.stream(request, [&](std::string_view bytes) { return filter.add(bytes); });
  filter.finish();
  constexpr int no_such_range = 416;  // there is no output yet
  if (options.raw && response.ok() && response->status == no_such_range) response->status = 206;
  return response;
}

}  // namespace

Result<bool> follow_output(const Context& context, std::int64_t job, const LogsOptions& options) {
  Result<OutputFilter> filter = OutputFilter::make(options.lines, printer(options));
  return filter.ok() ? follow_output(context, job, options, *filter) : filter.error();
}

int logs(const Context& context, const LogsOptions& asked) {
  LogsOptions options = asked;
  options.lines.color = context.color;
  if (!asked.since.empty()) {
    const Result<std::int64_t> since = time_meant(asked.since, clock_us(), Toward::past);
    if (!since.ok()) return fail(since.error());
    options.lines.since_us = *since;
  }
  if (const auto checked = OutputFilter::make(options.lines, printer(options)); !checked.ok())
    return fail(checked.error());
  const auto ids = select_jobs(context, options.selectors);
  if (!ids.ok()) return fail(ids.error());
  int status = 0;
  for (const std::int64_t id : *ids) {
    Result<OutputFilter> filter = OutputFilter::make(options.lines, printer(options));
    if (!filter.ok()) return fail(filter.error());
    if (options.follow && !context.past) {  // where nothing runs, all there will be is there
      catch_interrupts();
      Result<bool> ended = follow_output(context, id, options, *filter);
      if (!ended.ok()) return fail(ended.error());
      if (*ended) {
        status = std::max(status, report(*filter, options.lines, id));
        continue;
      }
      const auto job = context.get(fmt::format("/api/v1/jobs/{}", id));
      const bool is_over = job.ok() && value_at(*job, "finished_at").is_string();
      std::fprintf(stderr, is_over ? "\n" : "\njob %lld goes on; return with: schedulearn logs -f %lld\n",
                   static_cast<long long>(id), static_cast<long long>(id));
      return 130;
    }
    const auto response = print_output(context, id, options, *filter);
    if (!response.ok()) return fail(response.error());
    const bool has_started = say_more(context, id, options);
    if (response->status >= 400 && (has_started || response->status != 404))
      return fail(wire::error_from_problem(response->status, response->body));
    status = std::max(status, report(*filter, options.lines, id));
  }
  return status;
}

}  // namespace sl::cli
