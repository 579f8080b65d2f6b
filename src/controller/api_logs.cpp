// Output over REST: whole, a range of bytes, or followed as events. The id of an event is the attempt and the offset after
// it, so that a client that reconnects with Last-Event-ID misses nothing and gets nothing twice.
//
// A reader costs one piece, however long the output is and however slowly it reads: the next piece is fetched when the
// reader has read the previous one.
#include <fmt/format.h>

#include <limits>

#include "base/whole_number.h"
#include "controller/api.h"
#include "controller/job_files.h"
#include "controller/output_clock.h"
#include "controller/views.h"
#include "wire/json_text.h"
#include "wire/utf8.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr std::int64_t piece_bytes = 128 << 10;
constexpr std::int64_t followed_piece_bytes = 16 << 10;  // as events, short lines take many times their size
constexpr double wait_s = 10;
constexpr double rest_s = 0.5;  // for the rest of a line: a progress bar may not end its line for hours
constexpr Duration patience = Duration::whole_seconds(30);  // with a follower that does not read
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

// "bytes=100-199", "bytes=100-": [from, to). `to` is -1 for "to the end". Nothing if it is not such a range.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_range(const std::string& header) {
  if (!header.starts_with("bytes=")) return std::nullopt;
  const std::size_t dash = header.find('-');
  if (dash == std::string::npos || dash == 6) return std::nullopt;
  const std::string_view text(header);
  const std::int64_t from = parse_whole_number(text.substr(6, dash - 6)).value_or(-1);
  const std::int64_t last = dash + 1 == text.size() ? -2 : parse_whole_number(text.substr(dash + 1)).value_or(-1);
  if (from < 0 || last == -1 || (last >= 0 && last < from)) return std::nullopt;
  return std::pair(from, last == -2 || last == no_limit ? -1 : last + 1);
}

Error no_such_rank(const JobEntry& entry, int attempt) {
  const auto servers = std::ranges::count(entry.placements, attempt, &store::PlacementRow::attempt);
  return not_found("no-such-rank", fmt::format("attempt {} of job {} has {} server{}, numbered from 0", attempt,
                                               entry.row.id, servers, servers == 1 ? "" : "s"))
      .hint(fmt::format("schedulearn show {}", entry.row.id))
      .at("/rank");
}

}  // namespace

struct Api::Follow {
  JobId job;
  int attempt = 0;          // 0: the first one there will be
  int rank = 0;             // of the server, among those of the attempt
  std::int64_t offset = 0;  // of the next byte to send
  std::int64_t tail = -1;   // it begins with so many of the lines that are there; -1: at `offset`
  std::string held;         // bytes of an incomplete line
  Instant held_since;       // when the first of them came
  std::shared_ptr<net::Stream> stream;
  Instant stalled;               // when it began to wait for its reader; not set while it does not wait
  std::optional<JobEntry> past;  // the job, if it is only in the database
  bool is_away = false;          // its server does not answer, and the reader has been told
  bool is_text = false;          // the output and nothing else, without events
  bool with_times = false;       // each line says when it was written
  OutputClock written;

