// Reads of the past. Each is short: a long one would keep the write-ahead log from being emptied.
#include "store/sqlite.h"
#include "store/sqlite_notifications.h"
#include "store/sqlite_people.h"

namespace sl::store {
namespace {

// The queries name the index to use instead of leaving it to SQLite: a wrong guess reads the whole table. Each index is
// in the order of the ids when its columns before the id are given; only the one by name holds everything that a query
// may ask about a job.
std::string index_for(const JobQuery& query) {
  if (query.is_of_some()) return "NOT INDEXED ";
  if (query.states.size() == 1) return "INDEXED BY finished_jobs_in_state ";
  return query.user.empty() ? "NOT INDEXED " : "INDEXED BY finished_jobs_of_user ";
}
const std::string by_name = "INDEXED BY finished_jobs_by_name ";

std::string conditions(const JobQuery& query) {
  std::string sql = "WHERE finished_us IS NOT NULL AND id < " + std::to_string(query.before);
  if (query.after > INT64_MIN) sql += " AND id > " + std::to_string(query.after);
  if (query.group > 0)  // its members have the numbers after its own
    sql += " AND id > " + std::to_string(query.group) + " AND group_id = " + std::to_string(query.group);
  if (query.grouped) sql += " AND group_id = 0";
  std::string states;
  for (const std::string& state : query.states) states += (states.empty() ? "" : ", ") + sql_literal(state);
  if (query.states.size() == 1) sql += " AND state = " + states;
  if (query.states.size() > 1) sql += " AND state IN (" + states + ")";
  if (!query.user.empty()) sql += " AND user_name = " + sql_literal(query.user);
  if (!query.server.empty()) sql += " AND server = " + sql_literal(query.server);
  if (!query.label.empty()) {
    const std::string value = "json_extract(spec_json, " + sql_literal("$.labels.\"" + query.label + "\"") + ")";
    sql += " AND " + value + (query.label_value.empty() ? " IS NOT NULL" : " = " + sql_literal(query.label_value));
  }
  if (query.since_us > 0) sql += " AND submitted_us >= " + std::to_string(query.since_us);
  if (query.until_us < INT64_MAX) sql += " AND submitted_us < " + std::to_string(query.until_us);
  if (!query.word.empty()) sql += " AND instr(name, " + sql_literal(query.word) + ") > 0";
  return sql;
}

// The condition of the index events_notable, in the same words.
constexpr const char* is_notable =
    " AND kind NOT IN ('job.progress', 'job.submitted', 'job.image', 'job.checkpoint_copied', 'job.files_removed') AND "
    "(kind <> 'job.state' OR text IN ('preempted', 'server_lost') OR to_state NOT IN ('pending', 'starting', "
    "'stopping', 'running', 'succeeded', 'held'))";

class SqliteReader : public Reader {
 public:
  explicit SqliteReader(const std::string& path) : sql_(soci::sqlite3, connection_to(path)) {
    sql_ << "PRAGMA query_only=1";
    sql_ << "PRAGMA cache_size=-1024";
  }

  Result<std::optional<JobRow>> job(std::int64_t id) override {
    return guarded<std::optional<JobRow>>([&] {
      auto rows = select_jobs(sql_, "WHERE id = " + std::to_string(id));
      return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
    });
  }

  Result<std::vector<PlacementRow>> placements(std::int64_t job) override {
    return guarded<std::vector<PlacementRow>>([&] {
      return select_placements(sql_, "WHERE job_id = " + std::to_string(job) + " ORDER BY incarnation, rank");
    });
  }

  Result<std::vector<PlacementRow>> spread_placements(std::int64_t first_job, std::int64_t last_job) override {
    return guarded<std::vector<PlacementRow>>([&] {
      const std::string range = std::to_string(first_job) + " AND " + std::to_string(last_job);
      return select_placements(
          sql_, "WHERE job_id IN (SELECT job_id FROM placements WHERE rank > 0 AND job_id BETWEEN " + range +
                    ") ORDER BY job_id, incarnation, rank");
    });
  }

