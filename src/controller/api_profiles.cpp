// The routes of profiles. In both directions a profile is the text of its file (docs/formats/profile.md).
#include "controller/api.h"
#include "controller/views.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

boost::json::object profile_view(const ProfileBook::Entry& entry) {
  boost::json::object view = boost::json::parse(wire::profile_text(entry.profile)).as_object();
  view["since"] = rfc3339(entry.at_us);
  view["user"] = entry.user.empty() ? boost::json::value() : boost::json::value(entry.user);
  return view;
}

// Jobs of everybody in that family go by it.
Status may_change(const ProfileBook& profiles, const std::string& family, const Identity& identity) {
  const auto stored = profiles.all().find(family);
  if (stored == profiles.all().end() || stored->second.user.empty() || identity.may_see(stored->second.user)) return {};
  return denied("not-yours", "the profile of " + family + " is " + stored->second.user + "'s");
}

}  // namespace

void Api::get_costs(Call call) { call.send(wire::write_json(logic_.profiles().costs().all())); }

void Api::list_profiles(Call call) {
  std::vector<std::string> texts;
  for (const auto& [family, entry] : logic_.profiles().all()) texts.push_back(wire::json_text(profile_view(entry)));
  send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
}

void Api::get_profile(Call call) {
  const wire::TrainingProfile* profile = logic_.profiles().find(call.captured.front());
  if (!profile)
    return call.fail(not_found("profile-not-found", "there is no profile of " + call.captured.front())
                         .hint("schedulearn profile ls"));
  call.send(wire::profile_text(*profile));
}

void Api::put_profile(Call call) {
  if (const Status json = expect_json(call, "a profile"); !json.ok()) return call.fail(json.error());
  auto profile = wire::parse_profile(call.request.body);
  if (!profile.ok()) return call.fail(profile.error());
  if (const Status may = may_change(logic_.profiles(), profile->family, call.identity); !may.ok())
    return call.fail(may.error());
  const std::string text = wire::profile_text(*profile);
  logic_.put_profile(std::move(*profile), call.user(), call.now,
                     [call, text](const Status& status) { status.ok() ? call.send(text) : call.fail(status.error()); });
}

void Api::remove_profile(Call call) {
  if (const Status may = may_change(logic_.profiles(), call.captured.front(), call.identity); !may.ok())
    return call.fail(may.error());
  logic_.remove_profile(call.captured.front(), call.user(), call.now, [call](const Status& status) {
    status.ok() ? call.send(200, answers::RemovedProfile{call.captured.front()}) : call.fail(status.error());
  });
}

}  // namespace sl::controller
