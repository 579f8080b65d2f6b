// schedulearn-bench-live [--runs N] [--quick] [--json FILE] [--only PART]: what the control plane costs on this
// machine, compared with `xargs -P2` on the same commands in the same run. Starts the schedulearn next to it. Figures
// are medians of the runs; nothing here fails for being slow.
#include <sys/wait.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "daemons.h"
#include "hollow.h"
#include "load.h"
#include "migration.h"
#include "past.h"
#include "verbs.h"

namespace sl::bench {
namespace {

struct Settings {
  std::string program;
  int runs = 3;
  bool quick = false;  // small numbers, to see that it works
  std::string json;
  std::string only;
};

struct Figure {
  const char* key;
  const char* what;
  const char* unit;
  const char* goal;
};

constexpr Figure figures[] = {
    {"cold_start_ms", "start of the controller to first accepted job", "ms", "≤ 100"},
    {"controller_idle_mib", "controller, idle", "MiB", "≤ 15"},
    {"agent_idle_mib", "agent, idle", "MiB", "≤ 15"},
    {"launcher_idle_mib", "launcher, idle", "MiB", "–"},
    {"start_p50_ms", "submit → started on an idle server, p50", "ms", "≤ 5"},
    {"start_p99_ms", "submit → started on an idle server, p99", "ms", "–"},
    {"true_per_s", "2,000 × true end to end", "jobs/s", "–"},
    {"xargs_per_s", "the same with xargs -P2", "jobs/s", "–"},
    {"true_ratio", "ratio of the two", "×", "≥ 0.6"},
    {"accept_per_s", "accepted durably, 32 clients", "jobs/s", "≥ 10,000"},
    {"accept_p50_ms", "accepted durably, one client, p50", "ms", "< 1"},
    {"accept_few_keys_per_s", "… with few idempotency keys of the last day", "jobs/s", "–"},
    {"accept_many_keys_per_s", "… with 1,000,000 of them", "jobs/s", "–"},
    {"accept_keys_ratio", "… ratio of the two", "×", "≥ 0.9"},
    {"controller_10k_mib", "controller with 10,000 queued", "MiB", "≤ 30"},
    {"ls_10k_ms", "list of 10,000 jobs", "ms", "< 100"},
    {"streams_500_mib", "500 idle event streams cost", "MiB", "< 20"},
    {"migrate_mib_per_s", "checkpoint of 1 GiB to another server, from one attempt to the next", "MiB/s", "–"},
    {"cat_mib_per_s", "the same bytes with cat | socket | cat and fsync", "MiB/s", "–"},
    {"migrate_ratio", "ratio of the two", "×", "≥ 0.6"},
    {"suspend_p50_ms", "suspend a running job: request → suspended, p50", "ms", "≤ 20"},
    {"resume_p50_ms", "resume it: request → running, p50", "ms", "≤ 20"},
    {"sigstop_p50_ms", "SIGSTOP to a process, p50", "ms", "–"},
    {"resize_p50_ms", "resize: request → next attempt, without the training's own stop, p50", "ms", "≤ 100"},
    {"gang_1_p50_ms", "submit → running on 1 server, p50", "ms", "–"},
    {"gang_8_p50_ms", "submit → all parts run on 8 servers, p50", "ms", "–"},
    {"gang_ratio", "ratio of the two", "×", "≤ 3"},
    {"restart_ms", "restart with 10,000 queued, 1,000 running", "ms", "≤ 1,000"},
    {"agents_join_s", "1,000 agents join", "s", "–"},
    {"load_ping_ms", "slowest heartbeat, 1,000 agents × 8 GPUs, 100,000 queued", "ms", "–"},
    {"load_decision_max_ms", "slowest decision there", "ms", "< 100"},
    {"load_decision_p50_ms", "median decision there", "ms", "–"},
    {"load_controller_mib", "controller there", "MiB", "< 500"},
    {"load_ls_ms", "list of 10,000 jobs there", "ms", "–"},
    {"load_legacy_ms", "GET /jobs (original API) there, all of them", "ms", "–"},
    {"load_cluster_ms", "GET /cluster there", "ms", "–"},
    {"load_listing_ping_ms", "slowest heartbeat during these three", "ms", "–"},
};

// Measured with few finished jobs ("few_…") and with a million ("many_…"): nothing should get worse.
struct PastFigure {
  const char* key;
  const char* what;
  const char* unit;
};
constexpr PastFigure past_figures[] = {
    {"start_ms", "start of the controller to first accepted job", "ms"},
    {"idle_mib", "controller, idle", "MiB"},
    {"accept_p50_ms", "accepted durably, one client, p50", "ms"},
    {"accept_per_s", "accepted durably, 32 clients", "jobs/s"},
    {"ls_ms", "the newest 30 jobs (ls)", "ms"},
    {"ls_failed_ms", "the newest 30 that failed", "ms"},
    {"ls_user_ms", "the newest 30 of one user", "ms"},
    {"ls_word_ms", "30 whose names contain a word few have", "ms"},
    {"show_ms", "job 1 (show 1)", "ms"},
    {"events_ms", "the events of job 1", "ms"},
    {"logs_ms", "the output of job 1 (logs 1)", "ms"},
    {"after_mib", "controller after all this", "MiB"},
};

using Measured = std::map<std::string, std::vector<double>>;

std::string body(const char* command, const char* more = "") {
  return std::string("{\"command\":") + command + ",\"workdir\":\"/\",\"gpus\":1" + more + "}";
}
const char* const true_command = "[\"true\"]";

boost::json::object cluster(Connection& connection) {
  return boost::json::parse(connection.get("/api/v1/cluster")).as_object();
}
double jobs_in(Connection& connection, const char* state) {
  return cluster(connection)["jobs"].at(state).to_number<double>();
}

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void measure_start(const Settings& settings, Measured& measured) {
  Lab lab(settings.program);
  const double begin = now_s();
  lab.start_controller();
  Connection connection(lab.port);
  connection.call("POST", "/api/v1/jobs", body(true_command, ",\"hold\":true"));
  measured["cold_start_ms"].push_back((now_s() - begin) * 1e3);
  lab.start_agent(64);
  lab.wait_for_agent();
  pause(0.5);
  measured["controller_idle_mib"].push_back(lab.daemons[0].resident_mib());
  measured["agent_idle_mib"].push_back(lab.daemons[1].resident_mib());
  measured["launcher_idle_mib"].push_back(resident_mib(launcher_of(lab)));
}

// Time from the client's sending until the job's process began, by the process's own clock.
void measure_latency(const Settings& settings, Measured& measured) {
  Lab lab(settings.program);
  lab.start_controller();
  lab.start_agent(64);
  lab.wait_for_agent();
  Connection connection(lab.port);
  std::vector<double> delays;
  for (int i = 0; i < (settings.quick ? 10 : 200); ++i) {
    const double sent = wall_now_s();
    const auto job = boost::json::parse(connection.call("POST", "/api/v1/jobs", body(true_command))).as_object();
    const std::string path = "/api/v1/jobs/" + std::to_string(job.at("id").to_number<std::int64_t>());
    for (std::string answer; (answer = connection.get(path)).find("\"started_at\":null") != std::string::npos;)
      pause(0.0005);
    delays.push_back((wall_now_s() - sent) * 1e3);
    pause(0.01);
  }
  measured["start_p50_ms"].push_back(median(delays));
  measured["start_p99_ms"].push_back(quantile(delays, 0.99));
}

void measure_true(const Settings& settings, Measured& measured) {
  const std::size_t count = settings.quick ? 100 : 2'000;
  {
    Lab lab(settings.program);
    lab.start_controller();
    lab.start_agent(64);
    lab.wait_for_agent();
    Connection connection(lab.port);
    const double begin = now_s();
    post_jobs(lab.port, 8, count, [](std::size_t) { return body(true_command); });
    while (jobs_in(connection, "succeeded") < static_cast<double>(count)) pause(0.01);
    measured["true_per_s"].push_back(static_cast<double>(count) / (now_s() - begin));
  }
  const double begin = now_s();
  const std::string line = "seq " + std::to_string(count) + " | xargs -P2 -n1 true";
  if (std::system(line.c_str()) != 0) throw std::runtime_error("xargs failed");
  measured["xargs_per_s"].push_back(static_cast<double>(count) / (now_s() - begin));
  measured["true_ratio"].push_back(measured["true_per_s"].back() / measured["xargs_per_s"].back());
}

void measure_queue(const Settings& settings, Measured& measured) {
  const std::size_t count = settings.quick ? 500 : 10'000;
  Lab lab(settings.program);
  lab.start_controller();
  std::vector<double> alone = post_jobs(lab.port, 1, count / 20, [](std::size_t) { return body(true_command); });
  measured["accept_p50_ms"].push_back(median(alone) * 1e3);
  const double begin = now_s();
  post_jobs(lab.port, 32, count - count / 20, [](std::size_t) { return body(true_command); });
  measured["accept_per_s"].push_back(static_cast<double>(count - count / 20) / (now_s() - begin));
  pause(0.5);
  measured["controller_10k_mib"].push_back(lab.daemons[0].resident_mib());
  Connection connection(lab.port);
  const double list = now_s();
  const std::string jobs = connection.get("/api/v1/jobs?limit=100000");
  measured["ls_10k_ms"].push_back((now_s() - list) * 1e3);
  if (count_of(jobs, "\"created_at\"") != count) throw std::runtime_error("the list is incomplete");
  const double before = lab.daemons[0].resident_mib();
  std::vector<std::unique_ptr<Connection>> streams;
  for (int i = 0; i < 500; ++i) {
    streams.push_back(std::make_unique<Connection>(lab.port));
    streams.back()->send("GET", "/api/v1/jobs/1/logs/stream", {});
  }
  pause(1);
  measured["streams_500_mib"].push_back(lab.daemons[0].resident_mib() - before);
}

void measure_restart(const Settings& settings, Measured& measured) {
  const std::size_t queued = settings.quick ? 500 : 10'000;
  const std::size_t running = settings.quick ? 80 : 1'000;
  Lab lab(settings.program);
  lab.start_controller();
  {
    HollowAgents agents(lab.port, static_cast<int>(running / 8), 8, 0);
    wait_until(30, [&] { return agents.connected() >= static_cast<int>(running / 8); });
    post_jobs(lab.port, 32, queued + running, [](std::size_t) { return body(true_command); });
    wait_until(60, [&] { return agents.started() >= running; });
  }
  pause(0.5);
  lab.daemons[0].kill();
  const double begin = now_s();
  lab.start_controller();
  Connection connection(lab.port, 60);
  connection.get("/api/v1/cluster");
  measured["restart_ms"].push_back((now_s() - begin) * 1e3);
  if (jobs_in(connection, "pending") + jobs_in(connection, "running") < static_cast<double>(queued + running))
    throw std::runtime_error("jobs were lost in the restart");
}

// Milliseconds, median of a few: the first one may have to read from the disk.
double time_of(Connection& connection, const std::string& path) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const double begin = now_s();
    connection.get(path);
    if (connection.status() != 200) throw std::runtime_error(path + " was refused");
    times.push_back((now_s() - begin) * 1e3);
  }
  return median(times);
}