  Result<std::vector<JobRow>> finished_jobs(const JobQuery& query) override {
    return guarded<std::vector<JobRow>>([&] {
      const std::string order = query.oldest_first ? " ORDER BY id" : " ORDER BY id DESC";
      const std::string first = order + " LIMIT " + std::to_string(query.limit);
      if (query.word.empty() || query.is_of_some())
        return select_jobs(sql_, index_for(query) + conditions(query) + first);
      const std::string ids = "SELECT id FROM jobs " + (by_name + conditions(query)) + first;
      return select_jobs(sql_, "WHERE id IN (" + ids + ")" + order);
    });
  }

  Result<std::int64_t> count_finished(const JobQuery& query) override {
    return guarded<std::int64_t>([&] {
      if (query.is_of_some()) return select_number(sql_, "SELECT count(*) FROM jobs NOT INDEXED " + conditions(query));
      const bool is_of_one_user = query.word.empty() && query.states.empty() && !query.user.empty();
      const std::string index = is_of_one_user ? index_for(query) : by_name;
      return select_number(sql_, "SELECT count(*) FROM jobs " + index + conditions(query));
    });
  }

  Result<std::vector<EventRow>> events(const EventQuery& query) override {
    return guarded<std::vector<EventRow>>([&] {
      const bool uses_index = query.notable && !query.job;
      std::string sql = "SELECT " + event_columns + " FROM events" + (uses_index ? " INDEXED BY events_notable" : "") +
                        " WHERE seq > " + std::to_string(query.after.value_or(0));
      if (query.notable) sql += is_notable;
      if (query.job) sql += " AND job_id = " + std::to_string(*query.job);
      if (!query.server.empty()) sql += " AND server = " + sql_literal(query.server);
      if (!query.about.empty())  // "gpu" and "gpu.…" are a range of names, since '/' is the character after '.'
        sql += " AND kind >= " + sql_literal(query.about) + " AND kind < " + sql_literal(query.about + "/");
      if (!query.progress) sql += " AND kind <> 'job.progress'";
      if (query.since_us > 0) sql += " AND at_us >= " + std::to_string(query.since_us);
      if (query.until_us < INT64_MAX) sql += " AND at_us < " + std::to_string(query.until_us);
      sql += query.after ? " ORDER BY seq" : " ORDER BY seq DESC";
      Select select(sql_, sql + " LIMIT " + std::to_string(query.limit), event_number_count, event_text_count);
      std::vector<EventRow> rows;
      while (select.next()) rows.push_back(event_of(select));
      if (!query.after) std::reverse(rows.begin(), rows.end());
      return rows;
    });
  }

  Result<Moment> moment(std::int64_t at_us) override {
    return guarded<Moment>([&] {
      const std::string at = std::to_string(at_us);
      Moment moment;
      Select jobs(sql_,
                  "SELECT j.id, j.group_id, j.submitted_us, coalesce(e.at_us, j.submitted_us), "
                  "coalesce(e.to_state, 'pending') FROM jobs j LEFT JOIN events e ON e.seq = "
                  "(SELECT seq FROM events INDEXED BY events_of_job WHERE job_id = j.id AND at_us <= " +
                      at +
                      " AND kind IN ('job.submitted', 'job.state') AND to_state <> '' ORDER BY seq DESC LIMIT 1) "
                      "WHERE j.submitted_us <= " +
                      at + " AND (j.finished_us IS NULL OR j.finished_us > " + at + ") ORDER BY j.id",
                  4, 1);
      while (jobs.next())
        moment.jobs.push_back({jobs.whole(0), jobs.whole(1), jobs.whole(2), jobs.whole(3), jobs.text(0)});
      Select servers(sql_,
                     "SELECT server, to_state FROM events INDEXED BY events_of_no_job WHERE job_id IS NULL AND "
                     "at_us <= " +
                         at + " AND kind = 'server.state' ORDER BY at_us, seq",
                     0, 2);
      while (servers.next()) moment.servers[servers.text(0)] = servers.text(1);
      return moment;
    });
  }

  Result<std::vector<EstimateRow>> estimates() override {
    return guarded<std::vector<EstimateRow>>([&] { return select_estimates(sql_); });
  }
  Result<std::vector<RegretRow>> regrets() override {
    return guarded<std::vector<RegretRow>>([&] { return select_regrets(sql_); });
  }

