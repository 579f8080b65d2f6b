#include "agent/checkpoint_fetches.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "agent/clocks.h"
#include "agent/job_files.h"
#include "net/http_client.h"
#include "wire/base64.h"

namespace sl::agent {
namespace {

constexpr Duration answer_timeout = Duration::whole_seconds(20);
constexpr std::int64_t relayed_bytes = 256 << 10;  // in one piece through the controller
constexpr int fruitless_max = 30;                  // attempts in a row that brought nothing although somebody answered
constexpr int damaged_max = 5;
constexpr int ticks_per_report = 4;

using Consume = std::function<bool(std::string_view)>;  // false: enough

}  // namespace

// What the fetch's thread and the loop share.
class CheckpointFetches::Fetch {
 public:
  Fetch(Incarnation incarnation, wire::CheckpointSource source, CheckpointPlace place, std::shared_ptr<Fetch> before,
        std::function<void(const wire::CheckpointRead&)> ask)
      : incarnation_(std::move(incarnation)),
        place_(std::move(place)),
        ask_(std::move(ask)),
        before_(std::move(before)),
        source_(std::move(source)) {}

  Result<wire::CheckpointCopy> run(const std::atomic<bool>& stop);

  // ---- the loop's ----
  const Incarnation& incarnation() const { return incarnation_; }
  const std::string& folder() const { return place_.folder; }
  void use(const wire::CheckpointSource& source) {
    change([&] { source_ = source, ++source_number_; });
  }
  void end(bool discards) {
    change([&] { is_ended_ = true, discards_ = discards; });
  }
  void on_piece(const wire::CheckpointPiece& piece) {
    change([&] {
      if (piece.request == request_) piece_ = piece;
    });
  }
  void over() {
    change([&] { is_over_ = true; });
  }
  wire::CheckpointProgress progress() {
    const std::lock_guard lock(mutex_);
    return {incarnation_, bytes_done_, std::max(bytes_, source_.bytes), through_controller_};
  }

 private:
  class Way;
  class Direct;
  class Relayed;
  template <typename Change>
  void change(Change what) {
    const std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }
  bool is_ended() {
    const std::lock_guard lock(mutex_);
    return is_ended_ || *stop_;
  }
  void wait_for_predecessor();
  Result<wire::CheckpointCopy> fetch();
  // Empty: try again.
  std::optional<Result<wire::CheckpointCopy>> try_ways(const wire::CheckpointSource& source);
  Result<wire::CheckpointCopy> copy(Way& way);
  Status receive(Way& way, CheckpointWriter& writer);
  bool is_shared(const wire::CheckpointSource& source) const;
  wire::CheckpointPiece ask(const char* what, CheckpointPosition from);
  void note_progress(const CheckpointWriter& writer, std::int64_t bytes);

  const Incarnation incarnation_;
  const CheckpointPlace place_;
  const std::function<void(const wire::CheckpointRead&)> ask_;
  std::shared_ptr<Fetch> before_;  // writes to the same folder, and is ending
  const std::atomic<bool>* stop_ = nullptr;
  Instant begun_;
  int fruitless_ = 0, damaged_ = 0;

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  wire::CheckpointSource source_;
  int source_number_ = 0;
  bool is_ended_ = false, discards_ = false, is_over_ = false;
  std::int64_t request_ = 0;
  std::optional<wire::CheckpointPiece> piece_;
  std::int64_t bytes_done_ = 0, bytes_ = 0;
  bool through_controller_ = false;
};

// ---- ways ----

// How to reach the source. Errors: "away" (try again, or otherwise), "unreadable" (it cannot be copied, and why).
class CheckpointFetches::Fetch::Way {
 public:
  virtual ~Way() = default;
  virtual Result<std::string> list() = 0;
  virtual Status data(CheckpointPosition from, const Consume& consume) = 0;
  virtual void done() = 0;
};

class CheckpointFetches::Fetch::Direct : public Way {
 public:
  Direct(Fetch& fetch, const wire::CheckpointSource& source) : fetch_(fetch) {
    const bool is_v6 = source.address.find(':') != std::string::npos;
    url_ = fmt::format("http://{}{}{}:{}/checkpoint/", is_v6 ? "[" : "", source.address, is_v6 ? "]" : "", source.port);
    headers_ = {{"Authorization", "Bearer " + source.secret}};
  }
  Result<std::string> list() override {
    auto response = net::fetch(request("GET", "list"));
    if (!response.ok()) return away(response.error().message);
    if (response->status != 200) return refusal(*response);
    return std::move(response->body);
  }
  Status data(CheckpointPosition from, const Consume& consume) override {
    const auto response =
        net::fetch_stream(request("GET", fmt::format("data?file={}&offset={}", from.file, from.offset)), consume);
    if (!response.ok()) return away(response.error().message);
    return response->status == 200 ? Status() : refusal(*response);
  }
  void done() override { (void)net::fetch(request("POST", "done")); }

