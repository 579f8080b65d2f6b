// Events of a text/event-stream that arrives in pieces.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace sl::cli {

class EventReader {
 public:
  // Calls `use(event, id, data)` for each complete one. Returns whether to go on: not if `use` has returned false.
  template <typename Use>
  bool add(std::string_view bytes, Use use) {
    buffer_ += bytes;
    for (std::size_t end; (end = buffer_.find("\n\n")) != std::string::npos;) {
      const std::string block = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      std::string event, id, data;
      for (std::size_t at = 0; at < block.size();) {
        const std::size_t line_end = std::min(block.find('\n', at), block.size());
        const std::string line = block.substr(at, line_end - at);
        if (line.starts_with("event: ")) event = line.substr(7);
        if (line.starts_with("id: ")) id = line.substr(4);
        if (line.starts_with("data: ")) data = line.substr(6);
        at = line_end + 1;
      }
      if (!event.empty() && !use(event, id, data)) return false;
    }
    return true;
  }

 private:
  std::string buffer_;
};

}  // namespace sl::cli
