// Long lists, made piece by piece, each once the reader has read the previous one: a slow reader costs neither the
// core's thread nor memory for more than one piece.
//
// A list of jobs joins those in memory with those only in the database, newest or oldest first. The threads of the History read
// the older jobs and render them.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/whole_number.h"
#include "controller/api.h"
#include "controller/doctor.h"
#include "controller/estimate_views.h"
#include "controller/explain.h"
#include "controller/views.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {

// The parameter `label`: KEY=VALUE, or KEY for any value.
struct LabelWish {
  std::string key, value;  // empty: any
  // Error "bad-parameter".
  static Result<LabelWish> of(const net::Request& request) {
    const std::string label = request.parameter("label").value_or("");
    LabelWish wish{label.substr(0, label.find('=')), ""};
    if (wish.key.size() < label.size()) wish.value = label.substr(wish.key.size() + 1);
    if (wish.key.find_first_of("\"\\") == std::string::npos && wish.key.empty() == label.empty()) return wish;
    return invalid("bad-parameter", "label is KEY=VALUE, or KEY for any value; not " + label);
  }
  bool is_among(const std::map<std::string, std::string>& labels) const {
    if (key.empty()) return true;
    const auto at = labels.find(key);
    return at != labels.end() && (value.empty() || value == at->second);
  }
};

struct JobFilter {
  std::vector<std::string> states;  // none: all
  std::string user, word;           // empty: any
  std::int64_t group = 0;           // only its members; 0: any job
  bool grouped = false;             // without members of groups
  std::string server;               // as in store::JobQuery
  LabelWish label;
  std::int64_t since_us = 0, until_us = INT64_MAX;  // likewise
  bool is_of_all() const {
    return user.empty() && word.empty() && group == 0 && !grouped && server.empty() && label.key.empty() &&
           since_us == 0 && until_us == INT64_MAX;
  }
  bool wants(const JobEntry& entry) const {
    return wants_state(entry.row.state) && (user.empty() || user == entry.row.user) &&
           (word.empty() || entry.row.name.find(word) != std::string::npos) &&
           (group == 0 || group == entry.row.group_id) && (!grouped || entry.row.group_id == 0) &&
           (server.empty() || server == entry.row.server) && since_us <= entry.row.submitted_us &&
           entry.row.submitted_us < until_us && (label.key.empty() || label.is_among(spec_of(entry).labels));
  }
  bool wants_state(std::string_view state) const {
    return states.empty() || std::find(states.begin(), states.end(), state) != states.end();
  }
  bool wants_finished() const { return wants_state("succeeded") || wants_state("failed") || wants_state("cancelled"); }
};

namespace {

namespace json = boost::json;

constexpr std::size_t items_per_piece = 200;
constexpr std::size_t visits_per_piece = 100 * items_per_piece;
constexpr JobId newest{std::numeric_limits<std::int64_t>::max()};  // beyond all
constexpr JobId oldest{0};                                         // likewise

// "pending,running"
Result<std::vector<std::string>> parse_states(std::string_view text) {
  std::vector<std::string> states;
  while (!text.empty()) {
    const std::string state(text.substr(0, text.find(',')));
    if (!parse_job_state(state)) return invalid("bad-state", "there is no job state " + state);
    states.push_back(state);
    text.remove_prefix(std::min(text.size(), state.size() + 1));
  }
  return states;
}

Result<JobFilter> parse_filter(const net::Request& request) {
  auto states = parse_states(request.parameter("state").value_or(""));
  if (!states.ok()) return states.error();
  const auto group = parse_whole_number(request.parameter("group").value_or("0"));
  if (!group || *group < 0) return invalid("bad-parameter", "group is the number of a job that stands for several");
  JobFilter filter{std::move(*states), request.parameter("user").value_or(""), request.parameter("q").value_or(""),
                   *group, request.parameter("grouped") == "true"};
  filter.server = request.parameter("server").value_or("");
  auto label = LabelWish::of(request);
  if (!label.ok()) return label.error();
  filter.label = std::move(*label);
  for (const auto& [name, into] : {std::pair("since", &filter.since_us), {"until", &filter.until_us}}) {
    const auto text = request.parameter(name);
    const auto us = text ? wire::parse_time_us(*text) : Result<std::int64_t>(*into);
    if (!us.ok())
      return invalid("bad-parameter", fmt::format("{} is a time, 2026-11-23T21:00:00Z; not {}", name, *text));
    *into = *us;
  }
  return filter;
}

store::JobQuery query_of(const JobFilter& filter) {
  return {.states = filter.states,
          .user = filter.user,
          .word = filter.word,
          .group = filter.group,
          .grouped = filter.grouped,
          .limit = items_per_piece,
          .server = filter.server,
          .label = filter.label.key,
          .label_value = filter.label.value,
          .since_us = filter.since_us,
          .until_us = filter.until_us};
}

std::int64_t count_by_state(const JobBook& book, const JobFilter& filter) {
  std::int64_t total = 0;
  for (int s = 0; s <= static_cast<int>(JobState::cancelled); ++s) {
    const auto state = static_cast<JobState>(s);
    if (filter.wants_state(to_string(state))) total += book.count(state);
  }
  return total;
}

// The number of jobs that pass the filter.
void count_jobs(const JobBook& book, History& history, const JobFilter& filter,
                std::function<void(Result<std::int64_t>)> then) {
  if (filter.is_of_all()) return then(count_by_state(book, filter));
  std::int64_t here = 0;
  book.for_each([&](const JobEntry& entry) { here += !entry.is_retired && filter.wants(entry); });
  if (!filter.wants_finished()) return then(here);
  history.ask<std::int64_t>([query = query_of(filter)](store::Reader& reader) { return reader.count_finished(query); },
                            [here, then = std::move(then)](const Result<std::int64_t>& past) {
                              past.ok() ? then(here + *past) : then(past.error());
                            });
}

}  // namespace

