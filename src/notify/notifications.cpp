#include "notify/notifications.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/whole_number.h"
#include "notify/message.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::notify {
namespace {

constexpr const char* cursor_key = "notified_event";
constexpr std::size_t events_per_look = 500;
constexpr std::int64_t events_between_writes = 1'000;
constexpr std::size_t channels_of_user_max = 50;
constexpr std::ptrdiff_t tests_of_user_max = 2;  // that have not ended
constexpr Duration pause_after_failure = Duration::whole_seconds(1);

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  ::randombytes_buf(bytes.data(), bytes.size());
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

Error too_many_tests() {
  return unavailable("too-many-requests", fmt::format("{} of your tests have not ended yet", tests_of_user_max))
      .hint("wait until they have: a receiver has 15 s to answer");
}

}  // namespace

Error no_such_channel(const std::string& name) {
  return not_found("no-such-channel", "you have no channel " + name).hint("schedulearn notify ls");
}

Result<std::unique_ptr<Notifications>> Notifications::open(courier::CourierSettings settings, std::string cluster_id,
                                                           std::unique_ptr<store::Reader> reader,
                                                           Surroundings surroundings) {
  SL_CHECK(::sodium_init() >= 0, "libsodium can be used");
  std::unique_ptr<Notifications> made(
      new Notifications(std::move(settings), std::move(cluster_id), std::move(reader), std::move(surroundings)));
  if (Status loaded = made->load(); !loaded.ok()) return loaded.error();
  return made;
}

Notifications::Notifications(courier::CourierSettings settings, std::string cluster_id,
                             std::unique_ptr<store::Reader> reader, Surroundings surroundings)
    : courier_(std::move(settings)),
      cluster_id_(std::move(cluster_id)),
      reader_(std::move(reader)),
      around_(std::move(surroundings)) {}

Notifications::~Notifications() { stop(); }

Status Notifications::load() {
  const auto channels = reader_->channels();
  if (!channels.ok()) return channels.error();
  channels_.load(*channels);
  const auto cursor = reader_->setting(cursor_key);
  if (!cursor.ok()) return cursor.error();
  cursor_ = cursor_written_ = parse_whole_number(*cursor).value_or(0);
  auto open = reader_->open_deliveries();
  if (!open.ok()) return open.error();
  for (store::DeliveryRow& row : *open) {
    const bool is_orphan = !channels_.find(row.owner, row.channel);  // the end came before this was written
    queue_.add(std::move(row), is_orphan);
  }
  return {};
}

void Notifications::start() {
  thread_ = std::thread([this] { run(); });
}

void Notifications::stop() {
  is_ending_ = true;
  courier_.wake();
  if (thread_.joinable()) thread_.join();
}

void Notifications::on_commit() {
  has_new_events_ = true;
  if (!channels_.empty()) courier_.wake();
}

void Notifications::put_in(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    inputs_.push_back(std::move(work));
  }
  courier_.wake();
}

// ---- for users ----

void Notifications::put(const std::string& owner, const std::string& name, ChannelBody body, bool is_admin,
                        std::int64_t newest_event, Told done) {
  if (Status good = check_channel(name, body, is_admin, courier_.allowed()); !good.ok()) return done(good);
  const std::string secret = body.secret.value_or("");
  if (!secret.empty() && !around_.secret(owner, secret))
    return done(not_found("no-such-secret", owner + " has stored no secret " + secret)
                    .hint("schedulearn secret set " + secret)
                    .at("/secret"));
  const Channels::Pointer before = channels_.find(owner, name);
  if (!before && channels_.count_of(owner) >= channels_of_user_max)
    return done(invalid("too-many-channels", fmt::format("a user has at most {} channels", channels_of_user_max)));
  Channel channel{owner, name, {std::move(body), around_.clock().us, newest_event}};
  if (before) channel.settings.after_event = before->settings.after_event;
  store::Batch batch;
  batch.channels = {to_row(channel)};
  around_.commit(std::move(batch), [this, channel = std::move(channel), done = std::move(done)](const Status& status) {
    if (status.ok()) channels_.put(channel);
    around_.post([done, status] { done(status); });
  });
}

