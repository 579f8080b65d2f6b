// Output of jobs. Following keeps the offset of what was printed, so that a broken connection or a restarted controller
// neither loses nor repeats a byte.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "cli/commands.h"
#include "cli/render.h"
#include "wire/error.h"
#include "wire/json.h"

namespace sl::cli {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

// Events of a stream that arrives in pieces: calls `use(event, id, data)` for each complete one.
class EventReader {
 public:
  template <typename Use>
  bool add(std::string_view bytes, Use use) {
    buffer_ += bytes;
    for (std::size_t end; (end = buffer_.find("\n\n")) != std::string::npos;) {
      const std::string block = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      std::string event, id, data;
      for (std::size_t at = 0; at < block.size();) {
        const std::size_t line_end = std::min(block.find('\n', at), block.size());
        const std::string line = block.substr(at, line_end - at);
        if (line.starts_with("event: ")) event = line.substr(7);
        if (line.starts_with("id: ")) id = line.substr(4);
        if (line.starts_with("data: ")) data = line.substr(6);
        at = line_end + 1;
      }
      if (!event.empty() && !use(event, id, data)) return false;
    }
    return true;
  }

 private:
  std::string buffer_;
};

struct Following {
  std::int64_t offset = 0;
  int attempt = 0;
  bool ended = false;
  bool begins_line = true;  // what comes next
};

bool use_event(Following& following, const std::string& event, const std::string& id, const std::string& data) {
  const auto parsed = wire::parse_json(data);
  if (!parsed.ok()) return true;
  if (event == "line") {
    const bool is_complete = value_at(*parsed, "nl") == json::value(true);
    if (const json::value& time = value_at(*parsed, "t"); following.begins_line && parsed->as_object().contains("t"))
      std::printf("%s ", time.is_string() ? time.get_string().c_str() : "-");
    std::fputs(text_at(*parsed, "x").c_str(), stdout);
    if (is_complete) std::fputc('\n', stdout);
    following.begins_line = is_complete;
    std::fflush(stdout);
    following.offset = std::atoll(id.c_str());
  } else if (event == "skip") {
    std::fprintf(stderr, "[… %s of output were dropped here: the limit is exceeded …]\n",
                 bytes_text(number_at(*parsed, "bytes")).c_str());
    following.offset = std::atoll(id.c_str());
  } else if (event == "gone") {
    std::fprintf(stderr, "[%s]\n", text_at(*parsed, "reason").c_str());
  } else if (event == "attempt") {
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

}  // namespace

int interrupts() { return interrupt_count; }

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_count = interrupt_count + 1; };
  sigaction(SIGINT, &action, nullptr);  // without SA_RESTART, so that the signal ends a read
}

Result<bool> follow_output(const Context& context, std::int64_t job, int attempt, std::int64_t offset, int rank,
                           bool timestamps) {
  Following following{offset, attempt};
  double pause_s = 0.1;
  for (int failures = 0; interrupts() == 0;) {
    std::string path = "/api/v1/jobs/" + std::to_string(job) + "/logs/stream?rank=" + std::to_string(rank);
    if (timestamps) path += "&timestamps=true";
    if (following.attempt > 0) path += "&attempt=" + std::to_string(following.attempt);
    net::ClientRequest request = context.request("GET", path, "");
    request.headers.emplace_back("Last-Event-ID", std::to_string(following.offset));
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

int logs(const Context& context, const LogsOptions& options) {
  const auto ids = select_jobs(context, options.selectors);
  if (!ids.ok()) return fail(ids.error());
  for (const std::int64_t id : *ids) {
    if (options.follow && !context.past) {  // where nothing runs, all there will be is there
      catch_interrupts();
      Result<bool> ended = follow_output(context, id, options.attempt, 0, options.rank, options.timestamps);
      if (!ended.ok()) return fail(ended.error());
      if (*ended) continue;
      std::fprintf(stderr, "\njob %lld goes on; return with: schedulearn logs -f %lld\n", static_cast<long long>(id),
                   static_cast<long long>(id));
      return 130;
    }
    std::string path = "/api/v1/jobs/" + std::to_string(id) + "/logs?rank=" + std::to_string(options.rank) + "&";
    if (options.attempt > 0) path += "attempt=" + std::to_string(options.attempt) + "&";
    if (options.timestamps) path += "timestamps=true&";
    if (options.tail >= 0) path += "tail=" + std::to_string(options.tail);
    const auto response = context.stream(context.request("GET", path, ""), [](std::string_view bytes) {
      return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
    });
    if (!response.ok()) return fail(response.error());
    const bool has_started = say_more(context, id, options);
    if (response->status >= 400 && (has_started || response->status != 404))
      return fail(wire::error_from_problem(response->status, response->body));
  }
  return 0;
}

}  // namespace sl::cli
