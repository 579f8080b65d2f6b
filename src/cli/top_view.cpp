#include "cli/top_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/job_order.h"
#include "cli/render.h"

namespace sl::cli {
namespace {

constexpr double idle_below_pct = 10, hot_above_pct = 75, memory_hot_above_pct = 80;
constexpr std::size_t tile_columns = 15;  // " 3 #1042  100% "

constexpr const char* help_lines[] = {"j k, arrows   choose a job             enter   everything about it",
                                      "l             its output, live         w       why it waits",
                                      "c             cancel it                s       suspend it, or resume it",
                                      "m             migrate it               /       show only what contains a word",
                                      "o             another order            g       GPUs on and off",
                                      "space         stop looking, go on      :       any other command",
                                      "q             leave                    ?       close this",
                                      "",
                                      "Colours of GPUs: less than 10 % in use, up to 75 %, above."};

// The text in `columns` columns, cut or filled up.
std::string in_columns(const std::string& text, std::size_t columns, bool to_the_right = false) {
  std::string fitting = display_width(text) > columns ? cut_end(text, columns, "~") : text;
  const std::string blanks(columns - std::min(columns, display_width(fitting)), ' ');
  return to_the_right ? blanks + fitting : fitting + blanks;
}

Style style_of(const json::value& gpu) {
  const std::string condition = text_at(gpu, "condition");
  if (condition == "unavailable") return Style::bad;
  if (condition == "free") return Style::dim;
  const double busy = number_at(gpu, "utilization_pct");
  const double total = number_at(gpu, "memory_total_bytes");
  const double full = total > 0 ? number_at(gpu, "memory_used_bytes") * 100 / total : 0;
  if (busy > hot_above_pct || full > memory_hot_above_pct) return Style::hot;
  return busy < idle_below_pct ? Style::good : Style::busy;
}

std::string tile(const json::value& gpu) {
  const json::value& job = value_at(gpu, "job_id");
  const std::string condition = text_at(gpu, "condition");
  const std::string who = job.is_number() ? fmt::format("#{}", number_at(job.is_null() ? gpu : gpu, "job_id"))
                          : condition == "allocated" ? ""
                                                     : condition;
  const json::value& busy = value_at(gpu, "utilization_pct");
  const bool is_shown = busy.is_number() && condition != "free";
  return in_columns(fmt::format("{:>2} {}", number_at(gpu, "index"), who), tile_columns - 6) +
         in_columns(is_shown ? fmt::format("{:.0f}%", busy.to_number<double>()) : "", 4, true) + "  ";
}

StyledLine header(const TopData& data, const TopChoice& choice) {
  const json::value& counts = value_at(data.cluster, "jobs");
  const json::value& gpus = value_at(data.cluster, "gpus");
  StyledLine line{{"Schedulearn", Style::title}};
  line.push_back({fmt::format("  {}  policy {}  GPUs {}/{}  {} running, {} pending  ", data.at,
                              text_at(data.cluster, "policy", "?"), number_at(gpus, "allocated"),
                              number_at(gpus, "total"), number_at(counts, "running"), number_at(counts, "pending"))});
  if (choice.is_paused) line.push_back({"paused", Style::busy});
  if (choice.is_readonly) line.push_back({choice.is_paused ? " read only" : "read only", Style::dim});
  return line;
}

// One server per line as far as there is room; more GPUs than fit go on below its name.
std::vector<StyledLine> gpu_lines(const json::value& cluster, std::size_t columns, std::size_t most) {
  constexpr std::size_t name_columns = 10;
  std::vector<StyledLine> lines;
  const json::value& servers = value_at(cluster, "servers");
  if (!servers.is_array()) return lines;
  const std::size_t per_line = std::max<std::size_t>(1, (columns - name_columns) / tile_columns);
  std::size_t left_out = 0;
  for (const json::value& server : servers.get_array()) {
    const std::string state = text_at(server, "state");
    const json::value& gpus = value_at(server, "gpus");
    const std::size_t count = gpus.is_array() ? gpus.get_array().size() : 0;
    const std::size_t needs = std::max<std::size_t>(1, (count + per_line - 1) / per_line);
    if (lines.size() + needs > most) {
      ++left_out;
      continue;
    }
    for (std::size_t at = 0; at < std::max<std::size_t>(1, count); at += per_line) {
      StyledLine line{{in_columns(at == 0 ? text_at(server, "name") : "", name_columns - 1) + " ",
                       state == "up" ? Style::plain : Style::bad}};
      if (state != "up" && at == 0 && count == 0) line.push_back({state, Style::bad});
      for (std::size_t i = at; i < std::min(count, at + per_line); ++i) {
        const json::value& gpu = gpus.get_array()[i];
        line.push_back({tile(gpu), state == "down" ? Style::dim : style_of(gpu)});
      }
      lines.push_back(std::move(line));
    }
  }
  if (left_out > 0 && !lines.empty())
    lines.back() = {
        {for_terminal(fmt::format("… and {}: schedulearn gpus", plural(left_out + 1, "more server"))), Style::dim}};
  return lines;
}

struct Column {
  const char* title;
  std::size_t columns;  // 0: what is left
  bool to_the_right;
};
constexpr Column columns_of_jobs[] = {{"ID", 6, true},   {"NAME", 0, false},   {"STATE", 11, false},
                                      {"GPUS", 4, true}, {"WHERE", 12, false}, {"WAITED", 7, true},
                                      {"RAN", 7, true},  {"USER", 8, false}};

std::string table_line(const std::vector<std::string>& cells, std::size_t columns) {
  std::size_t fixed = 0;
  for (const Column& column : columns_of_jobs) fixed += column.columns + 1;
  const std::size_t rest = columns > fixed + 4 ? columns - fixed : 4;
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Column& column = columns_of_jobs[i];
    line += in_columns(cells[i], column.columns == 0 ? rest : column.columns, column.to_the_right) + " ";
  }
  return line;
}

// How many members of an array run, or once it is over have succeeded: the column is narrow.
std::string members_cell(const json::value& job) {
  const json::value& members = value_at(job, "members");
  const bool has_ended = is_over(text_at(job, "state"));
  return fmt::format("{} of {} {}", number_at(members, has_ended ? "succeeded" : "running"),
                     number_at(members, "total"), has_ended ? "ok" : "run");
}

std::string job_line(const Context& context, const json::value& job, std::size_t columns) {
  const bool is_array = value_at(job, "members").is_object();
  const bool has_started = value_at(job, "started_at").is_string() && !is_array;
  return table_line(
      {fmt::format("{:.0f}", number_at(job, "id")), name_text(job), state_text(context, shown_state(job)),
       gpus_text(job), is_array ? members_cell(job) : where_text(job), duration_text(number_at(job, "wait_s")),
       has_started ? duration_text(number_at(job, "run_s")) : "-", text_at(job, "user")},
      columns);
}

Style style_of_job(const json::value& job) {
  const std::string state = shown_state(job);
  if (state == "running") return Style::good;
  if (state == "failed") return Style::bad;
  return state == "succeeded" || state == "cancelled" ? Style::dim : Style::plain;
}

StyledLine key_line(const TopChoice& choice, const TopData& data) {
  if (!choice.prompt.empty()) return {{choice.prompt, Style::title}};
  if (!data.failure.empty()) return {{data.failure, Style::bad}};
  return {{choice.is_readonly ? "enter show  l log  w why  / filter  o order  g GPUs  space pause  ? keys  q quit"
                              : "enter show  l log  w why  c cancel  s suspend  m migrate  ? keys  q quit",
           Style::dim}};
}

// Cuts the line to the width of the screen, and takes characters beyond ASCII out if asked to.
StyledLine fitted(StyledLine line, std::size_t columns, bool is_ascii) {
  std::size_t used = 0;
  for (Span& span : line) {
    if (is_ascii) std::erase_if(span.text, [](char c) { return static_cast<unsigned char>(c) > 127; });
    const std::size_t room = columns - used;
    if (display_width(span.text) > room) span.text = room > 0 ? cut_end(span.text, room, "~") : "";
    used += display_width(span.text);
  }
  return line;
}

}  // namespace

