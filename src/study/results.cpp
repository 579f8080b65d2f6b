#include "study/results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/csv.h"
#include "trace/text_file.h"

namespace sl::study {
namespace {

constexpr std::size_t piece = 1 << 16;  // stays in the processor's cache

constexpr std::size_t number_max = 32;  // characters of a number

// Same output as the formatter's, written by hand: most of a large CSV is such numbers. Each returns the end of its
// output.

char* put_count(char* at, std::int64_t count) { return std::to_chars(at, at + number_max, count).ptr; }

// Seconds with as many digits as needed.
char* put_seconds(char* at, std::int64_t us) {
  if (us < 0) *at++ = '-', us = us == std::numeric_limits<std::int64_t>::min() ? -(us + 1) : -us;
  at = put_count(at, us / 1'000'000);
  if (us % 1'000'000 == 0) return at;
  char* end = put_count(at, 1'000'000 + us % 1'000'000);  // a digit in the place of the point, and six
  *at = '.';
  while (end[-1] == '0') --end;
  return end;
}

char* put_text(char* at, std::string_view text) { return std::copy(text.begin(), text.end(), at); }

char* put_field(char* at, std::string_view text) {
  if (!is_plain_csv_field(text)) return put_text(at, csv_field(text));
  for (const char c : text) *at++ = c;  // a few characters
  return at;
}

// The largest number of characters a field of this text can take.
std::size_t field_max(std::string_view text) { return 2 * text.size() + 2; }

// A comma, followed by the seconds if it happened.
char* put_time(char* at, std::int64_t us, bool happened = true) {
  *at++ = ',';
  return happened ? put_seconds(at, us) : at;
}

void add_seconds(std::string& text, std::int64_t us) {
  char digits[number_max];
  text.append(digits, put_seconds(digits, us));
}

void add_count(std::string& text, std::int64_t count) {
  char digits[number_max];
  text.push_back(',');
  text.append(digits, put_count(digits, count));
}

char* put_row(char* at, const trace::Trace& trace, const trace::TraceJob& job, const sim::Outcome& outcome) {
  const bool started = outcome.started.happened(), finished = outcome.finished.happened();
  at = put_field(at, job.id());
  *at++ = ',';
  at = put_field(at, trace.users[job.user]);
  *at++ = ',';
  at = put_count(at, job.gpus);
  // Many jobs start at once and run through: two of their times equal numbers that are already written.
  const bool at_once = outcome.started == job.submitted;
  const bool run_through = finished && outcome.run == outcome.finished - job.submitted;
  const char* const submitted = at;
  at = put_time(at, job.submitted.us);
  at = at_once ? put_text(at, {submitted, at}) : put_time(at, outcome.started.us, started);
  at = put_time(at, outcome.finished.us, finished);
  const char* const jct = at;
  at = put_time(at, finished ? (outcome.finished - job.submitted).us : 0, finished);
  const char* const wait = at;
  at = put_time(at, started ? (outcome.started - job.submitted).us : 0, started);
  at = run_through ? put_text(at, {jct, wait}) : put_time(at, outcome.run.us, started);
  for (const int count : {outcome.preemptions, outcome.resizes, outcome.migrations, outcome.failures}) {
    *at++ = ',';
    at = put_count(at, count);
  }
  *at++ = '\n';
  return at;
}

const char* word(sim::WorldEventKind kind) {
  switch (kind) {
    case sim::WorldEventKind::server:
      return "server";
    case sim::WorldEventKind::server_lost:
      return "server_lost";
    case sim::WorldEventKind::submit:
      return "submit";
    case sim::WorldEventKind::start:
      return "start";
    case sim::WorldEventKind::resume:
      return "resume";
    case sim::WorldEventKind::resize:
      return "resize";
    case sim::WorldEventKind::migrate:
      return "migrate";
    case sim::WorldEventKind::suspend:
      return "suspend";
    case sim::WorldEventKind::stop:
      return "stop";
    case sim::WorldEventKind::finish:
      return "finish";
    case sim::WorldEventKind::fail:
      return "fail";
    case sim::WorldEventKind::reject:
      return "reject";
    case sim::WorldEventKind::policy:
      return "policy";
  }
  return "";
}

bool holds_gpus_afterwards(sim::WorldEventKind kind) {
  return kind == sim::WorldEventKind::start || kind == sim::WorldEventKind::resume ||
         kind == sim::WorldEventKind::resize || kind == sim::WorldEventKind::migrate;
}

void remove_if_file(const std::string& path) {  // and no pipe, device or link
  std::error_code ignored;
  if (std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::regular)
    std::filesystem::remove(path, ignored);
}

std::FILE* open_standard_output() {
  std::fflush(stdout);
  const int same = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  return same < 0 ? nullptr : ::fdopen(same, "wb");
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile output;
  output.file_ = {trace::is_standard_output(path) ? open_standard_output() : std::fopen(path.c_str(), "wb"),
                  Discarder{path}};
  if (!output.file_) return denied("cannot-write", "cannot write " + path + ": " + std::strerror(errno));
  return output;
}

void OutputFile::Discarder::operator()(std::FILE* file) const {
  std::fclose(file);
  remove_if_file(path);
}

void OutputFile::write(std::string_view text) {
  whole_ = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && whole_;
}

Status OutputFile::close() {
  if (!file_) return {};
  const std::string path = file_.get_deleter().path;
  const bool closed = std::fclose(file_.release()) == 0;
  if (closed && whole_) return {};
  remove_if_file(path);
  return unavailable("disk-full", "could not write all of " + path);
}

Status write_jobs(const std::string& path, const trace::Trace& trace, const sim::SimulationResult& result) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  file->write(
      "job_id,user,gpus,submit_s,start_s,finish_s,jct_s,wait_s,run_s,preemptions,resizes,migrations,failures\n");
  std::vector<char> text(piece);
  char* at = text.data();
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const trace::TraceJob& job = trace.jobs[i];
    const std::size_t row_max = field_max(job.id()) + field_max(trace.users[job.user]) + 16 * number_max;
    if (static_cast<std::size_t>(text.data() + text.size() - at) < row_max) {
      file->write({text.data(), at});
      text.resize(std::max(piece, row_max));
      at = text.data();
    }
    at = put_row(at, trace, job, result.outcomes[i]);
  }
  file->write({text.data(), at});
  return file->close();
}

