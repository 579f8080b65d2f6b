// What people read of simulations, and what is refused because the table would mislead them.
#include <gtest/gtest.h>

#include "cli/simulate_test.h"

namespace sl::cli {
namespace {

using Words = std::vector<std::string>;

// The first words of the table's rows.
Words names_in(const std::string& table) {
  Words names;
  std::istringstream lines(table.substr(table.find("\n  policy")));
  std::string line, first;
  while (std::getline(lines, line)) {
    if (std::istringstream(line) >> first) names.push_back(first);
  }
  return names;
}

std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part), begin = text.rfind('\n', at) + 1;
  return at == std::string::npos ? "" : text.substr(begin, text.find('\n', at) - begin);
}

TEST_F(Experiments, are_listed_best_first_by_the_first_metric_with_the_rows_of_a_policy_together) {
  SimulationOptions o = options();
  o.policies = {"fifo", "tiresias", "srtf"};
  o.parameters = {"tiresias.thresholds_gpu_s=100/100000"};
  o.metrics = "avg_jct";
  const Words by_time = names_in(compared(o));
  EXPECT_EQ(by_time, (Words{"policy", "min", "srtf", "tiresias", "tiresias", "fifo", "lower"}));
  o.policies = {"fifo", "srtf"};
  o.parameters = {};
  o.metrics = "gpu_allocation_pct,avg_jct_s";
  const std::string table = compared(o);
  const auto share = [&](const char* policy) { return std::stod(line_with(table, policy).substr(6)); };
  EXPECT_GE(share(names_in(table)[2].c_str()), share(names_in(table)[3].c_str())) << "more of it is better";
}

TEST_F(Experiments, that_switch_policies_say_so_in_the_row_and_in_the_results) {
  SimulationOptions o = options();
  o.switches = {"2m=srtf"};
  EXPECT_NE(compared(o).find("\n  fifo, srtf after 2m 00s "), std::string::npos);
  o.json = true;
  const auto document = boost::json::parse(compared(o));
  EXPECT_EQ(document.at("switches").at(0).at("policy"), "srtf");
  EXPECT_EQ(document.at("switches").at(0).at("after_s"), 120);
}

TEST_F(Experiments, say_that_a_switch_comes_too_late) {
  SimulationOptions o = options();
  const std::string too_late = "comes after the end of all jobs";
  o.switches = {"2m=srtf"};
  EXPECT_EQ(compared(o).find(too_late), std::string::npos);
  o.switches = {"2m=srtf", "2000d=fifo"};
  EXPECT_NE(compared(o).find("  the switch to fifo after 2000d 0h " + too_late), std::string::npos) << compared(o);
}

TEST_F(Experiments, are_printed_in_units_people_read) {
  std::ofstream(folder_ / "long.csv") << "job_id,submit_time_s,gpus,duration_s\na,0,8,500000\nb,0,8,500000\n";
  SimulationOptions o = options();
  o.trace = (folder_ / "long.csv").string();
  o.metrics = "makespan_s,avg_wait_s,gpu_s_lost,decisions";
  const std::string table = compared(o);
  EXPECT_NE(table.find("2 jobs on 2 servers of 4 GPUs, all submitted at once\n"), std::string::npos) << table;
  EXPECT_NE(line_with(table, "policy").find("makespan  avg_wait  gpu_s_lost"), std::string::npos) << table;
  EXPECT_NE(line_with(table, "  fifo").find("11.57"), std::string::npos) << "days: " << table;
  EXPECT_NE(line_with(table, "  fifo").find("69.44"), std::string::npos) << "hours: " << table;
  o.plain = true;
  EXPECT_NE(compared(o).find("\t1000000\t"), std::string::npos) << "programs read seconds";
}

// One job of 1,000 days, and 5,000 of a second behind it: 1,000 days on average, and 0.2 at best.
TEST_F(Experiments, show_a_bound_that_is_far_below_the_figures) {
  std::ofstream trace(folder_ / "late.csv");
  trace << "job_id,submit_time_s,gpus,duration_s\nlong,0,1,86400000\n";
  for (int i = 0; i < 5000; ++i) trace << i << ",1,1,1\n";
  trace.close();
  SimulationOptions o = options();
  o.trace = (folder_ / "late.csv").string();
  o.servers = "1x1";
  o.metrics = "avg_jct_s";
  const std::string table = compared(o);
  EXPECT_NE(line_with(table, "lower bound").find(" 0.2"), std::string::npos) << table;
}

