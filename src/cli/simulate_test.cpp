#include "cli/simulate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/statistics.h"
#include "cli/simulate_test.h"
#include "plot/csv.h"
#include "study/choices.h"
#include "study/report.h"
#include "study/result_folder.h"

namespace sl::cli {
namespace {

TEST_F(Experiments, are_policies_times_parameters_times_counts_times_seeds) {
  SimulationOptions o = options();
  o.policies = {"fifo", "tiresias"};
  o.parameters = {"thresholds_gpu_s=100/1000"};
  o.seeds = "1..2";
  o.job_counts = "10,20";
  o.json = true;
  const auto document = boost::json::parse(compared(o)).as_object();
  EXPECT_EQ(document.at("results").as_array().size(), (1 + 2) * 2 * 2);
  EXPECT_EQ(document.at("results").at(0).at("jobs"), 10);
  EXPECT_EQ(document.at("results").at(4).at("parameters").at("thresholds_gpu_s"), "100");
}

TEST_F(Experiments, at_a_higher_load_jobs_wait_longer) {
  SimulationOptions o = options();
  o.policies = {"fifo"};
  o.loads = "0.3,0.9,2.5";
  o.json = true;
  const auto document = boost::json::parse(compared(o));
  const auto figure = [&](std::size_t i, const char* name) {
    return document.at("results").at(i).at(name).to_number<double>();
  };
  ASSERT_EQ(document.at("results").as_array().size(), 3U);
  EXPECT_EQ(figure(0, "load"), 0.3);
  EXPECT_LT(figure(0, "avg_wait_s"), figure(1, "avg_wait_s"));
  EXPECT_LT(figure(1, "avg_wait_s"), figure(2, "avg_wait_s"));
  o.json = false;
  EXPECT_NE(compared(o).find("fifo (load 0.3)"), std::string::npos);
  o.loads.clear();
  o.json = true;
  EXPECT_TRUE(boost::json::parse(compared(o)).at("results").at(0).at("load").is_null());
  for (const char* wrong : {"0", "-1", "0.5,x", "101", "nan"}) {
    o.loads = wrong;
    EXPECT_EQ(code(o), "bad-flag") << wrong;
  }
  std::ofstream(folder_ / "once.csv") << "job_id,submit_time_s,gpus,duration_s\na,0,1,10\nb,0,1,10\n";
  o.trace = (folder_ / "once.csv").string();
  o.loads = "0.5";
  EXPECT_EQ(code(o), "bad-flag") << "all at once: there is no load to set";
}

TEST_F(Experiments, are_told_apart_in_lines_for_programs_which_have_all_fields_of_the_document) {
  SimulationOptions o = options();
  o.loads = "0.3,2.5";
  o.json = true;
  const auto results = boost::json::parse(compared(o)).at("results").as_array();
  o.json = false, o.plain = true;
  std::istringstream lines(compared(o));
  std::string names, head, first, second;
  for (const auto& field : results[0].as_object()) names += (names.empty() ? "" : "\t") + std::string(field.key());
  std::getline(lines, head), std::getline(lines, first), std::getline(lines, second);
  EXPECT_EQ(head, names);
  EXPECT_TRUE(first.starts_with("fifo\t\t1\t0.3\t40\t")) << first;
  EXPECT_TRUE(second.starts_with("fifo\t\t1\t2.5\t40\t")) << second;
  EXPECT_EQ(std::ranges::count(first, '\t'), std::ranges::count(head, '\t'));
}

TEST_F(Experiments, names_with_commas_and_quotes_are_read_again_from_what_they_leave) {
  SimulationOptions o = options();
  std::ofstream(folder_ / "names.csv") << "job_id,submit_time_s,gpus,duration_s,user\n"
                                       << "\"a,b\",0,1,10,\"say \"\"hi\"\"\"\n";
  o.trace = (folder_ / "names.csv").string();
  o.policies = {"fifo"};
  o.jobs_out = (folder_ / "jobs.csv").string();
  compared(o);
  auto jobs = plot::CsvReader::open_file(o.jobs_out);
  ASSERT_TRUE(jobs.ok() && *jobs->next());
  EXPECT_EQ(jobs->field(*jobs->column("job_id")), "a,b");
  EXPECT_EQ(jobs->field(*jobs->column("user")), "say \"hi\"");
}

TEST_F(Experiments, leave_the_same_bytes_whoever_runs_first) {
  SimulationOptions o = options();
  o.policies = {"fifo", "srtf", "gandiva", "elastic_fifo"};
  o.elastic = "0.5..2";
  o.events = true;
  for (const char* name : {"a", "b"}) {
    o.folder = (folder_ / name).string();
    compared(o);
  }
  int files = 0;
  for (const auto& file : fs::directory_iterator(folder_ / "a")) {
    EXPECT_EQ(content(file.path()), content(folder_ / "b" / file.path().filename())) << file.path();
    ++files;
  }
  EXPECT_EQ(files, 1 + 4 * 2);
}

TEST_F(Experiments, write_what_happened_in_order) {
  std::ofstream(folder_ / "two.csv") << "job_id,submit_time_s,gpus,duration_s,user\na,0,6,10,ann\nb,0.5,2,10,bob\n";
  SimulationOptions o = options();
  o.trace = (folder_ / "two.csv").string();
  o.jobs_out = (folder_ / "jobs.csv").string();
  o.events_out = (folder_ / "events.csv").string();
  compared(o);
  EXPECT_EQ(content(o.jobs_out),
            "job_id,user,gpus,submit_s,start_s,finish_s,jct_s,wait_s,run_s,preemptions,resizes,migrations,failures\n"
            "a,ann,6,0,0,10,10,0,10,0,0,0,0\n"
            "b,bob,2,0.5,0.5,10.5,10,0,10,0,0,0,0\n");
  EXPECT_EQ(content(o.events_out),
            "at_s,event,job_id,gpus,where\n"
            "0,server,,4,gpu0\n0,server,,4,gpu1\n0,submit,a,6,\n0,start,a,6,gpu0:0-3+gpu1:0-1\n"
            "0.5,submit,b,2,\n0.5,start,b,2,gpu1:2-3\n10,finish,a,6,\n10.5,finish,b,2,\n");
}

// Two jobs take turns of a minute: three changes, each a stop of 2 s and, for the one that comes back, a start of 3 s.
TEST_F(Experiments, what_is_suspended_costs_a_stop_and_a_start_where_nothing_was_ever_frozen) {
  std::ofstream(folder_ / "two.csv") << "job_id,submit_time_s,gpus,duration_s\na,0,1,1000\nb,0,1,1000\n";
  std::ofstream(folder_ / "costs.json") << R"({"schedulearn_costs": 1, "families": [{"family": "other", "stops": 3,
      "stop_s": 2, "starts": 3, "start_s": 3, "repeated_s": 0, "freezes": 0, "freeze_s": 0, "thaws": 0, "thaw_s": 0}]})";
  SimulationOptions o = options();
  o.trace = (folder_ / "two.csv").string();
  o.servers = "1x1";
  o.policies = {"gandiva"};
  o.json = true;
  const auto makespan = [&] {
    return boost::json::parse(compared(o)).at("results").at(0).at("makespan_s").to_number<double>();
  };
  const double free_of_charge = makespan();
  o.costs = (folder_ / "costs.json").string();
  EXPECT_GE(makespan(), free_of_charge + 2 + 2 + 3);
}

