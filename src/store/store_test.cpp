#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "store/migrations.h"
#include "store/sqlite.h"
#include "store/writer.h"

namespace sl::store {
namespace {

using Ids = std::vector<std::int64_t>;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-store-XXXXXX";
    dir_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::unique_ptr<Store> open() {
    auto store = open_sqlite(dir_);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(*store);
  }
  Ids seqs(const EventQuery& query) {
    Ids all;
    const auto rows = read()->events(query);
    for (const EventRow& row : *rows) all.push_back(row.seq);
    return all;
  }

  std::unique_ptr<Reader> read() {
    auto reader = open_reader(dir_);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  std::string dir_;
};

JobRow full_row(std::int64_t id) {
  constexpr std::int64_t big = 5'000'000'000;  // SOCI reads INTEGER columns as 32 bits: there must be none
  JobRow row;
  row.id = id;
  row.user = "u", row.name = "n", row.spec_json = "{}", row.state = "running";
  row.submitted_us = big, row.state_since_us = big + 1, row.first_start_us = big + 2, row.last_start_us = big + 3;
  row.attempt = 3, row.run_us = big + 4, row.attained_gpu_us = big + 5;
  row.preemptions = 1, row.migrations = 2, row.resizes = 4, row.failures = 5, row.quick_requeues = 6;
  row.group_id = 7, row.member_index = 8;
  row.server = "s", row.gpus = "0,1", row.priority = -7, row.held = true, row.cancel_requested = true;
  row.exit_code = 9, row.failure_kind = "exit", row.failure_message = "it's \"broken\"\n",
  row.progress_json = "{\"a\":1}", row.annotation = 2.5, row.extra_json = "x", row.telemetry_json = "{\"t\":1}";
  return row;
}

TEST_F(StoreTest, gives_back_every_value_it_was_given) {
  Batch batch;
  batch.jobs = {full_row(5'000'000'001)};
  batch.events = {
      {1, 5'000'000'002, "job.state", 5'000'000'001, "s", "user", "mei", "pending", "running", "text", "{}"}};
  batch.policies = {{5'000'000'003, "fifo", "{\"a\":\"b\"}", "mei", "class Mine:\n  pass\n", "undo of srtf"}};
  batch.keys = {{"k", "h", 5'000'000'001, 5'000'000'004}};
  batch.servers = {{"s", "id", "{}", 5'000'000'005}};
  batch.placements = {{5'000'000'001, 2, 5'000'000'006, "c", "s", 0, "1", "GPU-a", 5'000'000'007, true},
                      {5'000'000'001, 3, 5'000'000'008, "c", "s", 0, "0,1", "", {}}};
  batch.settings = {{"last_server", "s"}};
  batch.regrets = {{5'000'000'007, 5'000'000'006, 3, 16, 5'000'000'010, 5'000'000'009, -1, -2, 1, "fifo", "sjf"}};
  batch.profiles = {{"cnn", "{}", 5'000'000'006, "mei"}, {"gone", "", 5'000'000'006}};
  ASSERT_TRUE(open()->commit(batch).ok());
  auto store = open();
  const auto loaded = store->load(5'000'000'004, 100);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->unfinished_jobs, batch.jobs);
  EXPECT_EQ(loaded->policies, batch.policies);
  EXPECT_EQ(loaded->servers.front().last_contact_us, 5'000'000'005);
  EXPECT_EQ(loaded->placements, batch.placements);
  EXPECT_EQ(loaded->settings.back().value, "s");
  ASSERT_EQ(loaded->profiles.size(), 1U) << "an empty one has been removed";
  EXPECT_EQ(loaded->profiles.front().family, "cnn");
  EXPECT_EQ(loaded->profiles.front().profile_json, "{}");
  EXPECT_EQ(loaded->profiles.front().at_us, 5'000'000'006);
  EXPECT_EQ(loaded->profiles.front().user, "mei");
  EXPECT_EQ(loaded->keys.front().job_id, 5'000'000'001);
  EXPECT_EQ(loaded->next_event_seq, 2);
  EXPECT_EQ(loaded->next_job_id, 5'000'000'002);
  const auto reader = read();
  EXPECT_EQ(*reader->events({}), batch.events);
  EXPECT_EQ(*reader->regrets(), batch.regrets);
  EXPECT_EQ(reader->events({.job = 1})->size(), 0u);
  EXPECT_EQ(**reader->job(5'000'000'001), batch.jobs.front());
  EXPECT_EQ(*reader->placements(5'000'000'001), batch.placements);
}

TEST_F(StoreTest, keys_are_forgotten_up_to_the_job_that_is_named) {
  ASSERT_TRUE(open()->commit({.keys = {{"b", "h", 1, 10}, {"a", "h", 2, 20}, {"c", "h", 3, 30}}}).ok());
  ASSERT_TRUE(open()->commit({.forget_keys_to = 2}).ok());
  const auto loaded = open()->load(40, 100);
  ASSERT_EQ(loaded->keys.size(), 1u);
  EXPECT_EQ(loaded->keys.front().key, "c");
}

// What the program made whose schema had this version: with one waiting job and one that failed.
void write_version(soci::session& sql, std::size_t version) {
  for (std::size_t step = 0; step < version; ++step) {
    std::istringstream text(migrations()[step]);
    std::string statement;
    for (std::string line; std::getline(text, line);) {
      statement += line + "\n";
      if (!line.ends_with(';')) continue;
      sql << statement;
      statement.clear();
    }
  }
  sql << "CREATE TABLE schema_version(version BIGINT NOT NULL)";
  sql << "INSERT INTO schema_version(version) VALUES(" << version << ")";
  const std::string insert =
      "INSERT INTO jobs(id, finished_us, state, submitted_us, state_since_us, attempt, run_us, attained_gpu_us, "
      "preemptions, migrations, resizes, failures, priority, held, cancel_requested, annotation_micro, user_name, "
      "name, spec_json, server, gpus, failure_kind, failure_message, progress_json, extra_json) ";
  sql << insert + "VALUES(7,NULL,'pending',1,1,0,0,0,0,0,0,0,0,0,0,0,'mei','mnist','{}','','','','','','')";
  sql << insert + "VALUES(6,5,'failed',1,1,0,0,0,0,0,0,0,0,0,0,0,'mei','mnist','{}','','','','','','')";
}

TEST_F(StoreTest, a_database_of_each_older_version_opens_and_keeps_its_jobs) {
  for (std::size_t version = 1; version < migrations().size(); ++version) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directory(dir_);
    {
      soci::session sql(soci::sqlite3, connection_to(dir_ + "/schedulearn.db"));
      write_version(sql, version);
    }
    EXPECT_EQ(load_past(dir_, 10).error().code, "older-schema");
    const auto loaded = open()->load(0, 10);
    ASSERT_TRUE(loaded.ok());
    ASSERT_EQ(loaded->unfinished_jobs.size(), 1U) << version;
    EXPECT_EQ(loaded->unfinished_jobs.front().name, "mnist");
    EXPECT_EQ(loaded->unfinished_jobs.front().telemetry_json, "");
    EXPECT_TRUE(loaded->profiles.empty());
    EXPECT_EQ(loaded->finished_totals, (std::vector<TotalRow>{{"failed", 1}})) << version;
    EXPECT_EQ((*read()->job(6))->state, "failed");
  }
}

TEST_F(StoreTest, a_database_can_be_read_without_being_changed) {
  Batch batch;
  batch.jobs = {full_row(7)};
  batch.servers = {{"kept", "a", "{}", 1}, {"removed", "b", "", 1}};
  batch.keys = {{"k", "h", 7, 1}};
  ASSERT_TRUE(open()->commit(batch).ok());
  const auto past = load_past(dir_, 10);
  ASSERT_TRUE(past.ok()) << past.error().message;
  EXPECT_EQ(past->unfinished_jobs, batch.jobs);
  ASSERT_EQ(past->servers.size(), 1U);
  EXPECT_EQ(past->servers.front().name, "kept");
  soci::session sql(soci::sqlite3, connection_to(dir_ + "/schedulearn.db"));
  int servers = 0, keys = 0;
  sql << "SELECT count(*) FROM servers", soci::into(servers);
  sql << "SELECT count(*) FROM keys_of_jobs", soci::into(keys);
  EXPECT_EQ(servers, 2);
  EXPECT_EQ(keys, 1);
  sql << "UPDATE schema_version SET version = 1000";
  EXPECT_EQ(load_past(dir_, 10).error().code, "newer-schema");
}

TEST_F(StoreTest, what_an_older_version_was_running_has_a_placement_with_the_number_0) {
  {
    soci::session sql(soci::sqlite3, connection_to(dir_ + "/schedulearn.db"));
    write_version(sql, 5);
    sql << "UPDATE jobs SET attempt = 2, state = 'running', server = 's', gpus = '0,1' WHERE id = 7";
  }
  const auto loaded = open()->load(0, 10);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->placements, (std::vector<PlacementRow>{{7, 2, 0, "", "s", 0, "0,1", "", {}}}));
}

TEST_F(StoreTest, each_database_has_a_cluster_id_of_its_own) {
  const auto id = [&] {
    std::filesystem::remove_all(dir_);
    const auto loaded = open()->load(0, 10);
    EXPECT_EQ(loaded->settings.size(), 1U);
    return loaded->settings.front().value;
  };
  const std::string first = id();
  EXPECT_EQ(first.size(), 16U);
  EXPECT_NE(first, id());
}

TEST_F(StoreTest, a_later_row_of_a_job_replaces_the_earlier_one) {
  auto store = open();
  JobRow row = full_row(1);
  ASSERT_TRUE(store->commit({.jobs = {row}}).ok());
  row.state = "succeeded";
  row.finished_us = 6'000'000'000;
  ASSERT_TRUE(store->commit({.jobs = {full_row(1), row}}).ok());
  const auto loaded = store->load(0, 10);
  EXPECT_TRUE(loaded->unfinished_jobs.empty());
  EXPECT_EQ(*read()->finished_jobs({}), std::vector{row});
}

JobRow ended(std::int64_t id, const std::string& state, const std::string& user = "u") {
  JobRow row = full_row(id);
  row.state = state, row.user = user, row.name = "n" + std::to_string(id), row.finished_us = 1'000 * id;
  return row;
}
std::vector<std::int64_t> ids(const Result<std::vector<JobRow>>& rows) {
  std::vector<std::int64_t> ids;
  for (const JobRow& row : *rows) ids.push_back(row.id);
  return ids;
}

TEST_F(StoreTest, finished_jobs_are_counted_by_state_however_often_they_are_written) {
  auto store = open();
  ASSERT_TRUE(store->commit({.jobs = {full_row(1), full_row(2), ended(3, "failed")}}).ok());
  ASSERT_TRUE(store->commit({.jobs = {ended(1, "succeeded"), ended(1, "succeeded"), ended(2, "failed")}}).ok());
  ASSERT_TRUE(store->commit({.jobs = {ended(2, "failed")}, .removals = {{5, "age", {{3, "failed"}}}}}).ok());
  EXPECT_EQ(store->load(0, 10)->finished_totals, (std::vector<TotalRow>{{"failed", 1}, {"succeeded", 1}}));
}

TEST_F(StoreTest, groups_that_ended_are_counted_apart) {
  auto store = open();
  JobRow group = ended(4, "failed");
  group.extra_json = R"({"failed":1})";
  ASSERT_TRUE(store->commit({.jobs = {group, ended(5, "failed"), ended(6, "succeeded")}}).ok());
  EXPECT_EQ(store->load(0, 10)->finished_totals, (std::vector<TotalRow>{{"failed", 2, 1}, {"succeeded", 1, 0}}));
  const auto oldest = *read()->oldest_finished(INT64_MAX, 2);
  EXPECT_TRUE(oldest[0].is_group);
  EXPECT_FALSE(oldest[1].is_group);
}

TEST_F(StoreTest, a_group_stands_for_its_members_where_these_are_not_wanted) {
  auto store = open();
  JobRow alone = ended(6, "failed"), group = ended(7, "failed");
  alone.group_id = group.group_id = 0;
  ASSERT_TRUE(store->commit({.jobs = {alone, group, ended(8, "failed"), ended(9, "failed")}}).ok());
  const auto reader = read();
  EXPECT_EQ(ids(reader->finished_jobs({.grouped = true})), (Ids{7, 6}));
  EXPECT_EQ(ids(reader->finished_jobs({.word = "n", .grouped = true})), (Ids{7, 6}));
  EXPECT_EQ(*reader->count_finished({.grouped = true}), 2);
  EXPECT_EQ(ids(reader->finished_jobs({.group = 7})), (Ids{9, 8}));
}

TEST_F(StoreTest, finished_jobs_are_listed_newest_first_by_state_user_and_part_of_the_name) {
  auto store = open();
  ASSERT_TRUE(store
                  ->commit({.jobs = {ended(1, "failed", "mei"), ended(2, "succeeded", "o'neil"), full_row(3),
                                     ended(4, "cancelled", "mei"), ended(15, "failed", "mei")}})
                  .ok());
  const auto reader = read();
  EXPECT_EQ(ids(reader->finished_jobs({})), (Ids{15, 4, 2, 1})) << "one that runs is not of the past";
  EXPECT_EQ(ids(reader->finished_jobs({.before = 4, .limit = 1})), Ids{2});
  EXPECT_EQ(ids(reader->finished_jobs({.states = {"failed"}})), (Ids{15, 1}));
  EXPECT_EQ(ids(reader->finished_jobs({.states = {"failed", "cancelled"}})), (Ids{15, 4, 1}));
  EXPECT_EQ(ids(reader->finished_jobs({.user = "o'neil"})), Ids{2});
  EXPECT_EQ(ids(reader->finished_jobs({.states = {"failed"}, .user = "mei", .word = "1"})), (Ids{15, 1}));
  EXPECT_EQ(ids(reader->finished_jobs({.word = std::string("5\0", 2)})), Ids{15});
  EXPECT_EQ(*reader->count_finished({.limit = 1}), 4);
  EXPECT_EQ(*reader->count_finished({.user = "mei"}), 3);
  EXPECT_EQ(*reader->count_finished({.states = {"failed"}, .user = "mei", .word = "5"}), 1);
}

TEST_F(StoreTest, events_are_read_from_any_point_or_the_latest) {
  auto store = open();
  ASSERT_TRUE(store
                  ->commit({.events = {{.seq = 1, .kind = "a", .job_id = 7},
                                       {.seq = 2, .kind = "b"},
                                       {.seq = 3, .kind = "c", .job_id = 7}}})
                  .ok());
  EXPECT_EQ(seqs({.limit = 2}), (Ids{2, 3}));
  EXPECT_EQ(seqs({.after = 0, .limit = 2}), (Ids{1, 2}));
  EXPECT_EQ(seqs({.job = 7, .after = 1}), Ids{3});
  EXPECT_EQ(seqs({.job = 7}), (Ids{1, 3}));
}

TEST_F(StoreTest, placements_of_jobs_on_several_servers_are_read_at_once) {
  const auto part = [](std::int64_t job, std::int64_t incarnation, const char* server, int rank) {
    PlacementRow row;
    row.job_id = job, row.incarnation = incarnation, row.server = server, row.rank = rank;
    return row;
  };
  const std::vector<PlacementRow> of_3 = {part(3, 10, "b", 0), part(3, 20, "b", 0), part(3, 20, "a", 1)};
  std::vector<PlacementRow> all = of_3;
  for (const std::int64_t job : {1, 5}) all.push_back(part(job, 1, "a", 0)), all.push_back(part(job, 1, "b", 1));
  all.push_back(part(2, 1, "a", 0)), all.push_back(part(4, 1, "a", 0));
  ASSERT_TRUE(open()->commit({.placements = all}).ok());
  EXPECT_EQ(*read()->spread_placements(2, 4), of_3);
  EXPECT_EQ(read()->spread_placements(1, 5)->size(), 7u);
}

TEST_F(StoreTest, events_are_read_by_what_they_are_about) {
  auto store = open();
  ASSERT_TRUE(store
                  ->commit({.events = {{.seq = 1, .kind = "job.state", .job_id = 7},
                                       {.seq = 2, .kind = "gpu.unavailable"},
                                       {.seq = 3, .kind = "job"},
                                       {.seq = 4, .kind = "jobs.state"},
                                       {.seq = 5, .kind = "job.edited", .job_id = 8}}})
                  .ok());
  EXPECT_EQ(seqs({.about = "job"}), (Ids{1, 3, 5}));
  EXPECT_EQ(seqs({.limit = 1, .about = "job"}), Ids{5});
  EXPECT_EQ(seqs({.about = "gpu"}), Ids{2});
  ASSERT_TRUE(store->commit({.events = {{.seq = 6, .kind = "job.progress", .job_id = 7}}}).ok());
  EXPECT_EQ(seqs({.job = 7}), (Ids{1, 6}));
  EXPECT_EQ(seqs({.job = 7, .progress = false}), Ids{1});
  EXPECT_EQ(seqs({.about = "server"}), Ids{});
  ASSERT_TRUE(
      store
          ->commit({.events = {{.seq = 7, .kind = "job.state", .job_id = 7, .to = "running"},
                               {.seq = 8, .kind = "job.state", .job_id = 9, .to = "stopping", .text = "preempted"}}})
          .ok());
  EXPECT_EQ(seqs({.after = 1, .notable = true}), (Ids{2, 3, 4, 5, 8}));
  EXPECT_EQ(seqs({.limit = 1, .about = "gpu", .notable = true}), Ids{2});
  EXPECT_EQ(seqs({.job = 7, .notable = true}), Ids{1});
}

TEST_F(StoreTest, a_moment_of_the_past_has_the_jobs_and_servers_as_they_were) {
  Batch batch;
  const auto job = [&](std::int64_t id, std::int64_t submitted_us, std::optional<std::int64_t> finished_us) {
    JobRow& row = batch.jobs.emplace_back();
    row.id = id, row.submitted_us = submitted_us, row.finished_us = finished_us, row.state = "running";
  };
  const auto event = [&](std::int64_t at_us, std::optional<std::int64_t> id, const char* kind, const char* to) {
    EventRow& row = batch.events.emplace_back();
    row.seq = static_cast<std::int64_t>(batch.events.size());
    row.at_us = at_us, row.job_id = id, row.kind = kind, row.to = to, row.server = "s";
  };
  job(1, 100, 400), job(2, 150, std::nullopt), job(3, 100, 199), job(4, 201, std::nullopt);
  event(90, std::nullopt, "server.state", "up"), event(100, 1, "job.submitted", ""),
      event(110, 1, "job.state", "starting");
  event(150, 2, "job.submitted", "held"), event(160, 2, "job.edited", ""), event(180, 1, "job.state", "running");
  event(199, std::nullopt, "server.state", "down"), event(201, 2, "job.state", "pending");
  event(300, 1, "job.state", "suspended"), event(301, std::nullopt, "server.state", "up");
  ASSERT_TRUE(open()->commit(batch).ok());
  const Moment moment = *read()->moment(200);
  ASSERT_EQ(moment.jobs.size(), 2u) << "3 had ended, and 4 was yet to come";
  EXPECT_EQ(moment.jobs[0].state + " " + moment.jobs[1].state, "running held");
  EXPECT_EQ(moment.jobs[0].state_since_us, 180);
  EXPECT_EQ(moment.jobs[1].state_since_us, 150);
  EXPECT_EQ(moment.servers, (std::map<std::string, std::string>{{"s", "down"}}));
  EXPECT_EQ(read()->moment(105)->jobs[0].state, "pending");
}

TEST_F(StoreTest, what_was_removed_is_gone_with_its_events_and_it_is_known_when_and_why) {
  auto store = open();
  ASSERT_TRUE(store
                  ->commit({.jobs = {ended(1, "failed"), ended(2, "failed"), full_row(3), ended(4, "failed")},
                            .events = {{.seq = 1, .kind = "a", .job_id = 1},
                                       {.seq = 2, .at_us = 5, .kind = "b"},
                                       {.seq = 3, .at_us = 9, .kind = "c"}}})
                  .ok());
  EXPECT_TRUE(*read()->has_events_of_no_job(6));
  ASSERT_TRUE(store->commit({.removals = {{77, "age", {{4, "failed"}, {2, "failed"}, {1, "failed"}}, 6}}}).ok());
  const auto reader = read();
  EXPECT_FALSE(reader->job(1)->has_value());
  EXPECT_TRUE(reader->job(3)->has_value());
  EXPECT_EQ(reader->events({})->size(), 1u);
  EXPECT_FALSE(*reader->has_events_of_no_job(6));
  for (const std::int64_t id : {1, 2, 4}) {
    ASSERT_TRUE(reader->removed(id)->has_value()) << id;
    EXPECT_EQ((*reader->removed(id))->at_us, 77);
    EXPECT_EQ((*reader->removed(id))->rule, "age");
  }
  EXPECT_FALSE(reader->removed(3)->has_value());
  EXPECT_FALSE(reader->removed(5)->has_value());
  EXPECT_EQ(store->load(0, 10)->next_job_id, 5) << "ids are not used again";
}

TEST_F(StoreTest, it_is_known_which_jobs_have_ended_and_when) {
  ASSERT_TRUE(open()->commit({.jobs = {ended(1, "failed"), full_row(3)}}).ok());
  using Ends = std::map<std::int64_t, std::optional<std::int64_t>>;
  EXPECT_EQ(*read()->ends({3, 2, 1}), (Ends{{1, 1'000}, {3, std::nullopt}}));
  EXPECT_EQ(*read()->ends({}), Ends());
}

TEST_F(StoreTest, those_that_ended_first_are_the_first_to_go) {
  auto store = open();
  JobRow late = ended(1, "failed");
  late.finished_us = 9'999;
  ASSERT_TRUE(store->commit({.jobs = {late, ended(2, "failed"), ended(3, "cancelled"), full_row(4)}}).ok());
  const auto oldest = read()->oldest_finished(INT64_MAX, 2);
  ASSERT_EQ(oldest->size(), 2u);
  EXPECT_EQ((*oldest)[0].id, 2);
  EXPECT_EQ((*oldest)[1].state, "cancelled");
  EXPECT_EQ(read()->oldest_finished(3'000, 9)->size(), 1u);
}

TEST_F(StoreTest, members_stay_as_long_as_their_group) {
  auto store = open();
  JobRow group = full_row(7), member = ended(8, "succeeded"), alone = ended(9, "succeeded");
  group.group_id = alone.group_id = 0;
  ASSERT_TRUE(store->commit({.jobs = {group, member, alone}}).ok());
  const auto removable = [&] {
    Ids found;
    const auto oldest = read()->oldest_finished(INT64_MAX, 9);
    for (const FinishedJob& job : *oldest) found.push_back(job.id);
    return found;
  };
  EXPECT_EQ(removable(), (Ids{9}));
  group = ended(7, "succeeded");
  group.group_id = 0;
  ASSERT_TRUE(store->commit({.jobs = {group}}).ok());
  EXPECT_EQ(removable().size(), 3U);
}

TEST_F(StoreTest, room_that_was_freed_is_not_counted_as_used) {
  auto store = open();
  Batch batch;
  for (std::int64_t id = 1; id <= 2'000; ++id) batch.jobs.push_back(ended(id, "failed"));
  ASSERT_TRUE(store->commit(batch).ok());
  const std::int64_t before = *read()->bytes_used();
  Removal removal{1, "size", {}};
  for (std::int64_t id = 1; id <= 1'900; ++id) removal.jobs.push_back({id, "failed"});
  ASSERT_TRUE(store->commit({.removals = {removal}}).ok());
  EXPECT_LT(*read()->bytes_used(), before / 2);
}

TEST_F(StoreTest, a_reader_sees_each_commit_of_the_store_beside_it) {
  auto store = open();
  const auto reader = read();
  for (std::int64_t id = 1; id <= 50; ++id) {
    ASSERT_TRUE(store->commit({.jobs = {ended(id, "failed")}}).ok());
    ASSERT_EQ(reader->finished_jobs({.limit = 100})->size(), static_cast<std::size_t>(id));
  }
}

TEST_F(StoreTest, a_batch_is_written_whole_or_not_at_all) {
  auto store = open();
  ASSERT_TRUE(store->commit({.events = {{.seq = 1, .kind = "a"}}}).ok());
  EXPECT_FALSE(store->commit({.jobs = {full_row(1)}, .events = {{.seq = 1, .kind = "twice"}}}).ok());
  EXPECT_FALSE(read()->job(1)->has_value());
  EXPECT_TRUE(store->commit({.jobs = {full_row(1)}}).ok());
}

TEST_F(StoreTest, what_was_committed_survives_a_kill) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = open_sqlite(dir_);
    for (std::int64_t id = 1;; ++id) {
      if (!(*store)->commit({.jobs = {full_row(2 * id), full_row(2 * id + 1)}}).ok()) ::_exit(1);
      if (::write(pipe_ends[1], &id, sizeof id) != sizeof id) ::_exit(1);
    }
  }
  std::int64_t reported = 0;
  while (reported < 50 && ::read(pipe_ends[0], &reported, sizeof reported) == sizeof reported) {
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe_ends[1]);
  for (std::int64_t id = 0; ::read(pipe_ends[0], &id, sizeof id) == sizeof id;) reported = id;
  ::close(pipe_ends[0]);
  const auto loaded = open()->load(0, 10);
  EXPECT_GE(loaded->unfinished_jobs.size(), static_cast<std::size_t>(2 * reported));
  EXPECT_EQ(loaded->unfinished_jobs.size() % 2, 0u);  // no partial batch
}

TEST_F(StoreTest, refuses_what_it_cannot_use_and_says_why) {
  auto first = open();
  EXPECT_EQ(open_sqlite(dir_).error().code, "data-directory-in-use");
  EXPECT_EQ(open_sqlite("/proc/no/such").error().code, "data-directory-not-writable");
  std::ofstream(dir_ + "/file") << "x";
  EXPECT_EQ(open_sqlite(dir_ + "/file").error().code, "data-directory-not-writable");
}

TEST_F(StoreTest, a_full_disk_refuses_the_batch_and_the_next_one_fits_when_there_is_room) {
  const std::string mount = dir_ + "/small";
  std::filesystem::create_directory(mount);
  if (std::system(("mount -t tmpfs -o size=1m tmpfs " + mount + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "cannot mount a small disk here";
  {
    auto store = open_sqlite(mount);
    ASSERT_TRUE(store.ok());
    std::ofstream filler(mount + "/filler", std::ios::binary);
    filler << std::string(2 << 20, 'x') << std::flush;
    Status status;
    JobRow row = full_row(1);
    row.spec_json = std::string(200'000, ' ');
    for (int i = 0; i < 20 && status.ok(); ++i) row.id = i + 1, status = (*store)->commit({.jobs = {row}});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, "disk-full") << status.error().message;
    filler.close();
    std::filesystem::remove(mount + "/filler");
    EXPECT_TRUE((*store)->commit({.jobs = {full_row(99)}}).ok());
  }
  EXPECT_EQ(std::system(("umount " + mount).c_str()), 0);
}

TEST_F(StoreTest, the_writer_commits_in_order_and_finishes_what_is_queued) {
  auto store = open();
  std::vector<std::int64_t> done;
  {
    Writer writer(*store);
    for (std::int64_t id = 1; id <= 100; ++id)
      writer.submit({.jobs = {full_row(id)}}, [&done, id](const Status& s) { done.push_back(s.ok() ? id : -1); });
  }
  ASSERT_EQ(done.size(), 100u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(store->load(0, 10)->unfinished_jobs.size(), 100u);
}

DeliveryRow delivery(const std::string& id, std::int64_t next_us = 0) {
  constexpr std::int64_t big = 5'000'000'000;
  DeliveryRow row{.id = id, .made_us = big, .next_us = next_us, .tried_us = big + 2, .tries = 3, .status = 500};
  row.job_id = 7, row.owner = "root", row.channel = "lab", row.receiver = "#r", row.user = "mei";
  row.event = "failed", row.state = "waiting", row.why = "it's 500", row.body = "{}";
  return row;
}

TEST_F(StoreTest, channels_and_deliveries_are_kept) {
  auto store = open();
  Batch batch;
  batch.channels = {{"mei", "team", "{\"kind\":\"slack\"}"}, {"mei", "old", "{}"}};
  batch.deliveries = {delivery("a", 6'000'000'000), delivery("b")};
  batch.settings = {{"notified_event", "12"}};
  ASSERT_TRUE(store->commit(batch).ok());
  Batch later;
  later.channels = {{"mei", "old", ""}};
  later.deliveries = {delivery("a", 7'000'000'000)};
  later.deliveries[0].tries = 4;
  ASSERT_TRUE(store->commit(later).ok());
  auto reader = read();
  EXPECT_EQ(*reader->channels(), (std::vector<ChannelRow>{{"mei", "team", "{\"kind\":\"slack\"}"}}));
  EXPECT_EQ(*reader->setting("notified_event"), "12");
  EXPECT_EQ(*reader->setting("nothing"), "");
  DeliveryRow expected = later.deliveries[0];
  expected.number = 1;
  EXPECT_EQ(*reader->open_deliveries(), std::vector<DeliveryRow>{expected});
}

TEST_F(StoreTest, people_and_what_they_are_told_are_kept_until_they_are_removed) {
  const std::int64_t big = 6'000'000'000;
  People all;
  all.users = {{big, "bella", "viewer", "root"}, {big, "mei", "admin", "root"}};
  all.tokens = {{big, big + 1, big + 2, "id-1", "hash", "mei", "laptop", "user", "mei"},
                {big, 0, 0, "id-2", "h", "mei", "old", "", "root"}};
  all.announcements = {{big, big + 3, "a", "down on Friday", "root"}, {big + 1, 0, "b", "new GPUs", "root"}};
  {
    auto store = open();
    Batch batch;
    batch.people = all;
    ASSERT_TRUE(store->commit(batch).ok());
    EXPECT_EQ(*read()->people(), all);
    Batch later;
    later.people = {{all.users[0]}, {all.tokens[1]}, {all.announcements[0]}};
    later.people.users[0].role = later.people.tokens[0].hash = later.people.announcements[0].text = "";
    ASSERT_TRUE(store->commit(later).ok());
  }
  auto store = open();
  ASSERT_TRUE(store->load(0, 10).ok());
  EXPECT_EQ(*read()->people(), (People{{all.users[1]}, {all.tokens[0]}, {all.announcements[1]}}));
}

TEST_F(StoreTest, deliveries_are_shown_to_those_whom_they_concern) {
  auto store = open();
  Batch batch;
  batch.deliveries = {delivery("a"), delivery("b"), delivery("c")};
  batch.deliveries[1].owner = "bella", batch.deliveries[1].user = "bella", batch.deliveries[1].channel = "own";
  ASSERT_TRUE(store->commit(batch).ok());
  auto reader = read();
  const auto ids = [&](const DeliveryQuery& query) {
    std::string text;
    const auto rows = reader->deliveries(query);
    for (const DeliveryRow& row : *rows) text += row.id;
    return text;
  };
  EXPECT_EQ(ids({}), "cba");
  EXPECT_EQ(ids({.reader = "mei"}), "ca");
  EXPECT_EQ(ids({.reader = "root"}), "ca");
  EXPECT_EQ(ids({.reader = "bella"}), "b");
  EXPECT_EQ(ids({.reader = "ada' OR 1=1 --"}), "");
  EXPECT_EQ(ids({.channel = "lab", .before = 3}), "a");
  EXPECT_EQ(ids({.limit = 2}), "cb");
}

TEST_F(StoreTest, of_the_deliveries_that_are_over_the_latest_are_kept) {
  auto store = open();
  Batch batch;
  batch.deliveries = {delivery("open", 1), delivery("first"), delivery("second")};
  for (std::int64_t i = 0; i < deliveries_max - 1; ++i) batch.deliveries.push_back(delivery("x" + std::to_string(i)));
  ASSERT_TRUE(store->commit(batch).ok());
  auto reader = read();
  const auto rows = reader->deliveries({.limit = 20'000});
  EXPECT_EQ(rows->size(), static_cast<std::size_t>(deliveries_max) + 1);
  EXPECT_EQ(rows->back().id, "open");
  EXPECT_EQ((*rows)[rows->size() - 2].id, "second");
}

}  // namespace
}  // namespace sl::store
