// What admins tell everybody: lines that are shown until they are removed, or until a time. Lives on the core's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/store.h"

namespace sl::controller {

class Announcements {
 public:
  // Writes; `done` is called on the core's thread.
  using Commit = std::function<void(store::Batch, std::function<void(const Status&)> done)>;
  Announcements(std::vector<store::AnnouncementRow> rows, Commit commit)
      : rows_(std::move(rows)), commit_(std::move(commit)) {}

  std::vector<store::AnnouncementRow> current(Instant now) const;  // the oldest first
  // `done` gets it once it is durable. Errors: "bad-announcement"; "too-many-announcements".
  void post(const std::string& text, Instant until, const std::string& by, Instant now,
            const std::function<void(Result<store::AnnouncementRow>)>& done);
  void remove(const std::string& id, Instant now, const std::function<void(const Status&)>& done);  // "no-announcement"

 private:
  std::vector<store::AnnouncementRow> rows_;
  Commit commit_;
};

}  // namespace sl::controller