void Notifications::remove(const std::string& owner, const std::string& name, Told done) {
  if (!channels_.find(owner, name)) return done(no_such_channel(name));
  store::Batch batch;
  batch.channels = {{owner, name, ""}};
  around_.commit(std::move(batch), [this, owner, name, done = std::move(done)](const Status& status) {
    if (status.ok()) forget(owner, name);
    around_.post([done, status] { done(status); });
  });
}

// With all that waits for it: a channel that gets this name later is another one.
void Notifications::forget(const std::string& owner, const std::string& name) {
  channels_.remove(owner, name);
  put_in([this, owner, name] {
    queue_.orphan(owner, name, around_.clock());
    for (store::DeliveryRow& row : fresh_) {
      if (row.owner == owner && row.channel == name) orphans_.insert(row.id);
    }
  });
}

void Notifications::remove_all(const std::string& owner, Told done) {
  store::Batch batch;
  for (const Channels::Pointer& channel : channels_.all()) {
    if (channel->owner == owner) batch.channels.push_back({owner, channel->name, ""});
  }
  if (batch.channels.empty()) return done({});
  around_.commit(batch, [this, owner, rows = batch.channels, done = std::move(done)](const Status& status) {
    for (const auto& row : rows) {
      if (status.ok()) forget(owner, row.name);
    }
    around_.post([done, status] { done(status); });
  });
}

void Notifications::make_private(const std::string& owner, Told done) {
  std::vector<Channel> changed;
  store::Batch batch;
  for (const Channels::Pointer& channel : channels_.all()) {
    if (channel->owner != owner || !is_for_admins(channel->settings)) continue;
    Channel next = *channel;
    next.settings.shared = false;
    std::erase(next.settings.on, wire::server_down_event);
    batch.channels.push_back(to_row(next));
    changed.push_back(std::move(next));
  }
  if (changed.empty()) return done({});
  around_.commit(std::move(batch), [this, changed = std::move(changed), done = std::move(done)](const Status& status) {
    for (const Channel& channel : changed) {
      if (status.ok()) channels_.put(channel);
    }
    around_.post([done, status] { done(status); });
  });
}

void Notifications::test(const std::string& user, const std::string& name, const std::string& receiver, Tested done) {
  const Channels::Pointer channel = channels_.resolve(user, name);
  if (!channel) return done(no_such_channel(name));
  if (Status good = check_receiver(*channel, receiver); !good.ok()) return done(good.error());
  put_in([this, channel, receiver, asked = Test{user, std::move(done)}] { begin_test(*channel, receiver, asked); });
}

Status Notifications::check(const std::string& user, const std::vector<wire::NotifySpec>& notify) const {
  for (std::size_t i = 0; i < notify.size(); ++i) {
    const wire::NotifyTarget to = wire::parse_notify_target(notify[i].to);
    const std::string at = fmt::format("/notify/{}/to", i);
    const Channels::Pointer channel = channels_.resolve(user, to.channel);
    if (!channel) return std::move(no_such_channel(to.channel)).at(at);
    if (Status good = check_receiver(*channel, to.receiver); !good.ok()) return Error(good.error()).at(at);
  }
  return {};
}

// ---- the thread ----

void Notifications::run() {
  while (!is_ending_) {
    std::deque<std::function<void()>> inputs;
    {
      const std::lock_guard lock(mutex_);
      inputs.swap(inputs_);
    }
    for (auto& input : inputs) input();
    const Instant now = around_.clock();
    look_for_events(now);
    write_down(now);
    send_due(now);
    courier_.work(time_to_next());
  }
}