// ---- pieces ----

void Api::send_pieces(const Call& call, Source source) {
  source([this, call, source](Result<Piece> piece) {
    if (!piece.ok()) return call.fail(piece.error());
    if (piece->is_last) return call.send(std::move(piece->text));
    write_pieces(call.reply->stream({200, "application/json", {}, std::move(piece->text)}), source);
  });
}

void Api::write_pieces(const std::shared_ptr<net::Stream>& stream, Source source) {
  when_read(stream, [this, stream, source = std::move(source)] {
    if (stream->closed()) return;
    source([this, stream, source](Result<Piece> piece) {
      if (!piece.ok()) return stream->close();  // the document ends early: readers notice that it is incomplete
      stream->write(std::move(piece->text));
      piece->is_last ? stream->close() : write_pieces(stream, source);
    });
  });
}

void Api::when_read(const std::shared_ptr<net::Stream>& stream, std::function<void()> work) {
  stream->on_drain([this, work = std::move(work)]() mutable { post_(std::move(work)); });
}

void Api::send_each(const Call& call, Items items) {
  auto at = std::make_shared<std::size_t>(0);
  auto text = std::make_shared<std::string>(std::move(items.opening));
  send_pieces(call, [at, text, items = std::move(items)](const std::function<void(Result<Piece>)>& then) {
    for (const std::size_t end = std::min(*at + items.per_piece, items.count); *at < end; ++*at)
      *text += (*at > 0 ? "," : "") + items.text_of(*at);
    const bool is_last = *at == items.count;
    if (is_last) *text += items.ending;
    then(Piece{std::exchange(*text, {}), is_last});
  });
}

Result<std::optional<std::int64_t>> Api::Call::cursor(const std::string& order) const {
  const auto text = request.parameter("cursor");
  if (!text) return std::optional<std::int64_t>();
  const auto position = parse_cursor(request.path + order, *text);
  return position.ok() ? Result<std::optional<std::int64_t>>(*position) : position.error();
}

void Api::send_list(const Call& call, Items items) {
  const auto limit = call.number("limit", list_items_max, 1, list_items_max);
  const auto cursor = call.cursor();
  if (!limit.ok()) return call.fail(limit.error());
  if (!cursor.ok()) return call.fail(cursor.error());
  const std::size_t total = items.count, first = std::min(static_cast<std::size_t>(cursor->value_or(0)), total);
  items.count = std::min(static_cast<std::size_t>(*limit), total - first);
  items.text_of = [first, text_of = std::move(items.text_of)](std::size_t i) { return text_of(first + i); };
  const std::size_t end = first + items.count;
  const json::value next = end < total ? json::value(call.next_cursor(static_cast<std::int64_t>(end))) : json::value();
  items.opening = list_opening();
  items.ending = list_ending(total, next);
  send_each(call, std::move(items));
}