TEST_F(Experiments, wider_than_the_terminal_continue_below) {
  SimulationOptions o = options();
  for (const std::size_t columns : {60U, 80U}) {
    o.columns = columns;
    o.policies = {"fifo", "srtf", "edf"};
    std::istringstream lines(compared(o));
    std::string line;
    int heads = 0;
    while (std::getline(lines, line)) {
      EXPECT_LE(line.size(), columns) << line;
      heads += line.starts_with("  policy");
    }
    EXPECT_GT(heads, 1);
  }
  o.columns = 200;
  EXPECT_EQ(compared(o).find("  policy", compared(o).find("  policy") + 1), std::string::npos);
}

TEST_F(Experiments, fold_many_notes) {
  SimulationOptions o = options();
  o.policies = {"all"};
  o.blind = true;
  const std::string folded = compared(o);
  EXPECT_NE(line_with(folded, "--notes").find(" notes on what policies assume"), std::string::npos) << folded;
  EXPECT_EQ(folded.find("neither estimate"), std::string::npos);
  o.notes = true;
  const std::string unfolded = compared(o);
  EXPECT_NE(unfolded.find("neither estimate"), std::string::npos);
  EXPECT_EQ(unfolded.find("--notes"), std::string::npos);
}

TEST_F(Experiments, say_how_much_work_arrives_and_warn_above_what_the_cluster_can_do) {
  SimulationOptions o = options();
  o.trace = "poisson:jobs=3000,load=0.5,durations=constant,weight_2=0,weight_4=0,weight_8=0";
  o.servers = "1x4";
  const std::string light = compared(o);
  EXPECT_TRUE(light.starts_with("3,000 jobs on 1 server of 4 GPUs, load 0.5")) << light;
  EXPECT_EQ(light.find("warning"), std::string::npos);
  o.trace += ",cluster_gpus=16";
  const std::string heavy = compared(o);
  EXPECT_NE(heavy.find("  warning: load above 1: more work arrives than 4 GPUs can do"), std::string::npos) << heavy;
}

TEST_F(Experiments, as_a_published_simulator_refuse_what_that_does_not_know) {
  std::ofstream(folder_ / "s.csv") << "job_id,submit_time_s,gpus,duration_s\na,0,5,1000\nb,0,5,1000\n";
  SimulationOptions o = options();
  o.trace = (folder_ / "s.csv").string();
  o.servers = "2x8";
  o.policies = {"fifo"};
  o.semantics = "tiresias";
  o.metrics = "fragmentation_pct,decisions,goodput_pct";
  const std::string table = compared(o);
  EXPECT_NE(line_with(table, "fifo").find("-"), std::string::npos) << table;
  EXPECT_EQ(table.find(" 0"), std::string::npos) << table;
  SimulationOptions changed = o;
  changed.blind = true;
  EXPECT_EQ(code(changed), "bad-flag");
  changed = o, changed.restart_cost_s = 0;
  EXPECT_EQ(code(changed), "bad-flag");
  changed = o, changed.policies = {"tiresias"}, changed.parameters = {"thresholds_gpu_s=10"};
  EXPECT_EQ(code(changed), "bad-flag");
  std::ofstream(folder_ / "c.toml") << "[[servers]]\ncount = 2\ngpus = 8\n[costs]\nstop = \"10s\"\n";
  changed = o, changed.servers = (folder_ / "c.toml").string();
  EXPECT_EQ(code(changed), "semantics-shape");
  std::ofstream(folder_ / "d.csv") << "job_id,submit_time_s,gpus,duration_s,cpus\na,0,5,1000,500\n";
  changed = o, changed.trace = (folder_ / "d.csv").string();
  EXPECT_EQ(code(changed), "semantics-trace");
}

TEST_F(Experiments, name_the_file_of_costs_that_is_wrong) {
  std::ofstream(folder_ / "costs.json") << "{}";
  SimulationOptions o = options();
  o.costs = (folder_ / "costs.json").string();
  const Error error = refusal(o);
  EXPECT_EQ(error.code, "bad-costs");
  EXPECT_NE(error.notes.at(0).find("costs.json"), std::string::npos);
}

TEST_F(Experiments, overwrite_nothing_that_they_read_or_write) {
  SimulationOptions o = options();
  const std::string trace = content(o.trace);
  o.jobs_out = (folder_ / "." / "t.csv").string();
  EXPECT_EQ(code(o), "bad-flag");
  EXPECT_EQ(content(o.trace), trace);
  o.jobs_out = o.events_out = (folder_ / "both.csv").string();
  EXPECT_EQ(code(o), "bad-flag");
}

