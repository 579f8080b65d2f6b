#include "agent/checkpoint_offers.h"

#include <dirent.h>
#include <fcntl.h>
#include <nettle/memops.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <random>
#include <vector>

#include "agent/clocks.h"
#include "agent/files.h"
#include "base/whole_number.h"
#include "wire/base64.h"

namespace sl::agent {

namespace {

std::string nonce_file(const std::string& nonce) { return std::string(shared_prefix) + nonce; }

}  // namespace

struct CheckpointOffers::Offer {
  wire::CheckpointOffered told;
  Incarnation source;
  std::string secret;
  std::string list;  // as text
  std::shared_ptr<const OpenCheckpoint> checkpoint;
  std::atomic<std::int64_t> used_us = 0;
  std::atomic<int> streams = 0;

  std::mutex mutex;  // guards the rest
  std::string failure;
  std::unique_ptr<CheckpointReader> reader;  // of pieces that go through the controller

  void fail(const std::string& why) {
    const std::lock_guard lock(mutex);
    failure = why;
  }
  void use() { used_us = boot_now().us; }
  std::string failed() {
    const std::lock_guard lock(mutex);
    return failure;
  }
  ~Offer() {
    if (checkpoint && !told.nonce.empty()) ::unlinkat(checkpoint->folder.get(), nonce_file(told.nonce).c_str(), 0);
  }
};

namespace {

constexpr std::size_t read_bytes = 256 << 10;  // stays in the cache until it is sent
constexpr std::size_t unsent_max = 2 << 20;
constexpr Duration idle_max = Duration::whole_seconds(600);

std::string random_name() {
  std::random_device device;
  char text[33];
  for (int i = 0; i < 4; ++i) std::snprintf(text + 8 * i, 9, "%08x", device());
  return text;
}

// What agents that were killed have left there. Those of the last day may be in use.
void remove_nonces(int folder) {
  constexpr time_t kept_s = 86'400;
  DIR* const opened = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!opened) return;
  ::rewinddir(opened);
  std::vector<std::string> names;
  struct stat facts {};
  while (const dirent* entry = ::readdir(opened)) {
    if (std::string_view(entry->d_name).starts_with(shared_prefix) &&
        ::fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
        facts.st_mtim.tv_sec + kept_s < ::time(nullptr))
      names.emplace_back(entry->d_name);
  }
  ::closedir(opened);
  for (const std::string& name : names) ::unlinkat(folder, name.c_str(), 0);
}

// False if the folder cannot be written to: then nobody sees that it is shared, and it is copied.
bool leave_nonce(int folder, const std::string& nonce) {
  const Descriptor file(::openat(folder, nonce_file(nonce).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.valid() && ::futimens(file.get(), nullptr) == 0;
}

bool is_same(const std::string& a, const std::string& b) {
  return !a.empty() && a.size() == b.size() && ::memeql_sec(a.data(), b.data(), a.size()) != 0;
}

net::Response plain(int status, std::string text) { return {status, "text/plain", {}, std::move(text)}; }

CheckpointPosition position_in(const net::Request& request) {
  return {static_cast<std::size_t>(parse_whole_number(request.parameter("file").value_or("")).value_or(0)),
          parse_whole_number(request.parameter("offset").value_or("")).value_or(0)};
}

// Waits until everything written was sent, the peer has gone, or it is to stop.
void wait_for_drain(net::Stream& stream, const std::atomic<bool>& stop) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
  };
  const auto gate = std::make_shared<Gate>();
  stream.on_drain([gate] {
    const std::lock_guard lock(gate->mutex);
    gate->is_open = true;
    gate->changed.notify_all();
  });
  std::unique_lock lock(gate->mutex);
  while (!gate->is_open && !stop) gate->changed.wait_for(lock, std::chrono::milliseconds(100));
}

}  // namespace

// ---- offering ----

void CheckpointOffers::offer(const wire::OfferCheckpoint& order, const LeftCheckpoint& left) {
  const std::string key = key_of(order.incarnation);
  if (const auto known = offers_.find(key); known != offers_.end()) {
    if (known->second->source == order.source && known->second->failed().empty()) {
      known->second->secret = order.secret;
      known->second->use();
      if (!known->second->told.nonce.empty())  // it may wait for days
        leave_nonce(known->second->checkpoint->folder.get(), known->second->told.nonce);
      return ports_.offered(known->second->told);
    }
    offers_.erase(known);
  }
  if (!preparing_.insert_or_assign(key, order).second) return;
  threads_.run([this, alive = std::weak_ptr(alive_), key, left] {
    auto offer = std::make_shared<Offer>();
    offer->told.subfolder = left.subfolder;
    auto folder = open_checkpoint(left.folder);
    auto list = folder.ok() ? list_checkpoint(folder->get(), left.is_shared) : Result<CheckpointList>(folder.error());
    if (list.ok() ? file_from(*list, 0) == list->entries.size() : list.error().code == "checkpoint-missing") {
      offer->told.error = "";  // it has left none
    } else if (list.ok()) {
      offer->told.bytes = list->bytes();
      remove_nonces(folder->get());
      if (const std::string nonce = random_name(); leave_nonce(folder->get(), nonce)) offer->told.nonce = nonce;
      offer->list = to_text(*list);
      offer->checkpoint = std::make_shared<OpenCheckpoint>(OpenCheckpoint{std::move(*folder), std::move(*list)});
    } else {
      offer->told.error = list.error().message;
    }
    loop_.post([this, alive, key, offer] {
      if (!alive.expired()) ready(key, offer);
    });
  });
}

