#include "controller/profiles.h"

#include "controller/damaged_rows.h"

namespace sl::controller {

std::vector<store::EventRow> ProfileBook::restore(const std::vector<store::ProfileRow>& rows, Instant now) {
  std::vector<store::EventRow> damaged;
  for (const store::ProfileRow& row : rows) {
    auto profile = wire::parse_profile(row.profile_json);
    if (profile.ok()) {
      entries_[row.family] = {std::move(*profile), row.at_us, row.user};
    } else {
      damaged.push_back(row_set_aside("profile " + row.family, profile.error().message, row.profile_json, now));
    }
  }
  return damaged;
}

store::ProfileRow ProfileBook::put(wire::TrainingProfile profile, const std::string& user, std::int64_t at_us) {
  store::ProfileRow row{profile.family, wire::profile_text(profile), at_us, user};
  entries_[row.family] = {std::move(profile), at_us, user};
  return row;
}

store::ProfileRow ProfileBook::remove(const std::string& family, std::int64_t at_us) {
  entries_.erase(family);
  return {family, "", at_us};
}

const wire::TrainingProfile* ProfileBook::find(const std::string& family) const {
  const auto at = entries_.find(family);
  return at == entries_.end() ? nullptr : &at->second.profile;
}

}  // namespace sl::controller