// ---- jobs ----

struct Api::JobPages {
  struct PastJob {
    JobId id;
    std::string text;
  };
  JobFilter filter;
  HiddenJobs::Jobs hidden;                                // left out; null: none
  std::function<std::string(const JobEntry&)> now_text;   // of a job in memory, on the core's thread
  std::function<std::string(const JobEntry&)> past_text;  // of a finished job, on any thread
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  bool oldest_first = false;
  JobId above = oldest, below = newest;  // the next one is between these
  JobId last = newest;                   // the last one listed
  std::string text, separator;

  // Read from the database, in this order: everything that it has between them, up to the last of these or to the end.
  std::deque<PastJob> past;
  bool past_is_whole = false;
  std::uint64_t past_mark = 0;  // of the book, at the time of reading

  enum class Outcome { more, limit_reached, whole };
  Outcome make_piece(const JobBook& book);
  bool is_next(JobId id) const { return id > above && id < below; }
  const JobEntry* next_of(const JobBook& book) const {
    const JobEntry* entry = oldest_first ? book.oldest_above(above) : book.newest_below(below);
    return entry && is_next(JobId(entry->row.id)) ? entry : nullptr;
  }
  void add(const std::string& item) {
    text += separator + item;
    separator = ",";
  }
};

// Repeatedly the first of both. A job that is in both is shown as it is in memory.
Api::JobPages::Outcome Api::JobPages::make_piece(const JobBook& book) {
  for (std::size_t visits = 0, items = 0; visits < visits_per_piece && items < items_per_piece; ++visits) {
    const JobEntry* entry = next_of(book);
    while (!past.empty() && !is_next(past.front().id)) past.pop_front();
    if (past.empty() && !past_is_whole) return Outcome::more;
    if (!entry && past.empty()) return Outcome::whole;
    const JobId here(entry ? entry->row.id : 0);
    const bool is_past = !past.empty() && (!entry || (oldest_first ? past.front().id < here : past.front().id > here));
    const JobId id = is_past ? past.front().id : here;
    const bool is_wanted = (is_past || filter.wants(*entry)) && !(hidden && hidden->contains(id));
    if (is_wanted && limit == 0) return Outcome::limit_reached;
    (oldest_first ? above : below) = id;
    if (!is_wanted) continue;
    add(is_past ? past.front().text : now_text(*entry));
    last = id;
    --limit, ++items;
  }
  return Outcome::more;
}

// The next part of the past, when the previous one is used up or may have gaps by now.
void Api::read_past(const std::shared_ptr<JobPages>& pages, std::function<void(Status)> then) {
  if (!pages->filter.wants_finished()) return then({});
  const bool is_stale = !logic_.book().has_kept(pages->past_mark);
  if (!is_stale && (pages->past_is_whole || !pages->past.empty())) return then({});
  using PastJobs = std::deque<JobPages::PastJob>;
  store::JobQuery query = query_of(pages->filter);
  query.before = pages->below.value, query.after = pages->above.value, query.oldest_first = pages->oldest_first;
  pages->past_mark = logic_.book().mark();
  history_.ask<PastJobs>(
      [query, render = pages->past_text](store::Reader& reader) -> Result<PastJobs> {
        auto rows = reader.finished_jobs(query);
        if (!rows.ok()) return rows.error();
        PastJobs jobs;
        if (rows->empty()) return jobs;
        const auto [first, last] = std::minmax(rows->front().id, rows->back().id);
        auto spread = reader.spread_placements(first, last);
        if (!spread.ok()) return spread.error();
        std::map<std::int64_t, std::vector<store::PlacementRow>> placements;
        for (store::PlacementRow& part : *spread) placements[part.job_id].push_back(std::move(part));
        for (store::JobRow& row : *rows) {
          const JobId id(row.id);
          jobs.push_back({id, render(JobEntry{.row = std::move(row), .placements = std::move(placements[id.value])})});
        }
        return jobs;
      },
      [this, pages, then = std::move(then)](Result<PastJobs> jobs) mutable {
        if (!jobs.ok()) return then(jobs.error());
        pages->past_is_whole = jobs->size() < items_per_piece;
        pages->past = std::move(*jobs);
        logic_.book().has_kept(pages->past_mark) ? then({}) : read_past(pages, std::move(then));
      });
}

