// A notice in the form of its channel.
#pragma once

#include <string>
#include <variant>

#include "courier/courier.h"
#include "notify/channels.h"
#include "store/notification_rows.h"

namespace sl::notify {

using Message = std::variant<courier::HttpPost, courier::Mail>;

// `secret`: the value of the one that the channel names; empty: it names none. `now_us`: signatures hold the time.
Message make_message(const Channel& channel, const store::DeliveryRow& row, const std::string& secret,
                     std::int64_t now_us);

// "v1=" and HMAC-SHA256 of "TIMESTAMP.BODY" in hexadecimal.
std::string signature_of(const std::string& secret, const std::string& timestamp, const std::string& body);

}  // namespace sl::notify
