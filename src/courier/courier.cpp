#include "courier/courier.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "base/check.h"
#include "courier/libcurl.h"

namespace sl::courier {

struct ListDeleter {
  void operator()(curl_slist* list) const { libcurl()->slist_free_all(list); }
};
struct EasyDeleter {
  void operator()(CURL* easy) const { libcurl()->easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { libcurl()->multi_cleanup(multi); }
};

// One message under way. libcurl keeps pointers to it.
struct Transfer {
  std::unique_ptr<CURL, EasyDeleter> easy{libcurl()->easy_init()};
  std::unique_ptr<curl_slist, ListDeleter> list;  // headers, or the receiver of a mail
  std::string body;
  std::size_t body_sent = 0;
  std::size_t answer_bytes = 0;
  bool is_mail = false;
  bool is_allowed = false;  // any address will do
  std::string refused;      // an address that it was not allowed to connect to
  Courier::Done done;

  template <typename Value>
  void set(CURLoption option, Value value) {
    SL_CHECK(libcurl()->easy_setopt(easy.get(), option, value) == CURLE_OK, "libcurl knows this option");
  }
  void append(const std::string& text) {
    curl_slist* longer = libcurl()->slist_append(list.get(), text.c_str());
    SL_CHECK(longer != nullptr, "there is memory for a header");
    static_cast<void>(list.release());
    list.reset(longer);
  }
};

namespace {

constexpr std::size_t answer_bytes_max = 64 << 10;

// ---- what libcurl calls ----

std::size_t read_answer(const char*, std::size_t size, std::size_t count, void* of) {
  auto& transfer = *static_cast<Transfer*>(of);
  transfer.answer_bytes += size * count;
  return transfer.answer_bytes > answer_bytes_max ? 0 : size * count;  // 0 ends the transfer
}

std::size_t give_body(char* into, std::size_t size, std::size_t count, void* of) {
  auto& transfer = *static_cast<Transfer*>(of);
  const std::size_t bytes = std::min(size * count, transfer.body.size() - transfer.body_sent);
  std::memcpy(into, transfer.body.data() + transfer.body_sent, bytes);
  transfer.body_sent += bytes;
  return bytes;
}

// Called with every address that is about to be connected to, whatever name led there.
curl_socket_t open_socket(void* of, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(of);
  if (!transfer.is_allowed && is_reserved(address->addr)) {
    transfer.refused = address_text(address->addr);
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

Outcome refused_here(const std::string& why) { return {.why = why, .is_refused_here = true}; }

// libcurl's own words for a failure may hold the URL; these do not.
std::string words_of(CURLcode code, const Transfer& transfer) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return "the name of its host is not known";
    case CURLE_COULDNT_CONNECT:
      return "it cannot be connected to";
    case CURLE_OPERATION_TIMEDOUT:
      return "it did not answer in time";
    case CURLE_LOGIN_DENIED:
      return "it refused the login";
    case CURLE_USE_SSL_FAILED:
      return "it offers no encryption, without which no password is sent";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
      return "its certificate or its encryption is not good";
    case CURLE_WRITE_ERROR:
      return "its answer is too long";
    default:
      return std::string(transfer.is_mail ? "the mail server: " : "") + libcurl()->easy_strerror(code);
  }
}

Outcome outcome_of(CURLcode code, const Transfer& transfer) {
  if (!transfer.refused.empty())
    return refused_here("its host leads to " + transfer.refused + ", which is not allowed");
  long status = 0;
  curl_off_t wait_s = 0;
  libcurl()->easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  libcurl()->easy_getinfo(transfer.easy.get(), CURLINFO_RETRY_AFTER, &wait_s);
  Outcome outcome{.status = static_cast<int>(status), .wait_s = static_cast<std::int64_t>(wait_s)};
  // Who answers a post with success has it, however the answer ends; a mail is accepted when the dialogue was completed.
  outcome.is_delivered = transfer.is_mail ? code == CURLE_OK : status >= 200 && status < 300;
  if (outcome.is_delivered) return outcome;
  const bool is_answered = status > 0 && (code == CURLE_OK || code == CURLE_WRITE_ERROR);
  outcome.why = !is_answered                    ? words_of(code, transfer)
                : status >= 300 && status < 400 ? fmt::format("it answered {}: redirects are not followed", status)
                                                : fmt::format("it answered {}", status);
  if (transfer.is_mail && status >= 400) outcome.why += fmt::format(" ({})", status);
  return outcome;
}

}  // namespace

class Courier::Impl {
 public:
  explicit Impl(CourierSettings settings) : settings_(std::move(settings)) {
    SL_CHECK(wake_ >= 0, "there is a descriptor to wake the courier with");
  }
  ~Impl() {
    for (auto& [easy, _] : transfers_) libcurl()->multi_remove_handle(multi_.get(), easy);
    ::close(wake_);
  }

  void send(HttpPost message, Done done) {
    auto transfer = begin(message.url, {"http", "https"}, "http,https", done);
    if (!transfer) return;
    for (const std::string& header : message.headers) transfer->append(header);
    transfer->append("Expect:");  // the body follows at once
    transfer->body = std::move(message.body);
    transfer->set(CURLOPT_HTTPHEADER, transfer->list.get());
    transfer->set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer->body.size()));
    transfer->set(CURLOPT_POSTFIELDS, transfer->body.c_str());
    transfer->set(CURLOPT_USERAGENT, "schedulearn");
    go(std::move(transfer));
  }

