#include "cli/output_filter.h"

#include <algorithm>
#include <array>

#include "wire/job_spec.h"

namespace sl::cli {
namespace {

constexpr std::size_t part_bytes = 1 << 20;  // longer lines are looked at in parts

// Where the first match in `text` from `from` on is. A line may hold bytes that are zero.
std::optional<regmatch_t> match_in(const regex_t& pattern, std::string_view text, std::size_t from) {
  std::array<regmatch_t, 1> where{{{static_cast<regoff_t>(from), static_cast<regoff_t>(text.size())}}};
  const int flags = REG_STARTEND | (from > 0 ? REG_NOTBOL : 0);
  if (regexec(&pattern, text.data(), 1, where.data(), flags) != 0) return std::nullopt;
  return where[0];
}

}  // namespace

const char* const first_error =
    R"(Traceback \(most recent call last\)|out of memory|\bNCCL (error|WARN)|Segmentation fault|\b\w*(Error|Exception):)";

Result<OutputFilter::Pattern> OutputFilter::compile(const std::string& text, int flags) {
  auto compiled = std::make_unique<regex_t>();
  const int failed = regcomp(compiled.get(), text.c_str(), REG_EXTENDED | flags);
  if (failed == 0) return Pattern(compiled.release());
  std::array<char, 200> why{};
  regerror(failed, compiled.get(), why.data(), why.size());
  return invalid("bad-pattern", "not a regular expression: " + text + " (" + why.data() + ")")
      .hint("as grep -E reads it; \\( stands for a bracket itself: schedulearn logs 5 --grep 'loss|epoch'");
}

Result<OutputFilter> OutputFilter::make(LineChoice choice, Print print) {
  OutputFilter filter(std::move(choice), std::move(print));
  if (!filter.choice_.grep.empty()) {
    Result<Pattern> pattern = compile(filter.choice_.grep, 0);
    if (!pattern.ok()) return pattern.error();
    filter.grep_ = std::move(*pattern);
  }
  if (filter.choice_.errors) {
    Result<Pattern> pattern = compile(first_error, REG_ICASE);
    if (!pattern.ok()) return pattern.error();
    filter.errors_ = std::move(*pattern);
  }
  return filter;
}

bool OutputFilter::add(std::string_view bytes) {
  if (choice_.is_all()) return print_(bytes);
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t length = end == std::string_view::npos ? bytes.size() : end + 1;
    held_ += bytes.substr(0, length);
    bytes.remove_prefix(length);
    if ((end != std::string_view::npos || held_.size() >= part_bytes) && !finish()) return false;
  }
  return true;
}

bool OutputFilter::finish() {
  if (held_.empty()) return true;
  const bool is_complete = held_.ends_with('\n');
  const bool goes_on = use(held_);
  held_.clear();
  begins_line_ = is_complete;
  return goes_on;
}

bool OutputFilter::is_recent(std::string_view time) {
  if (!choice_.since_us) return true;
  if (time == "-") return ++untimed_, true;
  const auto us = wire::parse_time_us(std::string(time));
  return !us.ok() || *us >= *choice_.since_us;
}

bool OutputFilter::use(std::string_view line) {
  std::string_view text = line;
  if (choice_.has_times() && begins_line_) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view time = line.substr(0, space);
    const bool has_time = time == "-" || wire::parse_time_us(std::string(time)).ok();
    if (has_time) text.remove_prefix(std::min(space + 1, text.size()));
    continues_ = is_recent(has_time ? time : "");
  }
  if (!continues_ && choice_.since_us) return true;
  const std::string_view content = text.substr(0, text.size() - text.ends_with('\n'));
  if (errors_ && !has_failed_) has_failed_ = match_in(*errors_, content, 0).has_value();
  if ((errors_ && !has_failed_) || (grep_ && !match_in(*grep_, content, 0))) return true;
  has_found_ = true;
  if (choice_.shows_times && !print_(line.substr(0, line.size() - text.size()))) return false;
  return print_(choice_.color && grep_ ? highlighted(content) : std::string(content)) &&
         (content.size() == text.size() || print_("\n"));
}

std::string OutputFilter::highlighted(std::string_view line) const {
  std::string text;
  for (std::size_t at = 0; at <= line.size();) {
    const auto found = match_in(*grep_, line, at);
    const std::size_t begin = found ? static_cast<std::size_t>(found->rm_so) : line.size();
    const std::size_t end = found ? static_cast<std::size_t>(found->rm_eo) : line.size();
    text += line.substr(at, begin - at);
    if (!found) break;
    if (end > begin) text.append("\x1b[1;31m").append(line.substr(begin, end - begin)).append("\x1b[0m");
    if (end == begin && begin < line.size()) text += line[begin];
    at = end > begin ? end : end + 1;
  }
  return text;
}

}  // namespace sl::cli