  // `at`: the offset after it in the attempt's output.
  void send(std::string_view event, std::int64_t at, const json::value& data) const {
    if (is_text && event != "line") return;
    if (is_text) return stream->write(std::string(data.at("x").as_string()) + (data.at("nl").as_bool() ? "\n" : ""));
    stream->write(fmt::format("id: {}-{}\nevent: {}\ndata: {}\n\n", attempt, at, event, wire::json_text(data)));
  }
  // An event's id, or the offset alone, in the attempt that was asked for. Anything else is ignored.
  void continue_after(std::string_view event_id) {
    const std::size_t dash = event_id.find('-');
    const bool has_attempt = dash != event_id.npos;
    if (const auto last = parse_whole_number(has_attempt ? event_id.substr(dash + 1) : event_id)) offset = *last;
    const auto number = parse_whole_number(has_attempt ? event_id.substr(0, dash) : "");
    if (number && *number > 0 && *number <= std::numeric_limits<int>::max()) attempt = static_cast<int>(*number);
  }
  // A line, or a part of one, from `begin` on of what is held.
  void send_line(std::size_t begin, std::size_t length, bool is_complete) const {
    const std::int64_t at = offset + static_cast<std::int64_t>(begin);
    json::object line{{"x", wire::as_utf8(std::string_view(held).substr(begin, length))}, {"nl", is_complete}};
    if (with_times) line["t"] = wire::to_value(written.at(at));
    send("line", at + static_cast<std::int64_t>(length) + (is_complete ? 1 : 0), line);
  }
  // What is held of a line that does not go on.
  void send_rest() {
    if (held.empty()) return;
    send_line(0, held.size(), false);
    offset += static_cast<std::int64_t>(held.size());
    held.clear();
  }
  void say_alive() const {
    if (!is_text) stream->write(": alive\n\n");
  }
};

void Api::read_output(const Output& output, std::int64_t offset, std::int64_t limit, double wait_s,
                      Logs::Continue then) {
  constexpr std::size_t events_max = 1'000;
  const auto explain = [output](const Error& missing, store::Reader& reader) -> Result<LogPiece> {
    const auto events = reader.events({.job = output.incarnation.job, .limit = events_max});
    if (!events.ok()) return events.error();
    return output_removed(*events, output.server).value_or(missing);
  };
  logic_.logs().read(output, offset, limit, wait_s, [this, explain, then = std::move(then)](Result<LogPiece> piece) {
    if (piece.ok() || piece.error().code != "output-not-found") return then(std::move(piece));
    history_.ask<LogPiece>(
        [explain, missing = piece.error()](store::Reader& reader) { return explain(missing, reader); }, then);
  });
}

namespace {

Error no_output_of_group(const JobEntry& entry) {
  return invalid("group-has-no-output",
                 fmt::format("job {} is an array: each of its members has an output of its own", entry.row.id))
      .hint(fmt::format("name a member, here the first one: schedulearn logs {}", entry.row.id + 1))
      .hint(fmt::format("schedulearn ls --group {}", entry.row.id));
}

}  // namespace

void Api::get_logs(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    is_group(entry.row) ? asked.fail(no_output_of_group(entry)) : send_logs(asked, entry);
  });
}

void Api::send_logs(const Call& call, const JobEntry& entry) {
  const auto attempt = call.number("attempt", entry.row.attempt, 1, std::numeric_limits<int>::max());
  const auto rank = call.number("rank", 0, 0, std::numeric_limits<int>::max());
  const auto offset = call.number("offset", 0, 0, no_limit);
  const auto limit = call.number("limit", -1, 0, no_limit);
  const auto tail = call.number("tail", -1, 0, no_limit);
  const auto tail_bytes = call.number("tail_bytes", 0, 0, no_limit);
  for (const auto* number : {&attempt, &rank, &offset, &limit, &tail, &tail_bytes}) {
    if (!number->ok()) return call.fail(number->error());
  }
  if (*limit >= 0 && (*tail >= 0 || *tail_bytes > 0))
    return call.fail(invalid("bad-parameter", "limit goes with offset; tail and tail_bytes say themselves how much"));
  // Of a job that waits again: what it wrote before.
  Output output = output_of(entry, static_cast<int>(*attempt), static_cast<int>(*rank));
  output.with_times = call.request.parameter("timestamps") == "true";
  if (output.with_times && call.request.header("range"))
    return call.fail(invalid("bad-range", "a range is of the output as it was written, without times")
                         .hint("leave timestamps or the header Range out"));
  if (output.server.empty() && *rank > 0) return call.fail(no_such_rank(entry, static_cast<int>(*attempt)));
  if (output.server.empty() || *attempt < 1 || *tail == 0)
    return call.reply->send({200, "text/plain; charset=utf-8", {}, ""});
  if (*tail > 0)
    return find_tail(output, *tail, -1, [this, call, output](const Result<std::int64_t>& begin) {
      begin.ok() ? read_whole(call, output, *begin, -1, nullptr) : call.fail(begin.error());
    });
  const std::int64_t from = *tail_bytes > 0 ? -*tail_bytes : *offset;
  send_range(call, output, from, *limit < 0 || *limit > no_limit - *offset ? -1 : *offset + *limit);
}