EventFile::EventFile(OutputFile file, const trace::Trace& trace, const sim::Cluster& cluster)
    : file_(std::move(file)),
      trace_(trace),
      servers_(cluster.descriptions()),
      text_("at_s,event,job_id,gpus,where\n") {}

Result<std::unique_ptr<EventFile>> EventFile::create(const std::string& path, const trace::Trace& trace,
                                                     const sim::Cluster& cluster) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return std::unique_ptr<EventFile>(new EventFile(std::move(*file), trace, cluster));
}

void EventFile::happened(const sim::WorldEvent& event) {
  add_seconds(text_, event.at.us);
  text_.append(1, ',').append(word(event.kind)).push_back(',');
  if (event.name.empty()) append_csv_field(text_, trace_.jobs[event.job].id());
  if (event.kind == sim::WorldEventKind::policy) {
    text_.push_back(',');
  } else {
    add_count(text_, event.gpus ? event.gpus->count() : event.count);
  }
  text_.push_back(',');
  append_csv_field(text_, event.name);
  if (event.gpus && holds_gpus_afterwards(event.kind)) add_place(*event.gpus);
  text_.push_back('\n');
  if (text_.size() < piece) return;
  file_.write(text_);
  text_.clear();
}

// gpu0:0-1+gpu0:4
void EventFile::add_place(const Allocation& gpus) {
  bool first = true;
  for (const ServerGpus& part : gpus.parts()) {
    for (std::uint64_t rest = part.gpus.bits; rest != 0;) {
      const int low = std::countr_zero(rest), length = std::countr_one(rest >> low), high = low + length - 1;
      if (!first) text_.push_back('+');
      first = false;
      text_ += servers_[part.server.value].name;
      low == high ? fmt::format_to(std::back_inserter(text_), ":{}", low)
                  : fmt::format_to(std::back_inserter(text_), ":{}-{}", low, high);
      rest &= length == 64 ? 0 : ~(((std::uint64_t{1} << length) - 1) << low);
    }
  }
}

Status EventFile::close() {
  file_.write(text_);
  text_.clear();
  return file_.close();
}

}  // namespace sl::study
