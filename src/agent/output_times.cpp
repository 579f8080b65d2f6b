#include "agent/output_times.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "agent/files.h"

namespace sl::agent {
namespace {

constexpr std::int64_t notes_per_age = 3'600;  // in the time that an attempt has run, had they been taken evenly

std::string notes_file(const std::string& attempt_dir) { return attempt_dir + "/output_times"; }

// How long the output is, and when it became so.
std::optional<wire::OutputTime> look(const std::string& attempt_dir) {
  struct stat info {};
  if (::stat((attempt_dir + "/output").c_str(), &info) != 0) return std::nullopt;
  return wire::OutputTime{info.st_size, info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1'000};
}

// Calls use(note) for each note until it returns false. Returns whether there are notes.
template <typename Use>
bool each_note(const std::string& attempt_dir, Use use) {
  std::istringstream notes(read_text(notes_file(attempt_dir)));
  bool has_notes = false;
  for (wire::OutputTime note; notes >> note.offset >> note.us;) {
    has_notes = true;
    if (!use(note)) break;
  }
  return has_notes;
}

std::string line(const wire::OutputTime& note) {
  return std::to_string(note.offset) + ' ' + std::to_string(note.us) + '\n';
}

}  // namespace

void OutputTimes::note(const std::string& key, const std::string& attempt_dir, Instant started, Instant now,
                       bool at_end) {
  const auto grown = look(attempt_dir);
  if (!grown || grown->offset == 0) return;
  const auto [at, is_new] = known_.try_emplace(key);
  Known& known = at->second;
  std::string lines;
  if (is_new) {
    const bool has_notes = each_note(attempt_dir, [&](const wire::OutputTime& note) {
      if (!known.begun.happened()) known.begun.us = note.us;
      known.size = note.offset, known.noted.us = note.us;
      return true;
    });
    if (!has_notes) known.begun = known.noted = started, lines = line({0, started.us});
  }
  const bool is_due = (now.us - known.noted.us) * notes_per_age >= now.us - known.begun.us;
  if ((!is_due && !at_end) || grown->offset <= known.size) return;
  append_text(notes_file(attempt_dir), lines + line(*grown));
  known.size = grown->offset;
  known.noted.us = grown->us;
}

std::vector<wire::OutputTime> read_output_times(const std::string& attempt_dir, std::int64_t from, std::int64_t to) {
  std::vector<wire::OutputTime> times;
  bool is_covered = false;
  const auto use = [&](const wire::OutputTime& note) {
    if (note.offset > from) times.push_back(note);
    is_covered = note.offset >= to;
    return !is_covered;
  };
  if (!each_note(attempt_dir, use)) return {};
  if (const auto now = look(attempt_dir); now && !is_covered && now->offset > from) times.push_back(*now);
  return times;
}

}  // namespace sl::agent