TEST_F(Experiments, refuse_what_would_be_ignored_or_overflow) {
  SimulationOptions o = options();
  o.policies = {"fifo"};
  SimulationOptions changed = o;
  changed.folder = (folder_ / "out").string(), changed.jobs_out = (folder_ / "j.csv").string();
  EXPECT_EQ(code(changed), "bad-flag");
  changed = o, changed.restart_cost_s = 1e14;
  EXPECT_EQ(code(changed), "bad-flag");
  changed = o, changed.loads = "0.0000000001";
  EXPECT_EQ(code(changed), "bad-flag");
  std::ofstream trace(folder_ / "long.csv");
  trace << "job_id,submit_time_s,gpus,duration_s\n";
  for (int i = 0; i < 100; ++i) trace << i << ",0,1,99999999999\n";
  trace.close();
  changed = o, changed.trace = (folder_ / "long.csv").string();
  EXPECT_EQ(code(changed), "trace-too-long");
}

// Faster on two GPUs than twice, and as fast on the type it was measured on whatever the server's own speed.
TEST_F(Experiments, with_measured_speeds_never_beat_the_lower_bound) {
  struct {
    const char *servers, *rows;
  } const cases[] = {
      {"[[servers]]\ngpus = 2\n", "a,0,1,300,1,2,gavel-lm\n"},
      {"[[servers]]\ncount = 2\ngpus = 2\nspeed = 0.5\ngpu_type = \"V100\"\n", "a,0,4,425,,,gavel-transformer\n"}};
  for (const auto& [servers, rows] : cases) {
    std::ofstream(folder_ / "g.csv") << "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,profile\n" << rows;
    std::ofstream(folder_ / "g.toml") << servers;
    SimulationOptions o = options();
    o.trace = (folder_ / "g.csv").string();
    o.servers = (folder_ / "g.toml").string();
    o.policies = {"elastic_fifo"};
    o.json = true;
    const boost::json::value row = boost::json::parse(compared(o)).at("results").at(0);
    const auto bound_s = row.at("avg_jct_bound_s").to_number<double>();
    EXPECT_GE(row.at("avg_jct_s").to_number<double>(), bound_s - 1e-3) << rows;
    EXPECT_GT(bound_s, 100);
  }
}

// The world's speeds are rounded, up as well as down.
TEST_F(Experiments, with_speeds_by_number_of_gpus_never_beat_the_lower_bound) {
  SimulationOptions o = options();
  o.trace = "coach";
  o.servers = "4x4";
  o.policies = {"elastic_fifo"};
  o.seeds = "1..10";
  o.json = true;
  const boost::json::value document = boost::json::parse(compared(o));
  for (const auto& row : document.at("results").as_array()) {
    for (const std::string metric : {"avg_jct", "makespan"}) {
      const auto bound_s = row.at(metric + "_bound_s").to_number<double>();
      EXPECT_GE(row.at(metric + "_s").to_number<double>(), bound_s - 1e-9) << row.at("seed");
    }
  }
}

TEST_F(Experiments, show_names_of_the_trace_without_obeying_them) {
  std::ofstream(folder_ / "names.csv") << "job_id,submit_time_s,gpus,duration_s,cpus\n"
                                       << "\"a\x1b[31m\nerror: fake\",0,1,10,500\nb,0,1,10,1\n";
  std::ofstream(folder_ / "c.toml") << "[[servers]]\ngpus = 1\ncpus = 4\n";
  SimulationOptions o = options();
  o.trace = (folder_ / "names.csv").string();
  o.servers = (folder_ / "c.toml").string();
  const std::string table = compared(o);
  EXPECT_NE(table.find("the first is a^[[31m^Jerror: fake"), std::string::npos) << table;
}

TEST_F(Experiments, with_unfinished_jobs_have_no_bound_beside_them) {
  std::ofstream(folder_ / "two.csv") << "job_id,submit_time_s,gpus,duration_s,cpus\na,0,1,10,1\nb,0,1,100000,1\n";
  std::ofstream(folder_ / "c.toml")
      << "[[servers]]\ngpus = 1\n[[events]]\nat = \"20s\"\nserver = \"gpu0\"\nevent = \"lost\"\n";
  SimulationOptions o = options();
  o.trace = (folder_ / "two.csv").string();
  o.servers = (folder_ / "c.toml").string();
  o.policies = {"sjf"};
  const std::string table = compared(o);
  EXPECT_NE(table.find("sjf: 1 job never ran to its end; the first is b: it waits for a lost server, gpu0"),
            std::string::npos)
      << table;
  EXPECT_EQ(table.find("\n  lower bound"), std::string::npos) << table;
  EXPECT_NE(table.find("no lower bound is shown"), std::string::npos) << table;
  o.json = true;
  EXPECT_TRUE(boost::json::parse(compared(o)).at("results").at(0).at("avg_jct_bound_s").is_null());
}

}  // namespace
}  // namespace sl::cli
