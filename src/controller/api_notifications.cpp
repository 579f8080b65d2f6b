// Where users want to be told of their jobs, and what was sent there.
#include "controller/api.h"
#include "controller/requests.h"
#include "controller/views.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

constexpr std::int64_t deliveries_per_page_max = 10'000;
constexpr Duration time_for_a_test = Duration::whole_seconds(15);  // courier::CourierSettings::total_limit

Error not_sending() { return conflict("not-running", "notifications are sent by a running controller"); }

std::optional<std::string> unless_empty(std::string text) {
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}
std::optional<wire::Time> unless_zero(std::int64_t us) {
  return us == 0 ? std::nullopt : std::optional(wire::Time{us});
}

// Others than its owner and admins see that a shared channel is there, not where it leads.
answers::Channel channel_view(const notify::Channel& channel, const Identity& reader) {
  const notify::ChannelSettings& settings = channel.settings;
  answers::Channel view{.name = channel.name, .owner = channel.owner, .kind = settings.kind};
  view.on = settings.on, view.shared = settings.shared, view.since = {settings.made_us};
  if (!reader.may_see(channel.owner)) return view;
  view.url = settings.url, view.secret = settings.secret, view.login = settings.login, view.from = settings.from,
  view.to = settings.to;
  return view;
}

answers::Delivery delivery_view(const store::DeliveryRow& row) {
  return {row.id,
          row.channel,
          row.owner,
          unless_empty(row.receiver),
          row.event,
          row.job_id,
          row.state,
          row.tries,
          row.status == 0 ? std::nullopt : std::optional(row.status),
          unless_empty(row.why),
          {row.made_us},
          unless_zero(row.tried_us),
          unless_zero(row.next_us)};
}

}  // namespace

void Api::list_channels(Call call) {
  if (!notifications_) return call.fail(not_sending());
  std::vector<std::string> texts;
  for (const auto& channel : notifications_->channels().visible_to(call.user()))
    texts.push_back(wire::json_text(wire::to_value(channel_view(*channel, call.identity))));
  send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
}

void Api::put_channel(Call call) {
  if (!notifications_) return call.fail(not_sending());
  if (const Status json = expect_json(call, "a channel"); !json.ok()) return call.fail(json.error());
  auto body = wire::read_json<notify::ChannelBody>(call.request.body);
  if (!body.ok()) return call.fail(body.error());
  notifications_->put(call.user(), call.captured.front(), std::move(*body), call.identity.is_admin(),
                      logic_.recorder().next_event() - 1, [this, call](const Status& status) {
                        const std::string& name = call.captured.front();
                        const auto channel = notifications_->channels().find(call.user(), name);
                        if (!status.ok()) return call.fail(status.error());
                        if (!channel) return call.fail(notify::no_such_channel(name));
                        call.send(200, channel_view(*channel, call.identity));
                      });
}

void Api::remove_channel(Call call) {
  if (!notifications_) return call.fail(not_sending());
  notifications_->remove(call.user(), call.captured.front(), [call](const Status& status) {
    status.ok() ? call.send(200, answers::RemovedChannel{call.captured.front()}) : call.fail(status.error());
  });
}

void Api::test_channel(Call call) {
  if (!notifications_) return call.fail(not_sending());
  TestBody wanted;
  if (!call.request.body.empty()) {
    if (const Status json = expect_json(call, "a test"); !json.ok()) return call.fail(json.error());
    auto body = wire::read_json<TestBody>(call.request.body);
    if (!body.ok()) return call.fail(body.error());
    wanted = std::move(*body);
  }
  notifications_->test(call.user(), call.captured.front(), wanted.to.value_or(""),
                       [call](const Result<store::DeliveryRow>& row) {
                         if (row.ok()) return call.send(200, delivery_view(*row));
                         if (row.error().code == "too-many-requests")
                           return refuse_for_now(call, row.error(), time_for_a_test);
                         call.fail(row.error());
                       });
}

void Api::list_deliveries(Call call) {
  const auto limit = call.number("limit", 100, 1, deliveries_per_page_max);
  const auto cursor = call.cursor();
  if (!limit.ok()) return call.fail(limit.error());
  if (!cursor.ok()) return call.fail(cursor.error());
  store::DeliveryQuery query{.reader = call.identity.is_admin() ? "" : call.user(),
                             .channel = call.request.parameter("channel").value_or(""),
                             .limit = static_cast<std::size_t>(*limit)};
  if (*cursor) query.before = **cursor;
  history_.ask<std::string>(
      [query, call](store::Reader& reader) -> Result<std::string> {
        const auto rows = reader.deliveries(query);
        if (!rows.ok()) return rows.error();
        ListText items;
        for (const store::DeliveryRow& row : *rows) items.add(wire::to_value(delivery_view(row)));
        const bool is_cut = rows->size() == query.limit;
        return std::move(items).end(
            nullptr, is_cut ? boost::json::value(call.next_cursor(rows->back().number)) : boost::json::value(nullptr));
      },
      [call](const Result<std::string>& text) { text.ok() ? call.send(*text) : call.fail(text.error()); });
}

}  // namespace sl::controller
