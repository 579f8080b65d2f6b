// Output over REST: whole, a range of bytes, or followed as events. The id of an event is the offset after it, so a
// client that reconnects with Last-Event-ID misses nothing and gets nothing twice.
#include <fmt/format.h>

#include <charconv>

#include "controller/api.h"
#include "controller/views.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr std::int64_t piece_bytes = 256 << 10;
constexpr std::size_t unsent_max = 1 << 20;
constexpr double wait_s = 10;

std::int64_t number_or(const std::optional<std::string>& text, std::int64_t other) {
  if (!text) return other;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size() ? number : other;
}

// "bytes=100-199", "bytes=100-": [from, to). To is -1 for "to the end". Nothing for what is no such range.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_range(const std::string& header) {
  if (!header.starts_with("bytes=")) return std::nullopt;
  const std::size_t dash = header.find('-');
  if (dash == std::string::npos || dash == 6) return std::nullopt;
  const std::int64_t from = number_or(header.substr(6, dash - 6), -1);
  const std::int64_t last = dash + 1 == header.size() ? -2 : number_or(header.substr(dash + 1), -1);
  if (from < 0 || last == -1 || (last >= 0 && last < from)) return std::nullopt;
  return std::pair(from, last == -2 ? -1 : last + 1);
}

// Bytes as text that JSON can carry: what is not UTF-8 becomes U+FFFD.
std::string as_utf8(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    bool good = length > 0 && i + length <= bytes.size();
    for (std::size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(bytes[i + k]) & 0xC0) == 0x80;
    if (good && length == 3) {  // neither surrogates nor overlong forms
      const auto second = static_cast<unsigned char>(bytes[i + 1]);
      good = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second >= 0xA0);
    }
    good ? text.append(bytes.substr(i, length)) : text.append("\xEF\xBF\xBD");
    i += good ? length : 1;
  }
  return text;
}

}  // namespace

struct Api::Follow {
  JobId job;
  int attempt = 0;          // 0: the first there will be
  std::int64_t offset = 0;  // of the next byte to send
  std::string held;         // bytes of a line whose end has not come
  std::shared_ptr<net::Stream> stream;

  void send(std::string_view event, std::int64_t id, const json::value& data) const {
    stream->write(fmt::format("id: {}\nevent: {}\ndata: {}\n\n", id, event, json::serialize(data)));
  }
};

void Api::get_logs(Call call) {
  const JobEntry* entry = entry_of(call);
  if (!entry) return;
  const int attempt = static_cast<int>(number_or(call.request.parameter("attempt"), entry->row.attempt));
  if (entry->row.server.empty() || attempt < 1) return call.reply->send({200, "text/plain; charset=utf-8", {}, ""});
  std::int64_t from = number_or(call.request.parameter("offset"), 0);
  std::int64_t to = -1;
  if (const auto limit = call.request.parameter("limit")) to = from + number_or(limit, 0);
  if (const auto tail = call.request.parameter("tail_bytes")) from = -number_or(tail, 0);
  if (const auto header = call.request.header("range")) {
    const auto range = parse_range(*header);
    if (!range) return call.fail(invalid("bad-range", "not a range of bytes: " + *header).hint("Range: bytes=0-1023"));
    std::tie(from, to) = *range;
  }
  read_whole(std::move(call), *entry, attempt, from, to, nullptr);
}

// Piece by piece to the end as it is now. The stream begins with the first piece, so that an error is still an error.
void Api::read_whole(Call call, const JobEntry& entry, int attempt, std::int64_t from, std::int64_t to,
                     std::shared_ptr<net::Stream> stream) {
  const std::int64_t limit = to < 0 ? piece_bytes : std::min(piece_bytes, to - from);
  const JobId job(entry.row.id);
  logic_.logs().read(
      entry.row.server, job, attempt, from, limit, 0,
      [this, call, job, attempt, from, to, stream](Result<LogPiece> piece) mutable {
        if (!piece.ok()) return stream ? stream->close() : call.fail(piece.error());
        const bool ranged = call.request.header("range").has_value();
        if (!stream) {
          net::Headers headers = {{"X-Schedulearn-Size", std::to_string(piece->size)}, {"Accept-Ranges", "bytes"}};
          if (ranged && piece->offset >= piece->size) {
            net::Response response = error_response(
                invalid("range-not-satisfiable", "the output has only " + std::to_string(piece->size) + " bytes"),
                call.request.path);
            response.status = 416;
            response.headers = {{"Content-Range", "bytes */" + std::to_string(piece->size)}};
            return call.reply->send(std::move(response));
          }
          const std::int64_t end = to < 0 ? piece->size : std::min(to, piece->size);
          if (ranged)
            headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", piece->offset, end - 1, piece->size));
          stream = call.reply->stream({ranged ? 206 : 200, "text/plain; charset=utf-8", headers, ""});
        }
        const std::int64_t next = piece->offset + static_cast<std::int64_t>(piece->bytes.size());
        if (from >= 0 && piece->offset > from && !ranged && from < piece->size)
          stream->write(fmt::format("\n[schedulearn: {} bytes of output were dropped here, it is over its limit]\n",
                                    piece->offset - from));
        stream->write(std::move(piece->bytes));
        const JobEntry* still = logic_.book().find(job);
        if (next >= piece->size || (to >= 0 && next >= to) || stream->closed() || !still) return stream->close();
        stream->on_drain([] {});
        read_whole(std::move(call), *still, attempt, next, to, std::move(stream));
      });
}