// What the request's header asks for counts more.
void Api::send_range(const Call& call, const Output& output, std::int64_t from, std::int64_t to) {
  if (const auto header = call.request.header("range")) {
    const auto range = parse_range(*header);
    if (!range) return call.fail(invalid("bad-range", "not a range of bytes: " + *header).hint("Range: bytes=0-1023"));
    std::tie(from, to) = *range;
  }
  read_whole(call, output, from, to, nullptr);
}

// Searches for the beginning of the last `lines` lines, at least one, piece by piece backwards from `end` (-1: of the
// output).
void Api::find_tail(const Output& output, std::int64_t lines, std::int64_t end,
                    std::function<void(Result<std::int64_t>)> then) {
  const std::int64_t from = end < 0 ? -piece_bytes : std::max<std::int64_t>(0, end - piece_bytes);
  read_output(output, from, end < 0 ? piece_bytes : end - from, 0,
              [this, output, lines, from, end, then = std::move(then)](Result<LogPiece> piece) mutable {
                if (!piece.ok()) return then(piece.error());
                const std::string_view bytes = piece->bytes;
                std::int64_t begin = piece->offset;
                // The line break at the end of the output does not begin a line.
                for (std::size_t i = bytes.size() - (end < 0 && bytes.ends_with('\n')); i-- > 0 && lines > 0;) {
                  if (bytes[i] == '\n' && --lines == 0) begin = piece->offset + static_cast<std::int64_t>(i) + 1;
                }
                const std::int64_t asked = from < 0 ? std::max<std::int64_t>(0, piece->size + from) : from;
                // If the piece begins later than requested, what came before it was dropped for its size.
                if (lines > 0 && piece->offset > 0 && piece->offset == asked)
                  return find_tail(output, lines, piece->offset, std::move(then));
                then(begin);
              });
}

// Reads piece by piece to the current end. The stream begins with the first piece, so that an error is still sent as an
// error.
void Api::read_whole(Call call, const Output& output, std::int64_t from, std::int64_t to,
                     std::shared_ptr<net::Stream> stream, bool begins_line) {
  const std::int64_t limit = to < 0 ? piece_bytes : std::min(piece_bytes, to - from);
  const auto use = [this, call, output, from, to, stream, begins_line](Result<LogPiece> piece) mutable {
    if (!piece.ok()) return stream ? stream->close() : call.fail(piece.error());
    const bool ranged = call.request.header("range").has_value();
    if (!stream) {
      // A browser must not guess that output is a page.
      net::Headers headers = {{"X-Schedulearn-Size", std::to_string(piece->size)},
                              {"Accept-Ranges", "bytes"},
                              {"X-Content-Type-Options", "nosniff"}};
      if (ranged && piece->offset >= piece->size) {
        net::Response response = error_response(
            invalid("range-not-satisfiable", "the output has only " + std::to_string(piece->size) + " bytes"),
            call.request.path, call.request_id, 416);
        response.headers = {{"Content-Range", "bytes */" + std::to_string(piece->size)}};
        return call.reply->send(std::move(response));
      }
      const std::int64_t end = to < 0 ? piece->size : std::min(to, piece->size);
      if (ranged)
        headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", piece->offset, end - 1, piece->size));
      if (output.path) headers.emplace_back("Content-Disposition", "attachment");
      const char* type = output.path ? "application/octet-stream" : "text/plain; charset=utf-8";
      stream = call.reply->stream({ranged ? 206 : 200, type, headers, ""});
    }
    const std::int64_t next = piece->offset + static_cast<std::int64_t>(piece->bytes.size());
    if (from >= 0 && piece->offset > from && !ranged && from < piece->size)
      stream->write(fmt::format("\n[schedulearn: {} bytes of output were dropped here, it is over its limit]\n",
                                piece->offset - from));
    if (output.with_times) {
      OutputClock written;
      written.add(piece->times, piece->offset);
      piece->bytes = written.stamped(piece->bytes, piece->offset, begins_line);
    }
    stream->write(std::move(piece->bytes));
    const bool is_unreadable = next == from;  // as on a disk that fails: it would be asked for again and again
    if (next >= piece->size || (to >= 0 && next >= to) || is_unreadable || stream->closed()) return stream->close();
    when_read(stream, [this, call, output, next, to, stream, begins_line]() mutable {
      if (stream->closed()) return stream->close();
      read_whole(std::move(call), output, next, to, std::move(stream), begins_line);
    });
  };
  read_output(output, from, limit, 0, use);
}

