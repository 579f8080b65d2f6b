#include "sim/results.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace sl::sim {
namespace {

constexpr std::size_t piece = 1 << 20;

// Seconds with as many digits as they need. By hand, since most of a large CSV is such numbers.
void add_seconds(std::string& text, std::int64_t us) {
  const std::int64_t whole = us / 1'000'000, part = us % 1'000'000;
  const fmt::format_int digits(whole);
  if (part < 0 && whole == 0) text.push_back('-');
  text.append(digits.data(), digits.size());
  if (part == 0) return;
  char fraction[] = ".000000";
  std::size_t size = sizeof fraction - 1;
  auto rest = static_cast<std::uint64_t>(part < 0 ? -part : part);
  for (std::size_t at = size; --at > 0; rest /= 10) fraction[at] = static_cast<char>('0' + rest % 10);
  while (fraction[size - 1] == '0') --size;
  text.append(fraction, size);
}

// A comma, and the seconds if it happened.
void add_time(std::string& text, std::int64_t us, bool happened = true) {
  text.push_back(',');
  if (happened) add_seconds(text, us);
}

void add_count(std::string& text, std::int64_t count) {
  const fmt::format_int digits(count);
  text.push_back(',');
  text.append(digits.data(), digits.size());
}

const char* word(WorldEventKind kind) {
  switch (kind) {
    case WorldEventKind::server:
      return "server";
    case WorldEventKind::server_lost:
      return "server_lost";
    case WorldEventKind::submit:
      return "submit";
    case WorldEventKind::start:
      return "start";
    case WorldEventKind::resume:
      return "resume";
    case WorldEventKind::resize:
      return "resize";
    case WorldEventKind::migrate:
      return "migrate";
    case WorldEventKind::suspend:
      return "suspend";
    case WorldEventKind::stop:
      return "stop";
    case WorldEventKind::finish:
      return "finish";
    case WorldEventKind::fail:
      return "fail";
    case WorldEventKind::reject:
      return "reject";
    case WorldEventKind::policy:
      return "policy";
  }
  return "";
}

bool holds_gpus_afterwards(WorldEventKind kind) {
  return kind == WorldEventKind::start || kind == WorldEventKind::resume || kind == WorldEventKind::resize ||
         kind == WorldEventKind::migrate;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile output;
  output.path_ = path;
  output.file_.reset(std::fopen(path.c_str(), "wb"));
  if (!output.file_) return denied("cannot-write", "cannot write " + path + ": " + std::strerror(errno));
  return output;
}

void OutputFile::write(std::string_view text) {
  whole_ = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && whole_;
}

Status OutputFile::close() {
  if (!file_) return {};
  const bool closed = std::fclose(file_.release()) == 0;
  if (!closed || !whole_) return unavailable("disk-full", "could not write all of " + path_);
  return {};
}

Status write_jobs(const std::string& path, const Trace& trace, const SimulationResult& result) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  std::string text =
      "job_id,user,gpus,submit_s,start_s,finish_s,jct_s,wait_s,run_s,preemptions,resizes,migrations,failures\n";
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    const Outcome& outcome = result.outcomes[i];
    const bool started = outcome.started.happened(), finished = outcome.finished.happened();
    text.append(job.id()).push_back(',');
    text += trace.users[job.user];
    add_count(text, job.gpus);
    add_time(text, job.submitted.us);
    add_time(text, outcome.started.us, started);
    add_time(text, outcome.finished.us, finished);
    add_time(text, finished ? (outcome.finished - job.submitted).us : 0, finished);
    add_time(text, started ? (outcome.started - job.submitted).us : 0, started);
    add_time(text, outcome.run.us, started);
    for (const int count : {outcome.preemptions, outcome.resizes, outcome.migrations, outcome.failures})
      add_count(text, count);
    text.push_back('\n');
    if (text.size() < piece) continue;
    file->write(text);
    text.clear();
  }
  file->write(text);
  return file->close();
}

EventFile::EventFile(OutputFile file, const Trace& trace, const Cluster& cluster)
    : file_(std::move(file)),
      trace_(trace),
      servers_(cluster.descriptions()),
      text_("at_s,event,job_id,gpus,where\n") {}

Result<std::unique_ptr<EventFile>> EventFile::create(const std::string& path, const Trace& trace,
                                                     const Cluster& cluster) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return std::unique_ptr<EventFile>(new EventFile(std::move(*file), trace, cluster));
}

void EventFile::happened(const WorldEvent& event) {
  add_seconds(text_, event.at.us);
  text_.append(1, ',').append(word(event.kind)).push_back(',');
  if (event.name.empty()) text_.append(trace_.jobs[event.job].id());
  if (event.kind == WorldEventKind::policy) {
    text_.push_back(',');
  } else {
    add_count(text_, event.gpus ? event.gpus->count() : event.count);
  }
  text_.push_back(',');
  text_.append(event.name);
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

}  // namespace sl::sim
