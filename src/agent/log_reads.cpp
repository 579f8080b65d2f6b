#include "agent/log_reads.h"

#include <algorithm>

#include "agent/clocks.h"
#include "agent/file_reads.h"
#include "agent/files.h"
#include "agent/output_times.h"
#include "wire/base64.h"

namespace sl::agent {
namespace {

constexpr Duration look_interval = Duration::milliseconds(20);
constexpr double wait_s_max = 60;

}  // namespace

void LogReads::answer(const wire::LogRead& request) {
  if (request.path) return send_(read_left_file(files_.folders(), request));
  if (try_answer(request, request.wait_s <= 0)) return;
  waiting_.push_back({request, boot_now() + Duration::seconds(std::min(request.wait_s, wait_s_max))});
  if (waiting_.size() == 1) look_again_later();
}

void LogReads::look_again_later() {
  look_ = loop_.after(look_interval, [this] {
    const Instant now = boot_now();
    std::erase_if(waiting_, [&](const Waiting& one) { return try_answer(one.request, now >= one.answer_by); });
    if (!waiting_.empty()) look_again_later();
  });
}

bool LogReads::try_answer(const wire::LogRead& request, bool last_chance) {
  const std::string key = key_of(request.incarnation);
  wire::LogChunk chunk;
  chunk.request = request.request;
  const auto held = logic_.attempts().find(key);
  const bool is_held = held != logic_.attempts().end();
  // Read the state before the bytes: after the end nothing is written, so nothing can be missed.
  const bool over = is_held ? held->second.report.state == "exited" : logic_.launcher_ready();
  const auto piece = read_output(files_.folders().of_attempt(key), request.offset, request.limit);
  if (!piece && !is_held) {
    chunk.error = "unknown-attempt";
    send_(chunk);
    return true;
  }
  const FilePiece found = piece.value_or(FilePiece{});
  const std::int64_t end = found.offset + static_cast<std::int64_t>(found.bytes.size());
  chunk.offset = found.offset;
  chunk.size = found.size;
  chunk.ended = over && end >= found.size;
  if (found.bytes.empty() && !chunk.ended && !last_chance) return false;
  chunk.data = wire::encode_base64(found.bytes);
  if (request.times && end > found.offset) {
    if (is_held && !over) files_.note_output(key, held->second.report, false);
    chunk.times = read_output_times(files_.folders().of_attempt(key), found.offset, end);
  }
  send_(chunk);
  return true;
}

}  // namespace sl::agent