void measure_load(const Settings& settings, Measured& measured) {
  const int count = settings.quick ? 20 : 1'000;
  const std::size_t queued = settings.quick ? 1'000 : 100'000;
  Lab lab(settings.program);
  lab.start_controller();
  const double begin = now_s();
  HollowAgents agents(lab.port, count, 8, 5);
  wait_until(60, [&] { return agents.connected() >= count; });
  measured["agents_join_s"].push_back(now_s() - begin);
  pause(1);
  agents.slowest_ping_s();
  post_jobs(lab.port, 32, queued + static_cast<std::size_t>(count) * 8, [](std::size_t) { return body(true_command); });
  pause(settings.quick ? 1 : 10);  // jobs end and start all the time
  measured["load_ping_ms"].push_back(agents.slowest_ping_s() * 1e3);
  measured["load_controller_mib"].push_back(lab.daemons[0].resident_mib());
  Connection connection(lab.port);  // not earlier: one that asks nothing for ten seconds is closed
  const auto state = cluster(connection);
  measured["load_decision_max_ms"].push_back(state.at("decisions").at("max_ms").to_number<double>());
  measured["load_decision_p50_ms"].push_back(state.at("decisions").at("p50_ms").to_number<double>());
  agents.slowest_ping_s();
  measured["load_ls_ms"].push_back(time_of(connection, "/api/v1/jobs?limit=10000"));
  measured["load_legacy_ms"].push_back(time_of(connection, "/jobs"));
  measured["load_cluster_ms"].push_back(time_of(connection, "/api/v1/cluster"));
  measured["load_listing_ping_ms"].push_back(agents.slowest_ping_s() * 1e3);
}