  void send(Mail message, Done done) {
    auto transfer = begin(message.server, {"smtp", "smtps"}, "smtp,smtps", done);
    if (!transfer) return;
    transfer->is_mail = true;
    transfer->append("<" + message.to + ">");
    transfer->body = std::move(message.message);
    transfer->set(CURLOPT_MAIL_FROM, ("<" + message.from + ">").c_str());
    transfer->set(CURLOPT_MAIL_RCPT, transfer->list.get());
    transfer->set(CURLOPT_UPLOAD, 1L);
    transfer->set(CURLOPT_READFUNCTION, &give_body);
    transfer->set(CURLOPT_READDATA, static_cast<void*>(transfer.get()));
    const bool must_encrypt = !message.password.empty() && !transfer->is_allowed;
    transfer->set(CURLOPT_USE_SSL, static_cast<long>(must_encrypt ? CURLUSESSL_ALL : CURLUSESSL_TRY));
    if (!message.login.empty()) {
      transfer->set(CURLOPT_USERNAME, message.login.c_str());
      transfer->set(CURLOPT_PASSWORD, message.password.c_str());
    }
    go(std::move(transfer));
  }

  void work(std::chrono::milliseconds longest) {
    if (!refused_.empty()) longest = std::chrono::milliseconds(0);
    wait(static_cast<int>(longest.count()));
    if (multi_) perform();
    for (auto& [done, outcome] : std::exchange(refused_, {})) done(outcome);
  }
  void wake() { ::eventfd_write(wake_, 1); }
  const AllowedHosts& allowed() const { return settings_.allowed; }

 private:
  // Null: it may not be sent there, of which `done` will hear.
  std::unique_ptr<Transfer> begin(const std::string& url, const std::vector<std::string_view>& schemes,
                                  const char* protocols, Done& done) {
    const auto to = parse_destination(url, schemes, settings_.allowed);
    if (!to.ok()) {
      const bool is_refused = to.error().kind != ErrorKind::unavailable;  // that may pass
      refused_.emplace_back(std::move(done), Outcome{.why = to.error().message, .is_refused_here = is_refused});
      return nullptr;
    }
    auto transfer = std::make_unique<Transfer>();
    SL_CHECK(transfer->easy != nullptr, "there is memory for a transfer");
    transfer->is_allowed = to->is_allowed;
    transfer->done = std::move(done);
    void* const self = transfer.get();
    transfer->set(CURLOPT_URL, url.c_str());
    transfer->set(CURLOPT_PROTOCOLS_STR, protocols);
    transfer->set(CURLOPT_FOLLOWLOCATION, 0L);
    transfer->set(CURLOPT_PROXY, "");
    // As other programs: for a lab whose certificates no public authority signs.
    if (const char* trusted = std::getenv("SSL_CERT_FILE")) transfer->set(CURLOPT_CAINFO, trusted);
    transfer->set(CURLOPT_NOSIGNAL, 1L);
    transfer->set(CURLOPT_FRESH_CONNECT, 1L);
    transfer->set(CURLOPT_FORBID_REUSE, 1L);
    transfer->set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    transfer->set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings_.connect_limit.count()));
    transfer->set(CURLOPT_TIMEOUT_MS, static_cast<long>(settings_.total_limit.count()));
    transfer->set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    transfer->set(CURLOPT_OPENSOCKETDATA, self);
    transfer->set(CURLOPT_WRITEFUNCTION, &read_answer);
    transfer->set(CURLOPT_WRITEDATA, self);
    transfer->set(CURLOPT_HEADERFUNCTION, &read_answer);
    transfer->set(CURLOPT_HEADERDATA, self);
    return transfer;
  }
  void go(std::unique_ptr<Transfer> transfer) {
    if (!multi_) multi_.reset(libcurl()->multi_init());
    SL_CHECK(multi_ != nullptr, "libcurl can transfer");
    CURL* const easy = transfer->easy.get();
    transfers_[easy] = std::move(transfer);
    libcurl()->multi_add_handle(multi_.get(), easy);
  }
  void wait(int longest_ms) {
    if (multi_) {
      curl_waitfd woken{wake_, CURL_WAIT_POLLIN, 0};
      libcurl()->multi_poll(multi_.get(), &woken, 1, longest_ms, nullptr);
    } else {
      pollfd woken{wake_, POLLIN, 0};
      ::poll(&woken, 1, longest_ms);
    }
    eventfd_t times = 0;
    ::eventfd_read(wake_, &times);
  }
  void perform() {
    int running = 0;
    libcurl()->multi_perform(multi_.get(), &running);
    for (int left = 0; const CURLMsg* message = libcurl()->multi_info_read(multi_.get(), &left);) {
      if (message->msg == CURLMSG_DONE) end(message->easy_handle, message->data.result);
    }
  }
  void end(CURL* easy, CURLcode code) {
    const auto found = transfers_.find(easy);
    const std::unique_ptr<Transfer> transfer = std::move(found->second);
    transfers_.erase(found);
    const Outcome outcome = outcome_of(code, *transfer);
    libcurl()->multi_remove_handle(multi_.get(), easy);
    transfer->done(outcome);
  }

  CourierSettings settings_;
  const int wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::unique_ptr<CURLM, MultiDeleter> multi_;  // from the first message on
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;
  std::vector<std::pair<Done, Outcome>> refused_;  // before they were begun
};

Courier::Courier(CourierSettings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Courier::~Courier() = default;
void Courier::send(HttpPost message, Done done) { impl_->send(std::move(message), std::move(done)); }
void Courier::send(Mail message, Done done) { impl_->send(std::move(message), std::move(done)); }
void Courier::work(std::chrono::milliseconds longest) { impl_->work(longest); }
void Courier::wake() { impl_->wake(); }
const AllowedHosts& Courier::allowed() const { return impl_->allowed(); }

}  // namespace sl::courier