void Api::send_jobs(const Call& call, const std::shared_ptr<JobPages>& pages,
                    std::function<std::string(const JobPages&, bool is_cut)> ending) {
  pages->past_is_whole = !pages->filter.wants_finished();
  pages->past_mark = logic_.book().mark();
  send_pieces(call, [this, pages, ending = std::move(ending)](const std::function<void(Result<Piece>)>& then) {
    read_past(pages, [this, pages, ending, then](const Status& read) {
      if (!read.ok()) return then(read.error());
      const auto outcome = pages->make_piece(logic_.book());
      Piece piece{std::exchange(pages->text, {}), outcome != JobPages::Outcome::more};
      if (piece.is_last) piece.text += ending(*pages, outcome == JobPages::Outcome::limit_reached);
      then(std::move(piece));
    });
  });
}

void Api::list_jobs(Call call) {
  const auto limit = call.number("limit", 100, 1, list_items_max);
  const auto before = call.number("before", newest.value, 1, newest.value);
  const auto sort = call.one_of("sort", {"-id", "id"});
  const bool oldest_first = sort.ok() && *sort == "id";
  const std::string order = oldest_first ? "/oldest_first" : "";
  const auto cursor = call.cursor(order);
  auto filter = parse_filter(call.request);
  auto fields = JobFields::parse(call.request.parameter("fields").value_or(""));
  if (!limit.ok()) return call.fail(limit.error());
  if (!before.ok()) return call.fail(before.error());
  if (!sort.ok()) return call.fail(sort.error());
  if (!cursor.ok()) return call.fail(cursor.error());
  if (!filter.ok()) return call.fail(filter.error());
  if (!fields.ok()) return call.fail(fields.error());
  auto pages = std::make_shared<JobPages>();
  pages->filter = std::move(*filter);
  pages->limit = static_cast<std::size_t>(*limit);
  pages->oldest_first = oldest_first;
  pages->below = JobId(*before);
  if (*cursor && oldest_first) pages->above = JobId(**cursor);
  if (*cursor && !oldest_first) pages->below = std::min(pages->below, JobId(**cursor));
  pages->last = oldest_first ? pages->above : pages->below;
  pages->text = list_opening();
  const auto line = std::make_shared<Line>(logic_, call.now);
  pages->now_text = [this, call, line, fields = *fields](const JobEntry& entry) {
    return job_text(logic_, entry, call.now, call.may_see(entry), line.get(), fields);
  };
  pages->past_text = [identity = call.identity, fields = *fields](const JobEntry& entry) {
    return past_job_text(entry, identity.may_see(entry.row.user), fields);
  };
  count_jobs(logic_.book(), history_, pages->filter, [this, call, pages, order](const Result<std::int64_t>& total) {
    if (!total.ok()) return call.fail(total.error());
    send_jobs(call, pages, [call, order, total = *total](const JobPages& list, bool is_cut) {
      const json::value next = is_cut ? json::value(call.next_cursor(list.last.value, order)) : json::value(nullptr);
      return list_ending(total, next);
    });
  });
}

// The original API: a bare array.
void Api::legacy_list(Call call) {
  auto pages = std::make_shared<JobPages>();
  pages->text = "[";
  pages->now_text = pages->past_text = [](const JobEntry& entry) {
    return wire::json_text(wire::to_value(original_job_view(entry)));
  };
  if (hidden_) pages->hidden = hidden_->jobs();
  send_jobs(call, pages, [](const JobPages&, bool) { return "]\n"; });
}

void Api::get_queue(Call call) {
  struct Row {
    JobId job, first;  // of a group: the first of its members
  };
  const auto line = std::make_shared<Line>(logic_, call.now, SIZE_MAX);
  std::vector<JobId> order = line->order();
  if (order.empty()) {  // only a user's own policy knows it
    for (const JobIndex index : logic_.core().queue_order(call.now))
      order.push_back(logic_.core().job(index).request.id);
  }
  const bool is_grouped = call.request.parameter("grouped") == "true";
  const std::string user = call.request.parameter("user").value_or("");
  std::vector<Row> rows;
  std::set<std::int64_t> groups;
  for (const JobId job : order) {
    const JobEntry* entry = user.empty() ? nullptr : logic_.book().find(job);
    if (!user.empty() && (!entry || entry->row.user != user)) continue;
    const JobId group = logic_.core().job(logic_.core().find(job)).request.member_of;
    const bool stands_for_others = is_grouped && group.valid();
    if (!stands_for_others || groups.insert(group.value).second) rows.push_back({stands_for_others ? group : job, job});
  }
  const std::size_t count = rows.size();
  send_list(call, {.count = count, .text_of = [this, call, line, rows = std::move(rows)](std::size_t i) {
                     // gone: more jobs have ended since than stay in memory
                     const JobEntry* entry = logic_.book().find(rows[i].job);
                     const bool is_here = entry && logic_.core().find(rows[i].first).valid();
                     return is_here
                                ? queued_job_text(logic_, *entry, rows[i].first, call.now, call.may_see(*entry), *line)
                                : "null";
                   }});
}