  Result<std::vector<ChannelRow>> channels() override {
    return guarded<std::vector<ChannelRow>>([&] { return select_channels(sql_); });
  }

  Result<People> people() override {
    return guarded<People>([&] { return select_people(sql_); });
  }

  Result<std::vector<DeliveryRow>> open_deliveries() override {
    return guarded<std::vector<DeliveryRow>>(
        [&] { return select_deliveries(sql_, "WHERE next_us > 0 ORDER BY number"); });
  }

  Result<std::vector<DeliveryRow>> deliveries(const DeliveryQuery& query) override {
    return guarded<std::vector<DeliveryRow>>([&] { return select_deliveries(sql_, condition_of(query)); });
  }

  Result<std::string> setting(const std::string& key) override {
    return guarded<std::string>([&] {
      Select select(sql_, "SELECT value FROM settings WHERE key = " + sql_literal(key), 0, 1);
      return select.next() ? select.text(0) : "";
    });
  }

  Result<std::optional<RemovedJob>> removed(std::int64_t job) override {
    return guarded<std::optional<RemovedJob>>([&]() -> std::optional<RemovedJob> {
      Select select(sql_,
                    "SELECT last_id, at_us, rule FROM removed_jobs WHERE first_id <= " + std::to_string(job) +
                        " ORDER BY first_id DESC LIMIT 1",
                    2, 1);
      if (!select.next() || select.whole(0) < job) return std::nullopt;
      return RemovedJob{select.whole(1), select.text(0)};
    });
  }

  Result<std::map<std::int64_t, std::optional<std::int64_t>>> ends(const std::vector<std::int64_t>& jobs) override {
    return guarded<std::map<std::int64_t, std::optional<std::int64_t>>>([&] {
      std::string ids;
      for (const std::int64_t id : jobs) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
      Select select(sql_, "SELECT id, finished_us FROM jobs WHERE id IN (" + ids + ")", 2, 0);
      std::map<std::int64_t, std::optional<std::int64_t>> ends;
      while (select.next()) ends[select.whole(0)] = select.number(1);
      return ends;
    });
  }

  Result<std::int64_t> bytes_used() override {
    return guarded<std::int64_t>([&] {
      const std::int64_t pages =
          select_number(sql_, "PRAGMA page_count") - select_number(sql_, "PRAGMA freelist_count");
      return pages * select_number(sql_, "PRAGMA page_size");
    });
  }

  Result<std::vector<FinishedJob>> oldest_finished(std::int64_t before_us, std::size_t limit) override {
    return guarded<std::vector<FinishedJob>>([&] {
      Select select(sql_,
                    "SELECT id, substr(extra_json, 1, 1) = '{', state FROM jobs INDEXED BY jobs_finished WHERE "
                    "finished_us IS NOT NULL AND finished_us < " +
                        std::to_string(before_us) +
                        " AND NOT EXISTS (SELECT 1 FROM jobs g WHERE g.id = jobs.group_id AND g.finished_us IS NULL)"
                        " ORDER BY finished_us LIMIT " +
                        std::to_string(limit),
                    2, 1);
      std::vector<FinishedJob> jobs;
      while (select.next()) jobs.push_back({select.whole(0), select.text(0), select.whole(1) != 0});
      return jobs;
    });
  }

  Result<bool> has_events_of_no_job(std::int64_t before_us) override {
    return guarded<bool>([&] {
      return select_number(sql_, "SELECT 1 FROM events INDEXED BY events_of_no_job WHERE job_id IS NULL AND at_us < " +
                                     std::to_string(before_us) + " LIMIT 1") == 1;
    });
  }

 private:
  template <typename T, typename Read>
  static Result<T> guarded(Read read) {
    try {
      return T(read());
    } catch (const std::exception& e) {
      return translate(e);
    }
  }
  soci::session sql_;
};

}  // namespace

Result<std::unique_ptr<Reader>> open_reader(const std::string& data_dir) {
  try {
    return std::unique_ptr<Reader>(std::make_unique<SqliteReader>(database_path(data_dir)));
  } catch (const std::exception& e) {
    return translate(e);
  }
}

}  // namespace sl::store