void CheckpointOffers::ready(const std::string& key, const OfferPtr& offer) {
  const auto order = preparing_.extract(key);
  if (order.empty()) return;
  offer->told.incarnation = order.mapped().incarnation;
  offer->source = order.mapped().source;
  offer->secret = order.mapped().secret;
  offer->use();
  if (offer->checkpoint) {
    offers_[key] = offer;
    offer->told.port = offer->secret.empty() ? 0 : listen();
  }
  ports_.offered(offer->told);
}

// 0 if it cannot: then everything goes through the controller.
int CheckpointOffers::listen() {
  if (!server_) {
    net::ServerSettings settings;
    settings.address = address_;
    settings.port = 0;
    settings.connections_max = 200;
    settings.strangers_max = 50;
    if (auto server = net::HttpServer::listen(loop_, settings, *this); server.ok()) server_ = std::move(*server);
  }
  return server_ ? server_->port() : 0;
}

void CheckpointOffers::tick(Instant now) {
  std::erase_if(offers_, [&](const auto& item) {
    return item.second->streams == 0 && now - Instant{item.second->used_us} > idle_max;
  });
  if (offers_.empty()) server_.reset();
}

// ---- over HTTP ----

CheckpointOffers::OfferPtr CheckpointOffers::find(const net::Request& request) const {
  const std::string given = request.header("authorization").value_or("");
  for (const auto& [key, offer] : offers_) {
    if (is_same(given, "Bearer " + offer->secret) && !offer->secret.empty()) return offer;
  }
  return nullptr;
}

net::Handler::Verdict CheckpointOffers::on_head(const net::Request& head) {
  if (!find(head)) return {plain(404, "nothing is offered here\n")};
  return {{}, true};
}

void CheckpointOffers::on_request(net::Request request, std::shared_ptr<net::Reply> reply) {
  const OfferPtr offer = find(request);
  if (!offer) return reply->send(plain(404, "nothing is offered here\n"));
  offer->use();
  if (const std::string failure = offer->failed(); !failure.empty()) return reply->send(plain(409, failure));
  if (request.method == "GET" && request.path == "/checkpoint/list")
    return reply->send({200, "application/json", {}, offer->list});
  if (request.method == "GET" && request.path == "/checkpoint/data") return stream(request, offer, std::move(reply));
  if (request.method != "POST" || request.path != "/checkpoint/done") return reply->send(plain(404, "no such thing\n"));
  std::erase_if(offers_, [&](const auto& item) { return item.second == offer; });
  reply->send(plain(200, ""));
}

// The answer begins on the thread that continues it: what the loop's thread posts may be overtaken.
void CheckpointOffers::stream(const net::Request& request, const OfferPtr& offer, std::shared_ptr<net::Reply> reply) {
  ++offer->streams;
  threads_.run([this, offer, from = position_in(request), reply = std::move(reply)] {
    const auto stream = reply->stream({200, "application/octet-stream", {}, {}});
    CheckpointReader reader(offer->checkpoint, from);
    while (!stream->closed() && !threads_.stop()) {
      if (stream->unsent_bytes() >= unsent_max) wait_for_drain(*stream, threads_.stop());
      auto bytes = reader.next(read_bytes);
      if (!bytes.ok()) offer->fail(bytes.error().message);
      if (!bytes.ok() || bytes->empty()) break;
      stream->write(std::move(*bytes));
    }
    stream->close();
    offer->use();
    --offer->streams;
  });
}

// ---- through the controller ----

void CheckpointOffers::answer(const wire::CheckpointRead& request) {
  const auto at = offers_.find(key_of(request.incarnation));
  wire::CheckpointPiece piece{request.incarnation, request.request, {}, {}, {}};
  if (at == offers_.end()) {
    piece.error = "unknown";
    return ports_.send(piece);
  }
  const OfferPtr offer = at->second;
  offer->use();
  if (const std::string failure = offer->failed(); !failure.empty()) {
    piece.error = "unreadable", piece.text = failure;
    return ports_.send(piece);
  }
  if (request.what == "data") return read(offer, request);
  if (request.what == "done") offers_.erase(at);
  if (request.what == "list")
    piece.data = wire::encode_base64(std::string_view(offer->list)
                                         .substr(std::min(offer->list.size(), static_cast<std::size_t>(request.offset)),
                                                 static_cast<std::size_t>(request.limit)));
  ports_.send(piece);
}

void CheckpointOffers::read(const OfferPtr& offer, const wire::CheckpointRead& request) {
  ++offer->streams;
  threads_.run([this, alive = std::weak_ptr(alive_), offer, request] {
    wire::CheckpointPiece piece{request.incarnation, request.request, {}, {}, {}};
    {
      const std::lock_guard lock(offer->mutex);
      const CheckpointPosition from{static_cast<std::size_t>(request.file), request.offset};
      if (!offer->reader || !(offer->reader->position() == from))
        offer->reader = std::make_unique<CheckpointReader>(offer->checkpoint, from);
      const auto limit = std::clamp<std::int64_t>(request.limit, 1, static_cast<std::int64_t>(read_bytes));
      auto bytes = offer->reader->next(static_cast<std::size_t>(limit));
      if (bytes.ok()) {
        piece.data = wire::encode_base64(*bytes);
      } else {
        piece.error = "unreadable", piece.text = offer->failure = bytes.error().message;
        offer->reader.reset();
      }
    }
    --offer->streams;
    loop_.post([this, alive, piece] {
      if (!alive.expired()) ports_.send(piece);
    });
  });
}

}  // namespace sl::agent