// ---- servers ----

namespace {

// A server has up to 64 GPUs.
constexpr std::size_t servers_per_piece = 20;

std::string server_text(const Logic& logic, ServerIndex index, Instant now) {
  return wire::json_text(wire::to_value(server_view(logic, logic.core().servers()[index], index, now)));
}

}  // namespace

Api::Items Api::each_server(Instant now, const std::function<bool(const Server&)>& is_wanted) const {
  std::vector<ServerIndex> servers;
  for_each_server(logic_.core(), [&](const Server& server, ServerIndex index) {
    if (is_wanted(server)) servers.push_back(index);
  });
  return {.count = servers.size(), .per_piece = servers_per_piece, .text_of = [=, this](std::size_t i) {
            return server_text(logic_, servers[i], now);
          }};
}

void Api::get_cluster(Call call) {
  Items servers = each_server(call.now, [](const Server&) { return true; });
  answers::Cluster cluster = cluster_view(logic_, call.now);
  cluster.url = url_;
  cluster.next_free = next_free_view(logic_, call.now);
  if (shadow_.followed()) cluster.shadow = shadow_.followed()->policy.name;
  cluster.history = {retention_.bytes_used(), retention_.rule()};
  json::value view = wire::to_value(cluster);
  view.get_object().erase("servers");  // each is added when it is its turn
  servers.opening = wire::json_text(view);
  servers.opening.back() = ',';
  servers.opening += "\"servers\":[";
  servers.ending = "]}\n";
  send_each(call, std::move(servers));
}

void Api::list_servers(Call call) {
  const auto state = call.one_of("state", {"joining", "up", "draining", "drained", "quarantined", "down"});
  const auto label = LabelWish::of(call.request);
  if (!state.ok()) return call.fail(state.error());
  if (!label.ok()) return call.fail(label.error());
  send_list(call, each_server(call.now, [&](const Server& server) {
              const bool is_in_state = state->empty() || *state == to_string(server.state);
              if (!is_in_state || label->key.empty()) return is_in_state;
              const Agent* agent = logic_.agents().by_server(server.description.name);
              return agent && label->is_among(agent->hello.labels);
            }));
}

void Api::examine(Call call) {
  std::vector<answers::Finding> found = findings(logic_, url_, call.now);
  if (const auto server = call.request.parameter("server"))
    std::erase_if(found, [&](const answers::Finding& finding) { return finding.server != *server; });
  send_list(call, {.count = found.size(),
                   .text_of = [found](std::size_t i) { return wire::json_text(wire::to_value(found[i])); }});
}

void Api::list_gpus(Call call) {
  const auto condition = call.one_of("condition", {"free", "allocated", "outside", "unavailable", "quarantined"});
  const std::string wanted = call.request.parameter("server").value_or("");
  if (!condition.ok()) return call.fail(condition.error());
  std::vector<std::pair<ServerIndex, int>> gpus;
  for_each_server(logic_.core(), [&](const Server& server, ServerIndex index) {
    if (!wanted.empty() && wanted != server.description.name) return;
    for (int gpu = 0; gpu < server.description.gpus; ++gpu) {
      if (condition->empty() || *condition == condition_of(logic_, server, index, gpu)) gpus.emplace_back(index, gpu);
    }
  });
  send_list(call, {.count = gpus.size(), .text_of = [this, gpus](std::size_t i) {
                     const auto& [index, gpu] = gpus[i];
                     const Server& server = logic_.core().servers()[index];
                     return wire::json_text(wire::to_value(gpu_view(logic_, server, index, gpu)));
                   }});
}

}  // namespace sl::controller
