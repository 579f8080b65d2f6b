#include "controller/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "controller/recording_json.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr Duration flush_every = Duration::whole_seconds(1);

}  // namespace

Result<std::unique_ptr<Recording>> Recording::create(const std::string& folder, const LogicSettings& settings,
                                                     const store::Loaded& loaded, Instant now) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  auto recording = std::unique_ptr<Recording>(new Recording);
  recording->path_ = fmt::format("{}/recording-{}.jsonl", folder, now.us);
  const int fd = ::open(recording->path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return denied("cannot-write", "cannot write " + recording->path_ + ": " + std::strerror(errno));
  recording->file_.reset(::fdopen(fd, "w"));
  recording->write({{"recording", recording_version},
                    {"at", now.us},
                    {"version", settings.version},
                    {"policy", settings.policy},
                    {"lease_s", settings.lease_s},
                    {"queue_max", settings.queue_max},
                    {"user_bytes_max", settings.user_bytes_max},
                    {"loaded", wire::to_value(loaded)}});
  return recording;
}

void Recording::input(Instant at, std::string_view kind, json::object data) {
  json::object line = {{"at", at.us}, {"in", kind}};
  for (auto& [key, value] : data) line[key] = std::move(value);
  write(line);
  if (at < flushed_ + flush_every) return;
  flushed_ = at;
  if (file_) std::fflush(file_.get());
}

void Recording::sent(SessionId session, const wire::ControllerMessage& message) {
  if (auto line = order_line(session, message)) write(*line);
}

void Recording::committed(const store::Batch& batch) {
  for (const store::EventRow& row : batch.events) write(event_line(row));
}

void Recording::write(const json::object& line) {
  if (!file_) return;
  const std::string text = json::serialize(line) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size()) return;
  std::fprintf(stderr, "the recording %s ends here: %s\n", path_.c_str(), std::strerror(errno));
  file_.reset();
}

}  // namespace sl::controller