TEST_F(Experiments, are_compared_over_the_seeds_for_which_both_have_a_figure) {
  SimulationOptions o = options();
  o.trace = "poisson:jobs=30";
  o.policies = {"fifo", "./picky.py"};
  o.read_policy = read_picky;
  o.seeds = "1..12";
  o.json = true;
  const auto results = boost::json::parse(compared(o)).at("results").as_array();
  std::vector<double> before, after;
  for (std::size_t seed = 0; seed < 12; ++seed) {
    const auto &first = results[seed].at("avg_jct_s"), &second = results[seed + 12].at("avg_jct_s");
    if (second.is_null()) continue;
    before.push_back(first.to_number<double>()), after.push_back(second.to_number<double>());
  }
  ASSERT_LT(before.size(), 12u) << "it serves all: nothing is tested";
  ASSERT_GT(before.size(), 1u);
  o.json = false;
  const std::string text = compared(o);
  EXPECT_NE(text.find(fmt::format("{} of 12 seeds have all jobs under both", before.size())), std::string::npos)
      << text;
  EXPECT_NE(text.find(fmt::format("{:+.1f} %", paired_change_pct(before, after).mean)), std::string::npos) << text;
}

TEST_F(Experiments, are_not_compared_over_seeds_in_which_one_of_them_left_jobs_out) {
  SimulationOptions o = options();
  o.trace = "poisson:jobs=30";
  o.policies = {"fifo", "./narrow.py"};
  o.read_policy = read_picky;
  o.seeds = "1..3";
  const std::string text = compared(o);
  EXPECT_NE(text.find("narrow.py  –    no seed has all jobs under both"), std::string::npos) << text;
}