// `prefix`: of the figures' keys
void measure_past(Lab& lab, Measured& measured, const std::string& prefix, std::size_t submissions) {
  const auto held = [](std::size_t) { return body(true_command, ",\"hold\":true,\"name\":\"new\""); };
  const auto note = [&](const char* key, double value) { measured[prefix + key].push_back(value); };
  lab.daemons[0].kill();
  const double begin = now_s();
  lab.start_controller();
  Connection connection(lab.port, 60);
  connection.call("POST", "/api/v1/jobs", held(0));
  note("start_ms", (now_s() - begin) * 1e3);
  lab.wait_for_agent();
  pause(1);
  note("idle_mib", lab.daemons[0].resident_mib());
  note("accept_p50_ms", median(post_jobs(lab.port, 1, submissions / 10, held)) * 1e3);
  const double posts = now_s();
  post_jobs(lab.port, 32, submissions, held);
  note("accept_per_s", static_cast<double>(submissions) / (now_s() - posts));
  note("ls_ms", time_of(connection, "/api/v1/jobs?limit=30"));
  note("ls_failed_ms", time_of(connection, "/api/v1/jobs?limit=30&state=failed"));
  note("ls_user_ms", time_of(connection, "/api/v1/jobs?limit=30&user=mei"));
  note("ls_word_ms", time_of(connection, "/api/v1/jobs?limit=30&q=first"));
  note("show_ms", time_of(connection, "/api/v1/jobs/1"));
  note("events_ms", time_of(connection, "/api/v1/jobs/1/events"));
  note("logs_ms", time_of(connection, "/api/v1/jobs/1/logs"));
  note("after_mib", lab.daemons[0].resident_mib());
}