 private:
  static Error away(const std::string& why) { return unavailable("away", why); }
  static Error refusal(const net::ClientResponse& response) {
    return response.status == 409 ? conflict("unreadable", response.body) : away("it offers nothing");
  }
  net::ClientRequest request(const char* method, const std::string& what) {
    net::ClientRequest request;
    request.method = method;
    request.url = url_ + what;
    request.headers = headers_;
    request.timeout = answer_timeout;
    request.is_given_up = [this] { return fetch_.is_ended(); };
    return request;
  }

  Fetch& fetch_;
  std::string url_;
  net::Headers headers_;
};

class CheckpointFetches::Fetch::Relayed : public Way {
 public:
  explicit Relayed(Fetch& fetch) : fetch_(fetch) {}
  Result<std::string> list() override {
    std::string text;
    while (true) {
      const auto piece = fetch_.ask("list", {0, static_cast<std::int64_t>(text.size())});
      if (piece.error) return refusal(piece);
      const std::string bytes = wire::decode_base64(piece.data).value_or("");
      text += bytes;
      if (static_cast<std::int64_t>(bytes.size()) < relayed_bytes) return text;
    }
  }
  Status data(CheckpointPosition from, const Consume& consume) override {
    const auto piece = fetch_.ask("data", from);
    if (piece.error) return refusal(piece);
    consume(wire::decode_base64(piece.data).value_or(""));
    return {};
  }
  void done() override { fetch_.ask("done", {}); }