void Api::stream_logs(Call call) {
  const JobEntry* entry = entry_of(call);
  if (!entry) return;
  auto follow = std::make_shared<Follow>();
  follow->job = JobId(entry->row.id);
  follow->attempt = static_cast<int>(number_or(call.request.parameter("attempt"), 0));
  follow->offset = number_or(call.request.header("last-event-id"), number_or(call.request.parameter("offset"), 0));
  follow->stream = call.reply->stream({200, "text/event-stream", {{"Cache-Control", "no-store"}}, ": follow\n\n"});
  follow_on(follow);
}

void Api::follow_on(const std::shared_ptr<Follow>& follow) {
  const JobEntry* entry = logic_.book().find(follow->job);
  if (!entry || follow->stream->closed()) return;
  if (follow->attempt == 0) follow->attempt = entry->row.attempt;
  const bool over = entry->row.finished_us.has_value();
  if (follow->attempt == 0 || entry->row.server.empty() || entry->row.state == "starting") {  // nothing runs yet
    if (!over) return idle_follows_.push_back(follow);
    follow->send("end", follow->offset, json::object{{"state", entry->row.state}});
    return follow->stream->close();
  }
  logic_.logs().read(entry->row.server, follow->job, follow->attempt,
                     follow->offset + static_cast<std::int64_t>(follow->held.size()), piece_bytes, wait_s,
                     [this, follow](Result<LogPiece> piece) { follow_piece(follow, std::move(piece)); });
}

// What lies between was dropped for its size: the part of a line before it is sent as it is.
void Api::skip(Follow& follow, std::int64_t to) {
  const std::int64_t from = follow.offset + static_cast<std::int64_t>(follow.held.size());
  if (!follow.held.empty()) follow.send("line", from, json::object{{"x", as_utf8(follow.held)}, {"nl", true}});
  follow.held.clear();
  follow.offset = to;
  follow.send("skip", to, json::object{{"bytes", to - from}});
}

void Api::follow_piece(const std::shared_ptr<Follow>& follow, Result<LogPiece> piece) {
  const JobEntry* entry = logic_.book().find(follow->job);
  if (!entry || follow->stream->closed()) return;
  if (!piece.ok()) return idle_follows_.push_back(follow);  // the server has gone: look again when something changes
  const std::int64_t expected = follow->offset + static_cast<std::int64_t>(follow->held.size());
  if (piece->offset > expected) skip(*follow, piece->offset);
  follow->held += piece->bytes;
  std::size_t begin = 0;
  for (std::size_t end; (end = follow->held.find('\n', begin)) != std::string::npos; begin = end + 1) {
    follow->send("line", follow->offset + static_cast<std::int64_t>(end) + 1,
                 json::object{{"x", as_utf8(std::string_view(follow->held).substr(begin, end - begin))}, {"nl", true}});
  }
  const bool stalled = piece->bytes.empty();
  if (begin < follow->held.size() &&
      (stalled || piece->ended || follow->held.size() - begin > static_cast<std::size_t>(piece_bytes))) {
    follow->send("line", follow->offset + static_cast<std::int64_t>(follow->held.size()),
                 json::object{{"x", as_utf8(std::string_view(follow->held).substr(begin))}, {"nl", false}});
    begin = follow->held.size();
  }
  follow->offset += static_cast<std::int64_t>(begin);
  follow->held.erase(0, begin);
  if (piece->ended) {
    if (!entry->row.finished_us && entry->row.attempt == follow->attempt)
      return idle_follows_.push_back(follow);  // its end is about to be known
    if (entry->row.attempt > follow->attempt) {
      follow->send("attempt", 0, json::object{{"attempt", entry->row.attempt}});
      follow->attempt = entry->row.attempt;
      follow->offset = 0;
      return follow_on(follow);
    }
    follow->send("end", follow->offset, json::object{{"state", entry->row.state}});
    return follow->stream->close();
  }
  if (stalled) follow->stream->write(": alive\n\n");
  if (follow->stream->unsent_bytes() > unsent_max) return idle_follows_.push_back(follow);  // a slow reader: later
  follow_on(follow);
}

void Api::on_turn() {
  constexpr Duration patience = Duration::milliseconds(500);
  const Instant now = clock_();
  if (idle_follows_.empty() ||
      (logic_.recorder().next_event() == seen_event_ && looked_.happened() && now < looked_ + patience))
    return;
  seen_event_ = logic_.recorder().next_event();
  looked_ = now;
  for (const auto& follow : std::exchange(idle_follows_, {})) follow_on(follow);
}

}  // namespace sl::controller