TEST_F(Experiments, say_in_how_many_seeds_jobs_were_left_out_and_how_many) {
  SimulationOptions o = options();
  o.trace = "poisson:jobs=30";
  o.policies = {"./narrow.py"};
  o.read_policy = read_picky;
  o.seeds = "1..3";
  o.json = true;
  double least = INFINITY, most = 0;
  const auto results = boost::json::parse(compared(o)).at("results").as_array();
  for (const auto& row : results) {
    const double unfinished = row.at("unfinished").to_number<double>();
    least = std::min(least, unfinished), most = std::max(most, unfinished);
  }
  ASSERT_LT(least, most);
  o.json = false;
  const std::string text = compared(o);
  EXPECT_NE(text.find(fmt::format("narrow.py (3 of 3 seeds, the first is 1): {} to {} jobs never ran", least, most)),
            std::string::npos)
      << text;
}

TEST_F(Experiments, end_where_a_policy_asks_for_the_next_decision_again_and_again) {
  SimulationOptions o = options();
  o.policies = {"./hasty.py"};
  o.read_policy = read_picky;
  const std::string text = compared(o);
  EXPECT_NE(text.find("gets nothing done: 100000 times in a row it asked to be woken"), std::string::npos) << text;
}

TEST_F(Experiments, refuse_two_policies_of_one_name_and_more_jobs_than_there_are) {
  SimulationOptions o = options();
  o.policies = {"old/picky.py", "new/picky.py"};
  o.read_policy = read_picky;
  EXPECT_EQ(code(o), "bad-flag");
  o.policies = {"./picky.py", "fifo", "./picky.py"};  // the same one
  o.json = true;
  EXPECT_EQ(boost::json::parse(compared(o)).at("results").as_array().size(), 2u);
  o.policies = {"fifo"};
  o.job_counts = "20,41";
  EXPECT_EQ(code(o), "bad-flag");
  o.job_counts = "20,40,20";
  o.seeds = "1,1,2";
  EXPECT_EQ(boost::json::parse(compared(o)).at("results").as_array().size(), 4u);
}

TEST_F(Experiments, switch_policies_in_order_of_time) {
  SimulationOptions o = options();
  o.json = true;
  const auto results = [&](std::vector<std::string> switches) {
    o.switches = std::move(switches);
    return boost::json::serialize(boost::json::parse(compared(o)).at("results"));
  };
  EXPECT_EQ(results({"50s=sjf", "150s=fifo"}), results({"150s=fifo", "50s=sjf"}));
}

TEST_F(Experiments, leave_nothing_of_earlier_ones_in_their_folder) {
  SimulationOptions o = options();
  o.policies = {"fifo", "sjf"};
  o.folder = (folder_ / "out").string();
  compared(o);
  EXPECT_TRUE(fs::exists(folder_ / "out/sjf-2.jobs.csv"));
  std::ofstream(folder_ / "out/notes.txt") << "mine";
  SimulationOptions wrong = o;
  wrong.trace = "nothing.csv";
  EXPECT_NE(code(wrong), "");
  EXPECT_TRUE(fs::exists(folder_ / "out/run.json")) << "what cannot be simulated changes nothing";
  wrong = o;
  wrong.policies = {"fifo"};
  wrong.semantics = "lucid";
  EXPECT_EQ(code(wrong), "semantics-shape") << "servers of another number of GPUs";
  EXPECT_TRUE(fs::exists(folder_ / "out/sjf-2.jobs.csv")) << "nor what a published simulator cannot";
  o.policies = {"fifo"};
  o.seeds = "1..200";
  o.interrupted = [&] {
    EXPECT_FALSE(fs::exists(folder_ / "out/run.json")) << "that of a run that is over";
    return true;
  };
  std::ostringstream out;
  ASSERT_TRUE(compare(o, out).ok());
  EXPECT_FALSE(fs::exists(folder_ / "out/sjf-2.jobs.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "out/notes.txt"));
}

TEST_F(Experiments, do_not_write_to_a_folder_in_which_another_one_writes) {
  SimulationOptions o = options();
  o.folder = (folder_ / "out").string();
  compared(o);
  const std::string jobs = content(folder_ / "out/fifo-1.jobs.csv");
  {
    const auto other = study::ResultFolder::claim(o.folder);
    ASSERT_TRUE(other.ok());
    std::ofstream(folder_ / "out/fifo-1.jobs.csv") << jobs;
    EXPECT_EQ(code(o), "folder-in-use");
    EXPECT_EQ(content(folder_ / "out/fifo-1.jobs.csv"), jobs);
  }
  compared(o);
}

TEST_F(Experiments, keep_what_is_finished_when_interrupted) {
  SimulationOptions o = options();
  o.policies = {"all"};
  o.seeds = "1..200";
  o.json = true;
  o.folder = (folder_ / "out").string();
  o.events = true;
  o.interrupted = [] { return true; };
  std::ostringstream out;
  const auto done = compare(o, out);
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(*done);
  const auto document = boost::json::parse(out.str()).as_object();
  EXPECT_EQ(document.at("interrupted"), true);
  std::set<std::string> named = {"run.json"}, there;
  for (const auto& row : document.at("results").as_array()) {
    EXPECT_EQ(row.at("unfinished"), 0);
    for (const char* file : {"jobs_file", "events_file"}) named.emplace(row.at(file).as_string());
  }
  for (const auto& file : fs::directory_iterator(o.folder)) there.insert(file.path().filename());
  std::vector<std::string> unlike;
  std::ranges::set_symmetric_difference(there, named, std::back_inserter(unlike));
  EXPECT_EQ(unlike, std::vector<std::string>{}) << "half a file is none";
}

TEST_F(Experiments, keep_what_is_finished_when_a_policy_fails_and_say_which) {
  SimulationOptions o = options();
  o.policies = {"fifo", "./wrong.py"};
  o.read_policy = read_picky;
  o.seeds = "1..200";
  o.json = true;
  o.folder = (folder_ / "out").string();
  std::ostringstream out;
  const auto done = compare(o, out);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, "policy-failed");
  ASSERT_EQ(done.error().notes.size(), 1u);
  EXPECT_TRUE(done.error().notes[0].starts_with("in the simulation of wrong.py (seed ")) << done.error().notes[0];
  const boost::json::value shown = boost::json::parse(out.str());
  EXPECT_EQ(shown.at("results").at(0).at("policy"), "fifo");
  EXPECT_EQ(shown, boost::json::parse(content(folder_ / "out/run.json")));
}

TEST_F(Experiments, that_are_interrupted_are_named_with_their_number_of_jobs) {
  SimulationOptions o = options();
  o.policies = {"all"};
  o.seeds = "1..100";
  o.job_counts = "10,40";
  o.interrupted = [] { return true; };
  std::ostringstream out;
  ASSERT_TRUE(compare(o, out).ok());
  EXPECT_NE(out.str().find(" (40 jobs) (seed 100) was interrupted"), std::string::npos);
}

TEST_F(Experiments, report_the_end_of_their_progress) {
  SimulationOptions o = options();
  o.seeds = "1..3";
  o.report_progress = true;
  testing::internal::CaptureStderr();
  compared(o);
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(lines.ends_with("{\"part\":1.00,\"runs_done\":3,\"runs\":3}\n")) << lines;
  o.policies = {"all"}, o.seeds = "1..200";
  o.interrupted = [] { return true; };
  testing::internal::CaptureStderr();
  compared(o);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("\"part\":1.00"), std::string::npos);
}