void Api::stream_logs(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    is_group(entry.row) ? asked.fail(no_output_of_group(entry)) : begin_follow(asked, entry, false);
  });
}

void Api::follow_as_text(const std::string& job, net::Request request, Identity identity,
                         std::shared_ptr<net::Reply> reply) {
  Call call{std::move(request), std::move(identity), std::move(reply), {job}, clock_(), ""};
  if (const Status may = check_role(call.identity, Role::viewer); !may.ok()) return call.fail(may.error());
  if (job.find('_') != std::string::npos) return resolve_member(std::move(call), &Api::stream_text);
  stream_text(std::move(call));
}

void Api::stream_text(Call call) {
  with_job(std::move(call), [this](const Call& asked, const JobEntry& entry) {
    is_group(entry.row) ? asked.fail(no_output_of_group(entry)) : begin_follow(asked, entry, true);
  });
}

void Api::begin_follow(const Call& call, const JobEntry& entry, bool is_text) {
  auto follow = std::make_shared<Follow>();
  follow->is_text = is_text;
  follow->with_times = call.request.parameter("timestamps") == "true";
  follow->job = JobId(entry.row.id);
  const auto attempt = call.number("attempt", 0, 0, std::numeric_limits<int>::max());
  const auto offset = call.number("offset", 0, 0, no_limit);
  if (!attempt.ok()) return call.fail(attempt.error());
  if (!offset.ok()) return call.fail(offset.error());
  const auto rank = call.number("rank", 0, 0, std::numeric_limits<int>::max());
  if (!rank.ok()) return call.fail(rank.error());
  const auto tail = call.number("tail", -1, 0, no_limit);
  if (!tail.ok()) return call.fail(tail.error());
  if (!call.request.header("last-event-id")) follow->tail = *tail;
  follow->rank = static_cast<int>(*rank);
  follow->attempt = static_cast<int>(*attempt);
  follow->offset = *offset;
  if (const auto last = call.request.header("last-event-id")) follow->continue_after(*last);
  const int known = follow->attempt > 0 ? follow->attempt : entry.row.attempt;
  if (*rank > 0 && known > 0 && output_of(entry, known, follow->rank).server.empty())
    return call.fail(no_such_rank(entry, known));
  follow->stream =
      call.reply->stream({200, "text/event-stream", {{"Cache-Control", "no-store"}}, is_text ? "" : ": follow\n\n"});
  end_with_identity(call, follow->stream, !is_text);
  follow_on(follow);
}

const JobEntry* Api::followed(const std::shared_ptr<Follow>& follow, std::function<void()> then) {
  if (const JobEntry* entry = logic_.book().find(follow->job)) return entry;
  if (follow->past) return &*follow->past;
  find_past(follow->job, [follow, then = std::move(then)](Result<JobEntry> past) {
    if (!past.ok()) return follow->stream->close();
    follow->past = std::move(*past);
    then();
  });
  return nullptr;
}

