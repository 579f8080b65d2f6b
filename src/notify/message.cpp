#include "notify/message.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "notify/hmac.h"
#include "wire/base64.h"
#include "wire/json.h"

namespace sl::notify {
namespace {

namespace json = boost::json;

constexpr std::int64_t second_us = 1'000'000;

std::string text_in(const json::value& notice, std::string_view key) {
  const json::object* object = notice.if_object();
  const json::value* found = object ? object->if_contains(key) : nullptr;
  return found && found->is_string() ? std::string(found->get_string()) : "";
}

courier::HttpPost webhook(const Channel& channel, const store::DeliveryRow& row, const std::string& secret,
                          std::int64_t now_us) {
  const std::string timestamp = std::to_string(now_us / second_us);
  return {
      *channel.settings.url,
      {"Content-Type: application/json", "X-Schedulearn-Delivery: " + row.id, "X-Schedulearn-Timestamp: " + timestamp,
       "X-Schedulearn-Signature: " + signature_of(secret, timestamp, row.body)},
      row.body};
}

// What names may hold must not become a mention or a link.
std::string escaped_for_slack(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else
      escaped += c;
  }
  return escaped;
}

courier::HttpPost slack(const std::string& room, const json::value& notice, const std::string& secret) {
  json::object body{{"text", escaped_for_slack(text_in(notice, "text"))}};
  if (!room.empty()) body["channel"] = room;
  return {secret.substr(0, secret.find_first_of(" \t\r\n")), {"Content-Type: application/json"}, json::serialize(body)};
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

std::string mail_date(std::int64_t us) {
  const auto seconds = static_cast<std::time_t>(us / second_us);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S +0000", &parts);  // C locale
  return text.data();
}

// As encoded words of at most 75 characters (RFC 2047); a character is not cut.
std::string encoded_subject(std::string_view text) {
  constexpr std::size_t bytes_per_word = 42;
  std::string subject;
  while (!text.empty()) {
    std::size_t bytes = std::min(bytes_per_word, text.size());
    while (bytes < text.size() && bytes > 1 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
    subject += (subject.empty() ? "" : "\r\n ") + ("=?UTF-8?B?" + wire::encode_base64(text.substr(0, bytes)) + "?=");
    text.remove_prefix(bytes);
  }
  return subject;
}

std::string in_lines(const std::string& base64) {
  std::string lines;
  for (std::size_t at = 0; at < base64.size(); at += 76) lines += base64.substr(at, 76) + "\r\n";
  return lines;
}

courier::Mail mail(const Channel& channel, const store::DeliveryRow& row, const json::value& notice,
                   const std::string& secret) {
  const ChannelSettings& settings = channel.settings;
  const std::string host = host_name(), login = settings.login.value_or("");
  std::string from = settings.from.value_or("");
  if (from.empty()) from = login.find('@') == std::string::npos ? "schedulearn@" + host : login;
  const std::string to = row.receiver.empty() ? *settings.to : row.receiver;
  std::string text = text_in(notice, "text") + "\n";
  if (row.job_id) text += fmt::format("\n  schedulearn show {0}\n  schedulearn logs {0}\n", *row.job_id);
  std::string message =
      fmt::format("From: Schedulearn <{}>\r\nTo: <{}>\r\nSubject: {}\r\nDate: {}\r\nMessage-ID: <{}@{}>\r\n", from, to,
                  encoded_subject(text_in(notice, "text")), mail_date(row.made_us), row.id, host);
  message +=
      "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Transfer-Encoding: base64\r\n\r\n" +
      in_lines(wire::encode_base64(text));
  return {*settings.url, login, login.empty() ? "" : secret, from, to, message};
}

}  // namespace

std::string signature_of(const std::string& secret, const std::string& timestamp, const std::string& body) {
  return "v1=" + hmac_sha256(secret, {timestamp, ".", body});
}

Message make_message(const Channel& channel, const store::DeliveryRow& row, const std::string& secret,
                     std::int64_t now_us) {
  if (channel.settings.kind == "webhook") return webhook(channel, row, secret, now_us);
  const json::value notice = wire::parse_json(row.body).ok() ? *wire::parse_json(row.body) : json::value();
  if (channel.settings.kind == "mail") return mail(channel, row, notice, secret);
  return slack(row.receiver.empty() ? channel.settings.to.value_or("") : row.receiver, notice, secret);
}

}  // namespace sl::notify