void measure_history(const Settings& settings, Measured& measured) {
  const std::size_t submissions = settings.quick ? 200 : 5'000;
  Lab lab(settings.program);
  lab.start_controller();
  lab.start_agent(4);
  lab.wait_for_agent();
  {
    Connection connection(lab.port);
    connection.call("POST", "/api/v1/jobs", body("[\"echo\",\"here\"]", ",\"name\":\"first\""));
    wait_until(30, [&] { return jobs_in(connection, "succeeded") == 1; });
  }
  measure_past(lab, measured, "few_", submissions);
  lab.daemons[0].kill();
  write_past(lab.folder + "/controller", settings.quick ? 3'000 : 1'000'000);
  measure_past(lab, measured, "many_", submissions);
}

double accepted_per_s(const Lab& lab, std::size_t count) {
  const double begin = now_s();
  post_jobs(lab.port, 32, count, [](std::size_t) { return body(true_command, ",\"hold\":true"); });
  return static_cast<double>(count) / (now_s() - begin);
}

void measure_keys(const Settings& settings, Measured& measured) {
  const std::size_t count = settings.quick ? 500 : 20'000;
  double few = 0, many = 0;
  Lab lab(settings.program);
  lab.start_controller();
  Connection(lab.port).call("POST", "/api/v1/jobs", body(true_command, ",\"hold\":true"));
  few = accepted_per_s(lab, count);
  lab.daemons[0].kill();
  write_keys(lab.folder + "/controller", settings.quick ? 3'000 : 1'000'000);
  lab.start_controller();
  Connection(lab.port, 60);
  many = accepted_per_s(lab, count);
  measured["accept_few_keys_per_s"].push_back(few);
  measured["accept_many_keys_per_s"].push_back(many);
  measured["accept_keys_ratio"].push_back(many / few);
}

// The agents read what the job has just written, and so does cat: from memory, unless there is too little of it.
void measure_migration(const Settings& settings, Measured& measured) {
  const int mib = settings.quick ? 64 : 1'024;
  Lab lab(settings.program);
  lab.start_controller();
  lab.start_agent(1);
  lab.wait_for_agent(1);
  const Migration migration = migrate(lab, mib);
  const double cat_s = copy_with_cat(migration.file, lab.folder + "/copy");
  measured["migrate_mib_per_s"].push_back(mib / migration.seconds);
  measured["cat_mib_per_s"].push_back(mib / cat_s);
  measured["migrate_ratio"].push_back(cat_s / migration.seconds);
}

double p50_ms(const std::vector<double>& seconds) { return median(seconds) * 1e3; }

void measure_interventions(const Settings& settings, Measured& measured) {
  Lab lab(settings.program);
  lab.start_controller();
  lab.start_agent(2);
  lab.wait_for_agent();
  const Verbs verbs = measure_verbs(lab, settings.quick ? 3 : 50);
  measured["suspend_p50_ms"].push_back(p50_ms(verbs.suspend_s));
  measured["resume_p50_ms"].push_back(p50_ms(verbs.resume_s));
  measured["sigstop_p50_ms"].push_back(p50_ms(verbs.raw_s));
  measured["resize_p50_ms"].push_back(p50_ms(verbs.resize_s));
}

void measure_gangs(const Settings& settings, Measured& measured) {
  constexpr int servers = 8;
  Lab lab(settings.program);
  lab.start_controller();
  for (int i = 0; i < servers; ++i) lab.start_agent(1, "server" + std::to_string(i));
  lab.wait_for_agent(servers);
  const int times = settings.quick ? 2 : 25;
  const double one = p50_ms(start_gangs(lab, 1, times)), all = p50_ms(start_gangs(lab, servers, times));
  measured["gang_1_p50_ms"].push_back(one);
  measured["gang_8_p50_ms"].push_back(all);
  measured["gang_ratio"].push_back(all / one);
}

struct Part {
  const char* name;
  void (*measure)(const Settings&, Measured&);
  bool once;
};
constexpr Part parts[] = {
    {"start", measure_start, false},       {"latency", measure_latency, false},     {"true", measure_true, false},
    {"queue", measure_queue, false},       {"keys", measure_keys, false},           {"restart", measure_restart, false},
    {"migrate", measure_migration, false}, {"verbs", measure_interventions, false}, {"gangs", measure_gangs, false},
    {"load", measure_load, true},          {"history", measure_history, true}};

void print(const Measured& measured) {
  std::printf("%-58s %12s  %-7s %s\n", "", "measured", "", "goal");
  for (const Figure& figure : figures) {
    const auto at = measured.find(figure.key);
    if (at != measured.end())
      std::printf("%-58s %12.2f  %-7s %s\n", figure.what, median(at->second), figure.unit, figure.goal);
  }
  if (measured.count("many_start_ms") == 0) return;
  std::printf("\n%-58s %12s %12s\n", "finished jobs in the database", "few", "1,000,000");
  for (const PastFigure& figure : past_figures) {
    const auto of = [&](const std::string& prefix) { return median(measured.at(prefix + figure.key)); };
    std::printf("%-58s %12.2f %12.2f  %s\n", figure.what, of("few_"), of("many_"), figure.unit);
  }
}

void write_json(const Measured& measured, const std::string& path) {
  boost::json::object all;
  for (const auto& [key, values] : measured)
    all[key] = boost::json::object{{"median", median(values)}, {"runs", boost::json::value_from(values)}};
  std::ofstream(path) << boost::json::serialize(all) << "\n";
}

int run(const Settings& settings) {
  Measured measured;
  for (const Part& part : parts) {
    if (!settings.only.empty() && settings.only != part.name) continue;
    for (int i = 0; i < (part.once ? 1 : settings.runs); ++i) part.measure(settings, measured);
    std::fprintf(stderr, "%s done\n", part.name);
  }
  print(measured);
  if (!settings.json.empty()) write_json(measured, settings.json);
  return 0;
}

}  // namespace
}  // namespace sl::bench

int main(int argc, char** argv) {
  sl::bench::Settings settings;
  settings.program = std::filesystem::canonical("/proc/self/exe").parent_path() / "schedulearn";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--quick") {
      settings.quick = true, settings.runs = 1;
    } else if (word == "--runs") {
      settings.runs = std::max(1, std::atoi(value)), ++i;
    } else if (word == "--json") {
      settings.json = value, ++i;
    } else if (word == "--only") {
      settings.only = value, ++i;
    } else {
      std::fprintf(stderr,
                   "usage: schedulearn-bench-live [--runs N] [--quick] [--json FILE] [--only "
                   "start|latency|true|queue|keys|restart|migrate|verbs|gangs|load|history]\n");
      return 2;
    }
  }
  int status = 1;
  try {
    status = sl::bench::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "schedulearn-bench-live: %s\n", error.what());
  }
  sl::bench::remove_old_folders();
  return status;
}