std::chrono::milliseconds Notifications::time_to_next() const {
  constexpr std::int64_t longest_ms = 10'000;
  const Instant now = around_.clock();
  Instant next = queue_.next_due();
  const bool has_work = (has_new_events_ && !channels_.empty()) || !fresh_.empty() || !tried_.empty();
  if (has_work && !is_writing_) next = std::min(next, std::max(not_before_, now));
  if (next.is_never()) return std::chrono::milliseconds(longest_ms);
  return std::chrono::milliseconds(std::clamp<std::int64_t>((next - now).us / 1'000 + 1, 0, longest_ms));
}

// New events are read once the rows made from earlier ones are durable.
void Notifications::look_for_events(Instant now) {
  if (!has_new_events_ || is_writing_ || !fresh_.empty() || now < not_before_ || channels_.empty()) return;
  if (!read_events().ok()) {
    fresh_.clear();
    not_before_ = now + pause_after_failure;
  }
}

Status Notifications::read_events() {
  std::int64_t first = INT64_MAX;  // nothing before the oldest channel can be told through any
  for (const Channels::Pointer& channel : channels_.all()) first = std::min(first, channel->settings.after_event);
  const std::int64_t after = std::max(cursor_, first);
  has_new_events_ = false;
  const auto events = reader_->events({.after = after, .limit = events_per_look});
  if (!events.ok()) return has_new_events_ = true, events.error();
  for (const store::EventRow& event : *events) {
    if (const Status planned = plan(event); !planned.ok()) return has_new_events_ = true, planned;
  }
  cursor_ = events->empty() ? after : events->back().seq;
  if (events->size() == events_per_look) has_new_events_ = true;
  return {};
}

Status Notifications::plan(const store::EventRow& event) {
  if (words_of(event).empty()) return {};
  std::optional<store::JobRow> job;
  if (event.job_id) {
    auto row = reader_->job(*event.job_id);
    if (!row.ok()) return row.error();
    if (!*row) return {};  // removed meanwhile
    job = std::move(*row);
  }
  for (const Target& target : targets_of(event, job ? &*job : nullptr, channels_))
    add(target, event, job ? &*job : nullptr);
  return {};
}

void Notifications::add(const Target& target, const store::EventRow& event, const store::JobRow* job) {
  Notice notice = make_notice(event, job);
  notice.id = random_id();
  notice.cluster_id = cluster_id_;
  const std::int64_t now_us = around_.clock().us;
  store::DeliveryRow row{.id = notice.id, .made_us = now_us, .next_us = now_us, .job_id = event.job_id};
  row.owner = target.channel->owner, row.channel = target.channel->name, row.receiver = target.receiver;
  row.user = job ? job->user : "";
  row.event = notice.event, row.state = "waiting", row.body = wire::json_text(wire::to_value(notice));
  const auto is_same_channel = [&](const store::DeliveryRow& other) {
    return other.owner == row.owner && other.channel == row.channel;
  };
  const auto fresh = static_cast<std::size_t>(std::ranges::count_if(fresh_, is_same_channel));
  if (queue_.open_for(row.owner, row.channel) + fresh >= open_per_channel_max) {
    row.next_us = 0, row.state = "dropped";
    row.why = fmt::format("{} messages wait for this channel already", open_per_channel_max);
  }
  fresh_.push_back(std::move(row));
}

void Notifications::send_due(Instant now) {
  for (const store::DeliveryRow& row : queue_.take_due(now)) send(row, now);
}

void Notifications::send(const store::DeliveryRow& row, Instant now) {
  const Channels::Pointer channel = channels_.find(row.owner, row.channel);
  if (!channel || queue_.is_orphan(row.id))
    return on_outcome(row.id, {.why = "its channel was removed", .is_refused_here = true});
  const std::string name = channel->settings.secret.value_or("");
  const std::optional<std::string> secret = name.empty() ? std::string() : around_.secret(row.owner, name);
  if (!secret) return on_outcome(row.id, {.why = "the secret " + name + " is not stored any more"});
  const auto done = [this, id = row.id](const courier::Outcome& outcome) { on_outcome(id, outcome); };
  std::visit([&](auto&& message) { courier_.send(std::move(message), done); },
             make_message(*channel, row, *secret, now.us));
}

void Notifications::on_outcome(const std::string& id, const courier::Outcome& outcome) {
  store::DeliveryRow row = queue_.settle(id, outcome, around_.clock());
  answer_test(id, row);
  tried_.push_back(std::move(row));
}

void Notifications::write_down(Instant now) {
  const bool is_far = cursor_ - cursor_written_ >= events_between_writes;
  if (is_writing_ || now < not_before_ || (fresh_.empty() && tried_.empty() && !is_far)) return;
  store::Batch batch;
  batch.deliveries = tried_;
  batch.deliveries.insert(batch.deliveries.end(), fresh_.begin(), fresh_.end());
  batch.settings = {{cursor_key, std::to_string(cursor_)}};
  writing_ = batch;
  is_writing_ = true;
  tried_.clear();  // `fresh_` stays until it is durable
  around_.commit(std::move(batch), [this](const Status& status) { put_in([this, status] { on_written(status); }); });
}

void Notifications::on_written(const Status& status) {
  is_writing_ = false;
  const store::Batch written = std::exchange(writing_, {});
  const std::size_t old = written.deliveries.size();
  std::size_t fresh = 0;  // of `fresh_`, in front; tests may have been added since
  for (const store::DeliveryRow& row : written.deliveries) fresh += row.tries == 0;
  if (!status.ok()) {
    not_before_ = around_.clock() + pause_after_failure;
    tried_.insert(tried_.begin(), written.deliveries.begin(),
                  written.deliveries.begin() + static_cast<std::ptrdiff_t>(old - fresh));
    for (const store::DeliveryRow& row : fresh_) answer_test(row.id, status.error());
    std::erase_if(fresh_, [](const store::DeliveryRow& row) { return row.event == test_event; });
    return;
  }
  cursor_written_ = parse_whole_number(written.settings.front().value).value_or(0);
  for (std::size_t i = 0; i < fresh; ++i) {
    const bool is_orphan = orphans_.erase(fresh_[i].id) > 0;
    if (fresh_[i].next_us > 0) queue_.add(std::move(fresh_[i]), is_orphan);
  }
  fresh_.erase(fresh_.begin(), fresh_.begin() + static_cast<std::ptrdiff_t>(fresh));
}

void Notifications::begin_test(const Channel& channel, const std::string& receiver, Test test) {
  const auto is_of_user = [&](const auto& other) { return other.second.user == test.user; };
  if (std::ranges::count_if(tests_, is_of_user) >= tests_of_user_max)
    return around_.post([done = std::move(test.done)] { done(too_many_tests()); });
  const Instant now = around_.clock();
  Notice notice;
  notice.id = random_id();
  notice.event = std::string(test_event);
  notice.at = {now.us};
  notice.text = fmt::format("Schedulearn can reach you here: {} has tested the channel {}", test.user, channel.name);
  notice.cluster_id = cluster_id_;
  store::DeliveryRow row{.id = notice.id, .made_us = now.us, .next_us = now.us};
  row.owner = channel.owner, row.channel = channel.name, row.receiver = receiver, row.user = test.user;
  row.event = notice.event, row.state = "waiting", row.body = wire::json_text(wire::to_value(notice));
  tests_[row.id] = std::move(test);
  fresh_.push_back(std::move(row));
}

void Notifications::answer_test(const std::string& id, Result<store::DeliveryRow> result) {
  const auto test = tests_.extract(id);
  if (test.empty()) return;
  around_.post([done = test.mapped().done, result = std::move(result)] { done(result); });
}

}  // namespace sl::notify
