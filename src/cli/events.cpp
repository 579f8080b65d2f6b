// events: what has happened, and with -f what happens.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "cli/commands.h"
#include "cli/event_reader.h"
#include "cli/render.h"
#include "net/http.h"
#include "wire/error.h"

namespace sl::cli {
namespace {

// To the millisecond, on the local clock; for programs as it is in REST.
std::string moment_text(const Context& context, const std::string& rfc3339) {
  if (context.plain) return rfc3339;
  const std::string clock = clock_text(rfc3339);
  return rfc3339.size() < 23 ? clock : clock + rfc3339.substr(16, 7);
}

class EventList {
 public:
  EventList(const Context& context, const EventsAsked& asked) : context_(context), asked_(asked) {}

  int print() {
    path_ = "/api/v1/events";
    if (!asked_.selector.empty()) {
      const auto ids = select_jobs(context_, {asked_.selector});
      if (!ids.ok()) return fail(ids.error());
      path_ = fmt::format("/api/v1/jobs/{}/events", ids->front());
    }
    path_ += fmt::format("?progress={}", asked_.progress);
    if (!asked_.about.empty()) path_ += "&about=" + net::percent_encode(asked_.about);
    if (!asked_.server.empty()) path_ += "&server=" + net::percent_encode(asked_.server);
    const Result<json::value> list = context_.get(path_ + fmt::format("&limit={}", asked_.limit));
    if (!list.ok()) return fail(list.error());
    note_last(*list);
    if (context_.as_json && !asked_.follow) {
      context_.print_json(*list);
    } else if (!value_at(*list, "items").as_array().empty()) {
      print_items(*list);
    } else if (!asked_.follow) {
      say_none(context_,
               asked_.about.empty() && asked_.server.empty() ? "Nothing has happened yet." : "No event matches.");
    }
    return asked_.follow && !context_.past ? follow() : 0;  // where nothing runs, nothing will happen
  }

 private:
  void note_last(const json::value& list) {
    for (const json::value& event : value_at(list, "items").as_array())
      last_ = static_cast<std::int64_t>(number_at(event, "seq"));
  }

  // With -f one document a line.
  void print_items(const json::value& list) {
    Table table({"SEQ", "WHEN", "KIND", "JOB", "SERVER", "FROM", "TO", ""}, {0, 3});
    if (asked_.follow) table.widen({5, 12, 18, 4, 8, 8, 9});  // what will come is not known
    for (const json::value& told : value_at(list, "items").as_array()) {
      if (context_.as_json) {
        context_.print_json(told);
        continue;
      }
      const json::value event = visible_document(told);
      const json::value& job = value_at(event, "job_id");
      table.add({fmt::format("{}", number_at(event, "seq")), moment_text(context_, text_at(event, "at")),
                 text_at(event, "kind"), job.is_number() ? fmt::format("{}", job.to_number<double>()) : "–",
                 text_at(event, "server", "–"), text_at(event, "from"), text_at(event, "to"), text_at(event, "text")});
    }
    if (table.empty()) return;
    std::string text = table.text(context_);
    if (has_header_ && !context_.plain) text.erase(0, text.find('\n') + 1);
    has_header_ = true;
    std::fputs(text.c_str(), stdout);
  }

  // The stream says that something has happened; what of it was asked for, the list says.
  int follow() {
    catch_interrupts();
    double pause_s = 0.1;
    for (int failures = 0; interrupts() == 0;) {
      net::ClientRequest request = context_.request("GET", fmt::format("/api/v1/events/stream?since={}", last_), "");
      request.is_given_up = [] { return interrupts() > 0; };
      EventReader reader;
      Status read;
      bool is_due = true;
      const auto response = net::fetch_stream(request, [&](std::string_view bytes) {
        failures = 0, pause_s = 0.1;
        std::int64_t newest = last_;
        reader.add(bytes, [&](const auto& event, const auto& id, const auto&) {
          is_due = is_due || event == "event";
          if (event == "reset") last_ = newest = std::min(last_, std::int64_t{std::atoll(id.c_str())});
          if (event == "event") newest = std::atoll(id.c_str());
          return true;
        });
        if (is_due) read = print_new(newest, is_due);
        return interrupts() == 0 && read.ok();
      });
      if (!read.ok()) return fail(read.error());
      if (response.ok() && response->status >= 400)
        return fail(wire::error_from_problem(response->status, response->body));
      if (!response.ok() && ++failures > 60) return fail(response.error());
      for (int i = 0; i < static_cast<int>(pause_s * 20) && interrupts() == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      pause_s = std::min(2.0, pause_s * 2);
    }
    return 130;
  }

  // What has happened up to `newest`, of what was asked for. If it cannot be read now, it stays due.
  Status print_new(std::int64_t newest, bool& is_due) {
    constexpr int at_once = 1000;
    for (std::size_t found = at_once; found == at_once && interrupts() == 0;) {
      const Result<json::value> list = context_.get(path_ + fmt::format("&limit={}&since={}", at_once, last_));
      if (!list.ok()) return list.error().kind == ErrorKind::unavailable ? Status() : Status(list.error());
      found = value_at(*list, "items").as_array().size();
      note_last(*list);
      print_items(*list);
      std::fflush(stdout);
    }
    last_ = std::max(last_, newest);
    is_due = false;
    return {};
  }

  const Context& context_;
  const EventsAsked& asked_;
  std::string path_;
  std::int64_t last_ = 0;
  bool has_header_ = false;
};

}  // namespace

int list_events(const Context& context, const EventsAsked& asked) { return EventList(context, asked).print(); }

}  // namespace sl::cli