void Api::follow_on(const std::shared_ptr<Follow>& follow) {
  if (follow->stream->closed()) return;
  if (logic_.core().group_of_member_to_come(follow->job).valid()) return idle_follows_.push_back(follow);
  const JobEntry* entry = followed(follow, [this, follow] { follow_on(follow); });
  if (!entry) return;
  if (follow->attempt == 0 && entry->row.attempt > 0) {
    follow->attempt = entry->row.attempt;
    if (follow->tail < 0) follow->send("from", follow->offset, json::object{});  // a reader that comes back says which
  }
  const bool over = entry->row.finished_us.has_value();
  Output output = output_of(*entry, follow->attempt, follow->rank);
  output.with_times = follow->with_times;
  if (output.server.empty() && entry->row.attempt > follow->attempt) return follow_next(follow, *entry);
  if (follow->attempt == 0 || output.server.empty() || entry->row.state == "starting") {  // nothing runs yet
    if (!over) return idle_follows_.push_back(follow);
    return end_follow(*follow, entry->row, "");
  }
  if (follow->tail >= 0) return begin_at_tail(follow, output);
  read_output(output, follow->offset + static_cast<std::int64_t>(follow->held.size()), followed_piece_bytes,
              follow->held.empty() ? wait_s : rest_s,
              [this, follow](Result<LogPiece> piece) { follow_piece(follow, std::move(piece)); });
}

// An output that cannot be read now is asked for again, from its beginning then.
void Api::begin_at_tail(const std::shared_ptr<Follow>& follow, const Output& output) {
  const auto begin_at = [this, follow](Result<std::int64_t> begin) {
    if (follow->stream->closed()) return;
    follow->offset = begin.ok() ? *begin : 0;
    follow->send("from", follow->offset, json::object{});
    follow_on(follow);
  };
  const std::int64_t lines = std::exchange(follow->tail, -1);
  if (lines > 0) return find_tail(output, lines, -1, begin_at);
  read_output(output, -1, 1, 0, [begin_at](const Result<LogPiece>& piece) {
    piece.ok() ? begin_at(piece->size) : begin_at(piece.error());
  });
}

// What lies between was dropped for its size; the incomplete line before it is sent as it is.
void Api::skip(Follow& follow, std::int64_t to) {
  const std::int64_t from = follow.offset + static_cast<std::int64_t>(follow.held.size());
  if (!follow.held.empty()) follow.send("line", from, json::object{{"x", wire::as_utf8(follow.held)}, {"nl", true}});
  follow.held.clear();
  follow.offset = to;
  follow.send("skip", to, json::object{{"bytes", to - from}});
}