 private:
  static Error refusal(const wire::CheckpointPiece& piece) {
    if (*piece.error == "unreadable") return conflict("unreadable", piece.text);
    return unavailable(*piece.error == "source-away" ? "source-away" : "away", *piece.error);
  }
  Fetch& fetch_;
};

// ---- the thread ----

Result<wire::CheckpointCopy> CheckpointFetches::Fetch::run(const std::atomic<bool>& stop) {
  stop_ = &stop;
  begun_ = boot_now();
  wait_for_predecessor();
  auto result = fetch();
  const bool stays = result.ok() ? result->outcome == "copied" : result.error().code == "ended" && !discards_;
  if (!stays) CheckpointWriter::discard(place_.folder);
  return result;
}

void CheckpointFetches::Fetch::wait_for_predecessor() {
  if (!before_) return;
  std::unique_lock lock(before_->mutex_);
  while (!before_->is_over_ && !*stop_) before_->changed_.wait_for(lock, std::chrono::milliseconds(100));
  lock.unlock();
  before_.reset();
}

Result<wire::CheckpointCopy> CheckpointFetches::Fetch::fetch() {
  Duration wait = Duration::milliseconds(100);
  while (true) {
    std::unique_lock lock(mutex_);
    if (is_ended_ || *stop_) return unavailable("ended", "it is not needed any more");
    const wire::CheckpointSource source = source_;
    const int number = source_number_;
    const std::int64_t before = bytes_done_;
    lock.unlock();
    if (auto result = try_ways(source)) return std::move(*result);
    if (fruitless_ > fruitless_max || damaged_ > damaged_max)
      return unavailable("server_setup",
                         damaged_ > damaged_max
                             ? "its checkpoint arrives from " + source.server + " damaged again and again"
                             : "its checkpoint cannot be fetched from " + source.server);
    lock.lock();
    wait = bytes_done_ > before ? Duration::milliseconds(100) : std::min(wait + wait, Duration::whole_seconds(5));
    changed_.wait_for(lock, std::chrono::microseconds(wait.us),
                      [&] { return is_ended_ || *stop_ || source_number_ != number; });
  }
}

std::optional<Result<wire::CheckpointCopy>> CheckpointFetches::Fetch::try_ways(const wire::CheckpointSource& source) {
  std::vector<std::unique_ptr<Way>> ways;
  if (source.port > 0 && !source.address.empty()) ways.push_back(std::make_unique<Direct>(*this, source));
  ways.push_back(std::make_unique<Relayed>(*this));
  bool has_answered = false;
  for (const auto& way : ways) {
    if (is_ended()) return std::nullopt;
    change([&] { through_controller_ = way == ways.back(); });
    auto copied = is_shared(source) ? wire::CheckpointCopy{"shared", {}, 0, 0} : copy(*way);
    if (copied.ok()) way->done();
    if (copied.ok()) return copied;
    const std::string& code = copied.error().code;
    if (code == "server_setup") return copied;
    if (code == "unreadable" || code == "checkpoint-refused" || code == "bad-list")
      return wire::CheckpointCopy{"not_copied", copied.error().message, 0, 0};
    if (code == "damaged") ++damaged_;
    if (code == "moving") fruitless_ = 0;  // some of it has come: the same way goes on
    if (code == "damaged" || code == "moving") return std::nullopt;
    has_answered = has_answered || code != "source-away";
  }
  if (has_answered) ++fruitless_;
  return std::nullopt;
}

Result<wire::CheckpointCopy> CheckpointFetches::Fetch::copy(Way& way) {
  const auto text = way.list();
  if (!text.ok()) return text.error();
  auto list = parse_list(*text);
  if (!list.ok()) return list.error();
  if (file_from(*list, 0) == list->entries.size()) return wire::CheckpointCopy{"empty", {}, 0, 0};
  const std::int64_t bytes = list->bytes();
  auto writer = CheckpointWriter::open(place_, std::move(*list));
  if (!writer.ok()) return writer.error();
  note_progress(**writer, bytes);
  if (Status received = receive(way, **writer); !received.ok()) return received.error();
  if (Status finished = (*writer)->finish(); !finished.ok()) return finished.error();
  return wire::CheckpointCopy{"copied", {}, bytes, (boot_now() - begun_).to_seconds()};
}

// Errors, besides those of the way and the writer: "moving", if it was cut after some bytes.
Status CheckpointFetches::Fetch::receive(Way& way, CheckpointWriter& writer) {
  bool has_moved = false;
  while (!writer.is_complete()) {
    if (is_ended()) return unavailable("away", "it is not needed any more");
    const CheckpointPosition from = writer.resume_at();
    Status written;
    const Status sent = way.data(from, [&](std::string_view bytes) {
      written = writer.write(bytes);
      note_progress(writer, 0);
      return written.ok() && !is_ended();
    });
    if (!written.ok()) return written;
    const bool moves = !(writer.resume_at() == from);
    has_moved = has_moved || moves;
    if (sent.ok() && moves) continue;
    if (!sent.ok() && sent.error().code == "unreadable") return sent;
    return has_moved ? unavailable("moving", "it was cut") : sent.ok() ? unavailable("away", "nothing comes") : sent;
  }
  return {};
}

bool CheckpointFetches::Fetch::is_shared(const wire::CheckpointSource& source) const {
  struct stat facts {};
  return !source.nonce.empty() && source.nonce.find('/') == std::string::npos &&
         ::lstat((place_.folder + "/" + std::string(shared_prefix) + source.nonce).c_str(), &facts) == 0;
}

wire::CheckpointPiece CheckpointFetches::Fetch::ask(const char* what, CheckpointPosition from) {
  wire::CheckpointRead read;
  read.incarnation = incarnation_;
  read.what = what;
  read.file = static_cast<std::int64_t>(from.file);
  read.offset = from.offset;
  read.limit = relayed_bytes;
  std::unique_lock lock(mutex_);
  read.request = ++request_;
  piece_.reset();
  lock.unlock();
  ask_(read);
  lock.lock();
  const int number = source_number_;
  changed_.wait_for(lock, std::chrono::microseconds(answer_timeout.us),
                    [&] { return piece_ || is_ended_ || *stop_ || source_number_ != number; });
  wire::CheckpointPiece none;
  none.error = "no-answer";
  return piece_ ? *piece_ : none;
}

void CheckpointFetches::Fetch::note_progress(const CheckpointWriter& writer, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_done_ = writer.bytes_done();
  if (bytes > 0) bytes_ = bytes;
}

// ---- the loop ----

CheckpointFetches::~CheckpointFetches() {
  for (const auto& [key, fetch] : fetches_) fetch->end(false);
}

void CheckpointFetches::begin(const Incarnation& incarnation, const wire::CheckpointSource& source,
                              const CheckpointPlace& place) {
  const std::string key = key_of(incarnation);
  if (const auto known = fetches_.find(key); known != fetches_.end()) return known->second->use(source);
  const auto ask = [this, alive = std::weak_ptr(alive_)](const wire::CheckpointRead& read) {
    loop_.post([this, alive, read] {
      if (!alive.expired()) ports_.ask(read);
    });
  };
  std::erase_if(latest_, [](const auto& item) { return item.second.expired(); });
  auto fetch = std::make_shared<Fetch>(incarnation, source, place, latest_[place.folder].lock(), ask);
  fetches_[key] = fetch;
  latest_[place.folder] = fetch;
  threads_.run([this, alive = std::weak_ptr(alive_), key, fetch] {
    const auto result = fetch->run(threads_.stop());
    fetch->over();
    loop_.post([this, alive, key, fetch, result] {
      if (alive.expired()) return;
      const auto at = fetches_.find(key);
      if (at == fetches_.end() || at->second != fetch) return;  // it was not needed any more
      fetches_.erase(at);
      ports_.ended(key, result);
    });
  });
}

void CheckpointFetches::end(const std::string& key, bool discards) {
  const auto fetch = fetches_.extract(key);
  if (!fetch.empty()) fetch.mapped()->end(discards);
}

void CheckpointFetches::remove_left(const std::string& folder, const std::string& record) {
  threads_.run([this, record, aside = CheckpointWriter::set_aside(folder)] {
    if (remove_folder(aside, threads_.stop())) ::unlink(record.c_str());
  });
}

void CheckpointFetches::on_piece(const wire::CheckpointPiece& piece) {
  const auto at = fetches_.find(key_of(piece.incarnation));
  if (at != fetches_.end()) at->second->on_piece(piece);
}

void CheckpointFetches::tick() {
  if (++ticks_ % ticks_per_report != 0) return;
  for (const auto& [key, fetch] : fetches_) ports_.tell(fetch->progress());
}

}  // namespace sl::agent
