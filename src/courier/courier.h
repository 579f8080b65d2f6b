// Sends messages, several at the same time, each within a limited time, and says how each fared. Redirects are not
// followed, proxies of the environment are not used, of an answer no more than its first 64 KiB are read, and none of it
// is kept. A receiver whose name leads to an address that is not allowed (hosts.h) is not connected to.
//
// One thread calls everything but wake().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "courier/hosts.h"

namespace sl::courier {

struct HttpPost {
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
};

struct Mail {
  std::string server;           // smtp://mail.lab:587 (STARTTLS where the server offers it) or smtps://mail.lab
  std::string login, password;  // empty: none. They are only sent encrypted, or to a host that the admin has allowed
  std::string from, to;         // mei@lab.example
  std::string message;          // headers and text (RFC 5322), lines end with CR LF
};

struct Outcome {
  bool is_delivered = false;
  int status = 0;                // of HTTP or SMTP; 0: there was no answer
  std::string why;               // in words; empty if it was delivered. Never names the URL, which may be a secret
  std::int64_t wait_s = 0;       // what the receiver asks to wait before the next try; 0: nothing
  bool is_refused_here = false;  // it was not sent, since its receiver is not allowed
};

struct CourierSettings {
  AllowedHosts allowed = {};
  std::chrono::milliseconds connect_limit = std::chrono::seconds(5);
  std::chrono::milliseconds total_limit = std::chrono::seconds(15);
};

class Courier {
 public:
  using Done = std::function<void(const Outcome&)>;
  explicit Courier(CourierSettings settings);
  ~Courier();  // gives up what is under way, without a word
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // `done` is called by work().
  void send(HttpPost message, Done done);
  void send(Mail message, Done done);
  // Continues all transfers until something happens, wake() is called or `longest` has passed.
  void work(std::chrono::milliseconds longest);
  // Any thread may call it.
  void wake();

  const AllowedHosts& allowed() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sl::courier