TEST_F(Experiments, say_what_a_policy_assumes_where_the_trace_is_silent) {
  SimulationOptions o = options();
  o.policies = {"edf"};
  EXPECT_NE(compared(o).find("edf: 40 of 40 submitted jobs have no deadline: they go last"), std::string::npos);
  o.policies = {"sjf"};
  EXPECT_EQ(compared(o).find("sjf:"), std::string::npos);  // it knows the true durations
  o.blind = true;
  EXPECT_NE(compared(o).find("sjf: 40 of 40 submitted jobs have neither estimate"), std::string::npos);
}

TEST_F(Experiments, that_cannot_be_done_say_so_before_anything_runs) {
  SimulationOptions o = options();
  o.policies = {"fifo", "nosuch"};
  EXPECT_EQ(code(o), "unknown-policy");
  o = options();
  o.parameters = {"nosuch=1"};
  EXPECT_EQ(code(o), "unknown-parameter");
  o.policies = {"./picky.py"};
  o.read_policy = read_picky;
  EXPECT_TRUE(refusal(o).hints.empty()) << "policy show knows no policy of a user's own";
  o = options();
  o.parameters = {"=1"};
  EXPECT_EQ(code(o), "bad-parameter");
  o = options();
  for (const char* wrong : {"3..1", "0", "18446744073709551615", "1..100000"}) {
    o.seeds = wrong;
    EXPECT_EQ(code(o), "bad-flag") << wrong;
  }
  o = options();
  o.elastic = "2..3";
  EXPECT_EQ(code(o), "bad-flag");
  o = options();
  o.metrics = "avg_jtc";
  EXPECT_EQ(code(o), "unknown-metric");
  o = options();
  o.policies = {"fifo", "srtf"};
  o.jobs_out = "/tmp/x.csv";
  EXPECT_EQ(code(o), "bad-flag");
  o = options();
  o.events_out = "-";
  EXPECT_EQ(code(o), "bad-flag");
  o = options();
  o.restart_cost_s = 7, o.costs = (folder_ / "costs.json").string();
  EXPECT_EQ(code(o), "bad-flag") << "the file would win";
  o = options();
  o.switches = {"soon=srtf"};
  EXPECT_NE(code(o), "");
  o = options();
  o.jobs_out = "/no/such/folder/x.csv";
  EXPECT_EQ(code(o), "cannot-write");
}

}  // namespace
}  // namespace sl::cli