void Api::follow_piece(const std::shared_ptr<Follow>& follow, Result<LogPiece> piece) {
  if (follow->stream->closed()) return;
  const JobEntry* entry =
      followed(follow, [this, follow, piece] { follow_piece(follow, piece); });  // while its pieces arrive
  if (!entry) return;
  if (!piece.ok() && entry->row.finished_us && piece.error().kind == ErrorKind::not_found)
    return end_follow(*follow, entry->row, piece.error().message);
  if (!piece.ok() && piece.error().kind == ErrorKind::not_found && entry->row.attempt > follow->attempt) {
    follow->send_rest();
    follow->send("gone", follow->offset, json::object{{"reason", piece.error().message}});
    return follow_next(follow, *entry);
  }
  if (!piece.ok()) {  // the server has gone: check again when something changes
    const bool is_away = piece.error().code == "server-unreachable";
    if (is_away && !std::exchange(follow->is_away, true))
      follow->send("away", follow->offset, json::object{{"reason", piece.error().message + ": it is waited for"}});
    return idle_follows_.push_back(follow);
  }
  follow->is_away = false;
  const std::int64_t expected = follow->offset + static_cast<std::int64_t>(follow->held.size());
  if (piece->offset > expected) skip(*follow, piece->offset);
  const Instant now = clock_();
  if (follow->held.empty()) follow->held_since = now;
  follow->held += piece->bytes;
  follow->written.add(piece->times, follow->offset);
  std::size_t begin = 0;
  for (std::size_t end; (end = follow->held.find('\n', begin)) != std::string::npos; begin = end + 1) {
    follow->send_line(begin, end - begin, true);
    follow->held_since = now;
  }
  const bool stalled = piece->bytes.empty(), is_last = stalled || piece->ended;
  const bool is_due = now >= follow->held_since + Duration::seconds(rest_s) ||
                      follow->held.size() - begin > static_cast<std::size_t>(followed_piece_bytes);
  const std::string_view rest = std::string_view(follow->held).substr(begin);
  if (const std::size_t length = is_last ? rest.size() : is_due ? wire::whole_characters(rest) : 0) {
    follow->send_line(begin, length, false);
    begin += length;
    follow->held_since = now;
  }
  follow->offset += static_cast<std::int64_t>(begin);
  follow->held.erase(0, begin);
  if (piece->ended) {
    if (!entry->row.finished_us && entry->row.attempt == follow->attempt)
      return idle_follows_.push_back(follow);  // its end will be known soon
    if (entry->row.attempt > follow->attempt) return follow_next(follow, *entry);
    return end_follow(*follow, entry->row, "");
  }
  if (stalled) follow->say_alive();
  follow->stream->unsent_bytes() > 0 ? wait_for_reader(follow) : follow_on(follow);
}

// The job is over. `gone`: why there is no output; empty: there is, as far as the job has started.
void Api::end_follow(Follow& follow, const store::JobRow& row, const std::string& gone) {
  const std::string why =
      row.first_start_us || row.failure_message.empty() ? gone : "the job never started: " + row.failure_message;
  if (!why.empty()) follow.send("gone", follow.offset, json::object{{"reason", why}});
  follow.send("end", follow.offset, json::object{{"state", row.state}});
  follow.stream->close();
}

// The next attempt that ran, or the latest one.
void Api::follow_next(const std::shared_ptr<Follow>& follow, const JobEntry& entry) {
  do {
    ++follow->attempt;
  } while (follow->attempt < entry.row.attempt && output_of(entry, follow->attempt, follow->rank).server.empty());
  follow->offset = 0;
  follow->is_away = false;
  follow->written.restart();
  follow->send("attempt", 0, json::object{{"attempt", follow->attempt}});
  follow_on(follow);
}

void Api::wait_for_reader(const std::shared_ptr<Follow>& follow) {
  follow->stalled = clock_();
  stalled_follows_.push_back(follow);
  when_read(follow->stream, [this, follow] {
    std::erase(stalled_follows_, follow);
    follow->stalled = Instant();
    follow_on(follow);
  });
}

// The reason is the last thing it will read, if it ever does; it gets what it missed by asking again.
void Api::give_up_stalled(Instant now) {
  std::erase_if(stalled_follows_, [&](const std::shared_ptr<Follow>& follow) {
    if (now < follow->stalled + patience) return false;
    follow->send("closed", follow->offset, json::object{{"reason", "the reader took nothing for 30 s"}});
    follow->stream->close();
    return true;
  });
}

void Api::on_turn() {
  constexpr Duration look_every = Duration::milliseconds(500);
  const Instant now = clock_();
  give_up_stalled(now);
  end_revoked(now);
  tend_watchers(now);
  if (idle_follows_.empty() ||
      (logic_.recorder().next_event() == seen_event_ && looked_.happened() && now < looked_ + look_every))
    return;
  seen_event_ = logic_.recorder().next_event();
  looked_ = now;
  for (const auto& follow : std::exchange(idle_follows_, {})) follow_on(follow);
}

}  // namespace sl::controller
