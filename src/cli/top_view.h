// What `top` shows, as lines of styled text: a pure function of what the controller said and of what the user chose.
// The terminal is in top.cpp.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"

namespace sl::cli {

enum class Style { plain, dim, title, good, busy, hot, bad, chosen };

struct Span {
  std::string text;
  Style style = Style::plain;
};
using StyledLine = std::vector<Span>;

struct TopData {
  json::value cluster;  // GET /cluster
  json::array jobs;     // those that run and wait, the running ones first, and the latest that ended
  std::string failure;  // why the latest look failed; empty: it did not
  std::string at;       // the time of the data: 19:20:03
};

struct TopChoice {
  std::string order;     // one of list_orders(); empty: those that run, those that wait, those that have ended
  std::string filter;    // a part of name, user or state
  std::int64_t job = 0;  // that is chosen; 0: the first one
  bool shows_gpus = true, is_paused = false, shows_help = false, is_readonly = false, is_ascii = false;
  std::string prompt;  // replaces the key line: a question, or what is being typed
};

struct TopSize {
  std::size_t columns = 80, lines = 24;
};
inline constexpr TopSize top_size_least{80, 24};

// Exactly `size.lines` lines, none wider than `size.columns`.
std::vector<StyledLine> top_lines(const Context& context, const TopData& data, const TopChoice& choice, TopSize size);

// The jobs that are listed, in their order: for the keys that move the choice.
std::vector<const json::value*> listed_jobs(const TopData& data, const TopChoice& choice);
// The job that is chosen; null: there is none.
const json::value* chosen_job(const TopData& data, const TopChoice& choice);

}  // namespace sl::cli
