#include "controller/announcements.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/secret_text.h"
#include "wire/utf8.h"

namespace sl::controller {
namespace {

constexpr std::size_t text_bytes_max = 500, announcements_max = 20;

bool is_line(const std::string& text) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 127; };
  return !text.empty() && text.size() <= text_bytes_max && wire::is_utf8(text) &&
         std::ranges::none_of(text, is_control);
}

}  // namespace

std::vector<store::AnnouncementRow> Announcements::current(Instant now) const {
  std::vector<store::AnnouncementRow> rows;
  for (const store::AnnouncementRow& row : rows_) {
    if (row.until_us == 0 || row.until_us > now.us) rows.push_back(row);
  }
  return rows;
}

void Announcements::post(const std::string& text, Instant until, const std::string& by, Instant now,
                         const std::function<void(Result<store::AnnouncementRow>)>& done) {
  if (!is_line(text))
    return done(invalid("bad-announcement", fmt::format("an announcement is one line of 1 to {} bytes", text_bytes_max))
                    .at("/text"));
  if (!until.is_never() && until <= now)
    return done(invalid("bad-announcement", "it would end before it is shown").at("/until"));
  if (current(now).size() >= announcements_max)
    return done(conflict("too-many-announcements", fmt::format("{} announcements are shown", announcements_max))
                    .hint("schedulearn announce --clear"));
  store::AnnouncementRow row{now.us, until.is_never() ? 0 : until.us, random_text(6), text, by};
  store::Batch batch;
  batch.people.announcements = {row};
  for (const store::AnnouncementRow& old : rows_) {  // those whose time is over
    if (old.until_us != 0 && old.until_us <= now.us)
      batch.people.announcements.push_back(old), batch.people.announcements.back().text.clear();
  }
  commit_(std::move(batch), [this, row, done, now](const Status& status) {
    if (!status.ok()) return done(status.error());
    rows_ = current(now);
    rows_.push_back(row);
    done(row);
  });
}

void Announcements::remove(const std::string& id, Instant now, const std::function<void(const Status&)>& done) {
  const auto shown = current(now);
  const auto found = std::ranges::find(shown, id, &store::AnnouncementRow::id);
  if (found == shown.end())
    return done(not_found("no-announcement", "there is no announcement " + id).hint("schedulearn announce"));
  store::Batch batch;
  batch.people.announcements = {*found};
  batch.people.announcements.front().text.clear();
  commit_(std::move(batch), [this, id, done](const Status& status) {
    if (status.ok()) std::erase_if(rows_, [&](const store::AnnouncementRow& row) { return row.id == id; });
    done(status);
  });
}

}  // namespace sl::controller
