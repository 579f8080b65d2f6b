#include "agent/metrics.h"

#include <algorithm>
#include <cmath>

#include "agent/files.h"
#include "wire/json.h"
#include "wire/progress.h"

namespace sl::agent {
namespace {

constexpr std::int64_t piece_bytes = 1 << 20;
constexpr std::int64_t report_interval_us = 1'000'000;
constexpr std::int64_t time_off_max_us = 60'000'000;  // a line's own time may be this far before it is read

std::optional<double> number_at(const boost::json::object& line, const char* key) {
  const auto* found = line.if_contains(key);
  if (!found || !found->is_number() || !std::isfinite(found->to_number<double>())) return std::nullopt;
  return found->to_number<double>();
}

constexpr std::string_view not_finite[] = {"NaN", "-Infinity", "Infinity"};

// Python writes these without quotation marks, which is no JSON.
std::string with_quoted_numbers(std::string_view line) {
  std::string quoted;
  bool is_in_text = false;
  while (!line.empty()) {
    const auto word = std::ranges::find_if(not_finite, [&](std::string_view text) { return line.starts_with(text); });
    if (!is_in_text && word != std::end(not_finite)) {
      quoted.append(1, '"').append(*word).append(1, '"');
      line.remove_prefix(word->size());
      continue;
    }
    const std::size_t taken = line.front() == '\\' ? std::min<std::size_t>(2, line.size()) : 1;
    if (line.front() == '"') is_in_text = !is_in_text;
    quoted.append(line.substr(0, taken));
    line.remove_prefix(taken);
  }
  return quoted;
}

bool is_not_finite_at(const boost::json::object& line, const char* key) {
  const auto* found = line.if_contains(key);
  return found && found->is_string() && std::ranges::find(not_finite, found->get_string()) != std::end(not_finite);
}

// When the line was written, if it states a credible time; else when it was read.
std::int64_t time_of(const boost::json::object& line, std::int64_t now_us) {
  const auto time_s = number_at(line, "time");
  if (!time_s || !(std::abs(*time_s) < 1e12)) return now_us;
  const auto time_us = static_cast<std::int64_t>(*time_s * 1e6);
  return time_us <= now_us && time_us > now_us - time_off_max_us ? time_us : now_us;
}

}  // namespace

bool MetricsReader::add(std::string_view line, std::int64_t now_us) {
  const bool may_diverge = std::ranges::any_of(not_finite, [&](auto text) { return line.find(text) != line.npos; });
  const auto value = may_diverge ? wire::parse_json(with_quoted_numbers(line)) : wire::parse_json(line);
  if (!value.ok() || !value->is_object()) return false;
  const boost::json::object& said = value->get_object();
  const auto epoch = number_at(said, "epoch"), step = number_at(said, "step");
  const auto loss = number_at(said, "loss"), accuracy = number_at(said, "accuracy");
  const bool has_diverged = is_not_finite_at(said, "loss"), has_no_accuracy = is_not_finite_at(said, "accuracy");
  if (!epoch && !step && !loss && !accuracy && !has_diverged && !has_no_accuracy) return false;
  const std::int64_t at_us = time_of(said, now_us);
  if (const auto epochs = number_at(said, "epochs")) latest_.epochs = epochs;
  if (const auto steps = number_at(said, "steps")) latest_.steps = steps;
  if (step) {
    latest_.step = step, latest_.step_at_us = at_us;
  } else if (epoch) {
    latest_.epoch = epoch, latest_.epoch_at_us = at_us;
    if ((loss || has_diverged) && *epoch >= 1 && *epoch == std::floor(*epoch)) latest_.epoch_loss = loss;
  }
  if (loss || has_diverged) latest_.loss = loss, latest_.loss_is_not_finite = has_diverged;
  if (accuracy || has_no_accuracy) latest_.accuracy = accuracy;
  latest_.at_us = now_us;
  is_new_ = has_reported_ = true;
  return true;
}

void MetricsReader::add_progress(double done, std::optional<double> total, std::int64_t now_us) {
  latest_.step = done, latest_.step_at_us = latest_.at_us = now_us;
  if (total) latest_.steps = total;
  is_new_ = true;
}

// At the end of a job no more than the last of its lines, however many there are: they count most, and the agent waits.
void MetricsReader::read(const std::string& path, std::int64_t now_us, bool to_the_end) {
  constexpr int pieces_at_end = 32;
  for (int pieces = to_the_end ? pieces_at_end : 1; pieces > 0; --pieces) {
    auto piece = read_piece(path, offset_, piece_bytes);
    if (piece && to_the_end && piece->size - offset_ > pieces * piece_bytes) {
      offset_ = piece->size - pieces * piece_bytes;
      piece = read_piece(path, offset_, piece_bytes);
    }
    if (!piece) return;
    const std::size_t end = piece->bytes.rfind('\n');
    const bool is_full = static_cast<std::int64_t>(piece->bytes.size()) == piece_bytes;
    std::string_view rest(piece->bytes.data(), end == std::string::npos ? 0 : end + 1);
    for (std::size_t n; (n = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(n + 1))
      add(rest.substr(0, n), now_us);
    if (end != std::string::npos)
      offset_ += static_cast<std::int64_t>(end) + 1;
    else if (is_full)
      offset_ += piece_bytes;  // no line is that long
    if (!is_full) return;
  }
}

// A progress bar ends its lines with a carriage return. What is longer than that says nothing of progress.
void OutputProgress::read(const std::string& path, std::int64_t now_us, MetricsReader& into) {
  constexpr std::size_t longest = 4'096;
  auto piece = read_piece(path, offset_, piece_bytes);
  if (piece && piece->size > offset_ + piece_bytes) {
    offset_ = piece->size - piece_bytes;
    begun_.assign(longest, ' ');  // of the line that it begins in, only the end would be seen
    piece = read_piece(path, offset_, piece_bytes);
  }
  if (!piece) return;
  offset_ += static_cast<std::int64_t>(piece->bytes.size());
  std::optional<wire::FoundProgress> last;
  for (const char c : piece->bytes) {
    if (c != '\n' && c != '\r') {
      if (begun_.size() < longest) begun_ += c;
      continue;
    }
    if (const auto found = wire::find_progress(spec_, begun_)) last = found;
    begun_.clear();
  }
  if (last) into.add_progress(last->done, last->total, now_us);
}

std::optional<wire::Progress> MetricsReader::take(std::int64_t now_us, bool at_end) {
  if (!is_new_ || (!at_end && now_us < next_us_)) return std::nullopt;
  is_new_ = false;
  next_us_ = now_us + report_interval_us;
  return latest_;
}

}  // namespace sl::agent