std::vector<const json::value*> listed_jobs(const TopData& data, const TopChoice& choice) {
  std::vector<const json::value*> jobs;
  for (const json::value& job : data.jobs) {
    const bool is_like = text_at(job, "name").find(choice.filter) != std::string::npos ||
                         text_at(job, "user").find(choice.filter) != std::string::npos ||
                         text_at(job, "state").find(choice.filter) != std::string::npos;
    if (is_like) jobs.push_back(&job);
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](const json::value* a, const json::value* b) { return is_listed_before(choice.order, *a, *b); });
  return jobs;
}

const json::value* chosen_job(const TopData& data, const TopChoice& choice) {
  const auto jobs = listed_jobs(data, choice);
  const auto found = std::ranges::find_if(
      jobs, [&](const json::value* job) { return static_cast<std::int64_t>(number_at(*job, "id")) == choice.job; });
  return found != jobs.end() ? *found : jobs.empty() ? nullptr : jobs.front();
}

std::vector<StyledLine> top_lines(const Context& context, const TopData& data, const TopChoice& choice, TopSize size) {
  Context plain = context;
  plain.color = false;
  if (choice.is_ascii) plain.unicode = false;
  std::vector<StyledLine> lines{header(data, choice)};
  if (choice.shows_help) {
    for (const char* line : help_lines) lines.push_back({{line}});
  } else {
    if (choice.shows_gpus) {
      for (StyledLine& line : gpu_lines(data.cluster, size.columns, size.lines / 3)) lines.push_back(std::move(line));
    }
    std::vector<std::string> titles;
    for (const Column& column : columns_of_jobs) titles.emplace_back(column.title);
    lines.push_back({{table_line(titles, size.columns), Style::title}});
    const auto jobs = listed_jobs(data, choice);
    const json::value* chosen = chosen_job(data, choice);
    const std::size_t room = size.lines > lines.size() + 1 ? size.lines - lines.size() - 1 : 0;
    const auto place = static_cast<std::size_t>(std::ranges::find(jobs, chosen) - jobs.begin());
    const std::size_t first = place < room ? 0 : place - room + 1;
    for (std::size_t i = first; i < std::min(jobs.size(), first + room); ++i)
      lines.push_back(
          {{job_line(plain, *jobs[i], size.columns), jobs[i] == chosen ? Style::chosen : style_of_job(*jobs[i])}});
    if (jobs.empty() && room > 0)
      lines.push_back({{choice.filter.empty() ? "no jobs; submit one: schedulearn submit --gpus 1 -- python train.py"
                                              : "no job contains '" + choice.filter + "'; esc shows all",
                        Style::dim}});
  }
  lines.resize(std::max<std::size_t>(size.lines, 1) - 1);
  lines.push_back(key_line(choice, data));
  for (StyledLine& line : lines) line = fitted(std::move(line), size.columns, choice.is_ascii);
  return lines;
}

}  // namespace sl::cli
