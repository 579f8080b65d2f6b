// The claim of each experiment, and what people see of all of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/reproduce.h"
#include "reproduce/epoch_ring.h"
#include "reproduce/interference.h"
#include "reproduce/output.h"
#include "reproduce/registry.h"

namespace sl::reproduce {
namespace {

namespace fs = std::filesystem;

// A separate folder for each test.
class Reproduce : public testing::Test {
 protected:
  Reproduce() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / ("reproduce-" + name + "-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Reproduce() override {
    fs::current_path(folder_.parent_path());
    fs::remove_all(folder_);
  }

  Findings run(const std::string& name, int seeds = 0) {
    const Experiment& experiment = **find_experiment(name);
    auto findings = experiment.run({seeds > 0 ? seeds : experiment.seeds, "", folder_.string()});
    SL_CHECK(findings.ok(), "every experiment of the list runs");
    return std::move(*findings);
  }
  // Claims that are expected to hold do hold, and those known not to hold do not.
  void expect_claims(const std::string& name, int seeds = 0) {
    const Experiment* experiment = *find_experiment(name);
    for (const ClaimText& claim : claims_of({experiment, run(name, seeds), seeds})) {
      const bool known_not_to = claim.verdict == Verdict::does_not_hold && !claim.why.empty();
      EXPECT_TRUE(claim.verdict != Verdict::does_not_hold || known_not_to) << claim.sentence;
      EXPECT_TRUE(claim.is_expected) << claim.sentence << " was known not to hold";
    }
  }
  cli::ReproduceOptions options(const std::string& what) const {
    cli::ReproduceOptions made;
    made.what = what;
    made.folder = folder_.string();
    made.quiet = true;
    return made;
  }
  std::string text_of_file(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path folder_;
};

// policies.md 7, ten seeds of another simulator: makespan 7189 and 5579 with a standard deviation of about 350.
TEST_F(Reproduce, tetris_and_fifo_lie_where_an_independent_simulator_and_the_report_put_them) {
  const Findings f = run("tetris-vs-fifo");
  EXPECT_NEAR(f.mean("tetris.makespan_s"), 5579, 3 * 350);
  EXPECT_NEAR(f.mean("fifo.makespan_s"), 7189, 3 * 350);
  EXPECT_NEAR(f.mean("first_fit.makespan_s"), 6142, 3 * 350);
  EXPECT_NEAR(f.mean("tetris.makespan_s"), 5519, 3 * f.deviation("tetris.makespan_s"));
  EXPECT_NEAR(f.mean("fifo.makespan_s"), 7083, 3 * f.deviation("fifo.makespan_s"));
  EXPECT_LT(f.of("makespan_change_pct").high, -15);
}

TEST_F(Reproduce, pods_one_by_one_deadlock_in_nine_of_ten_draws_and_gangs_never) {
  const Findings f = run("gang-vs-default", 2);
  EXPECT_NEAR(f.mean("default.deadlock"), 0.9, 0.03);
  EXPECT_EQ(f.mean("gang.deadlock"), 0);
}

TEST_F(Reproduce, the_claims_of_every_experiment_hold_or_are_known_not_to) {
  for (const Experiment& experiment : experiments()) {
    SCOPED_TRACE(experiment.name);
    expect_claims(experiment.name);
  }
}

TEST_F(Reproduce, two_fitted_numbers_predict_the_other_two_of_the_resnet_table) {
  const Findings f = run("schedulearn-resnet");
  EXPECT_NEAR(f.mean("fifo.makespan_s"), resnets_fifo_makespan_s, 0.01);
  EXPECT_NEAR(f.mean("fifo.turnaround_s"), 326.9, 0.05 * 326.9);
  EXPECT_NEAR(f.mean("round_robin.makespan_s"), 448.0, 0.05 * 448.0);
  EXPECT_NEAR(f.mean("round_robin.turnaround_s"), 209.9, 0.05 * 209.9);
}

// policies.md 8.2, computed by hand.
TEST(EpochRing, two_workers_three_jobs_end_at_20_30_30_with_three_fetches) {
  const RingOutcome outcome = run_epoch_ring({{2, 10}, {2, 10}, {2, 10}}, 2, 0);
  EXPECT_EQ(outcome.finished_s, (std::vector<double>{20, 30, 30}));
  EXPECT_EQ(outcome.fetches, 3);
}

TEST(EpochRing, a_fetch_takes_its_time_and_a_worker_without_work_waits) {
  const RingOutcome alone = run_epoch_ring({{3, 10}}, 2, 5);
  EXPECT_EQ(alone.finished_s, std::vector<double>{30});
  EXPECT_EQ(alone.fetches, 0);
  EXPECT_EQ(run_epoch_ring({{2, 10}, {2, 10}, {2, 10}}, 2, 1).finished_s.front(), 21);
}

// In a folder without the traces that can be named: reading one of them would fail.
TEST_F(Reproduce, every_measure_names_a_number_that_its_experiment_gives) {
  for (const char* name : {"philly.csv", "philly.csv.gz", "philly_2017.csv.gz"})
    std::ofstream(folder_ / name) << "no trace";
  fs::current_path(folder_);
  for (const Experiment& experiment : experiments()) {
    SCOPED_TRACE(experiment.name);
    const Findings findings = run(experiment.name, 2);
    for (const Measure& measure : experiment.measures) EXPECT_TRUE(findings.has(measure.key)) << measure.key;
    EXPECT_FALSE(findings.charts.empty());
    EXPECT_FALSE(experiment.claims.empty());
  }
}

TEST_F(Reproduce, an_unknown_experiment_is_answered_with_all_and_leaves_no_file) {
  std::ostringstream out, progress;
  const auto done = cli::run_reproduce(options("tetris"), out, progress);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, "unknown-experiment");
  for (const Experiment& experiment : experiments())
    EXPECT_NE(done.error().notes.front().find(experiment.name), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Reproduce, one_seed_has_no_interval_and_is_refused) {
  std::ostringstream out, progress;
  cli::ReproduceOptions one = options("tetris-vs-fifo");
  one.seeds = 1;
  EXPECT_EQ(cli::run_reproduce(one, out, progress).error().code, "bad-flag");
  one.seeds = 0;
  EXPECT_EQ(cli::run_reproduce(one, out, progress).error().code, "bad-flag");
  one.seeds = -3;
  EXPECT_EQ(cli::run_reproduce(one, out, progress).error().code, "bad-flag");
}

TEST_F(Reproduce, a_trace_that_nothing_would_use_is_refused) {
  std::ostringstream out, progress;
  cli::ReproduceOptions given = options("tetris-vs-fifo");
  given.trace = "t.csv";
  const auto done = cli::run_reproduce(given, out, progress);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, "bad-flag");
  EXPECT_NE(done.error().hints.back().find("philly"), std::string::npos);
}

TEST_F(Reproduce, a_trace_that_is_missing_says_how_to_get_the_real_one) {
  std::ostringstream out, progress;
  cli::ReproduceOptions missing = options("philly");
  missing.trace = (folder_ / "nowhere.csv").string();
  const auto done = cli::run_reproduce(missing, out, progress);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, "no-such-file");
  EXPECT_NE(done.error().hints.back().find("msr-fiddle/philly-traces"), std::string::npos);
}

TEST_F(Reproduce, the_same_command_gives_the_same_bytes) {
  std::ostringstream first, second, progress;
  ASSERT_TRUE(cli::run_reproduce(options("gandiva-ring"), first, progress).ok());
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), folder_)] = text_of_file(fs::relative(entry.path(), folder_));
  }
  ASSERT_GE(files.size(), 8u);
  ASSERT_TRUE(cli::run_reproduce(options("gandiva-ring"), second, progress).ok());
  EXPECT_EQ(first.str(), second.str());
  for (const auto& [name, text] : files) EXPECT_EQ(text_of_file(name), text) << name;
}

TEST_F(Reproduce, the_report_stands_alone_and_has_every_experiment) {
  std::ostringstream out, progress;
  cli::ReproduceOptions all = options("all");
  all.seeds = 2;
  ASSERT_TRUE(cli::run_reproduce(all, out, progress).ok());
  const std::string html = text_of_file("report.html");
  for (const Experiment& experiment : experiments())
    EXPECT_NE(html.find("<section id=\"" + experiment.name + "\">"), std::string::npos);
  for (const char* outside : {"src=", "http://", "https://", "@import", "<script"}) {
    std::string without_names = html;
    const std::string names = "http://www.w3.org/2000/svg";
    for (std::size_t at; (at = without_names.find(names)) != std::string::npos;) without_names.erase(at, names.size());
    EXPECT_EQ(without_names.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(html.find("id=\"title\""), std::string::npos);
}

TEST_F(Reproduce, json_has_the_published_number_beside_ours) {
  std::ostringstream out, progress;
  cli::ReproduceOptions as_json = options("schedulearn-resnet");
  as_json.json = true;
  ASSERT_TRUE(cli::run_reproduce(as_json, out, progress).ok());
  const auto document = boost::json::parse(out.str());
  const auto& measure = document.at("items").as_array().at(0).as_object().at("measures").as_array().at(0).as_object();
  EXPECT_EQ(measure.at("published").as_double(), 574.5);
  EXPECT_EQ(measure.at("basis").as_string(), "fitted");
}

bool yes(const Findings&) { return true; }
bool no(const Findings&) { return false; }

TEST(Claims, can_be_refuted_whatever_is_known_about_them_and_bounds_support_nothing) {
  Experiment e;
  e.claims = {{"plain", yes},
              {"known not to", no, "a defect"},
              {"known not to, yet it does", yes, "a defect"},
              {"one-sided", yes, "", nullptr, "ours is a bound"},
              {"one-sided, refuted", no, "", nullptr, "ours is a bound"},
              {"wide", yes, "", [](const Findings&) -> std::string { return "± 5 s"; }}};
  const std::vector<ClaimText> texts = claims_of({&e, Findings(), 1});
  std::vector<std::string> verdicts;
  for (const ClaimText& text : texts) verdicts.emplace_back(name_of(text.verdict));
  EXPECT_EQ(verdicts,
            (std::vector<std::string>{"holds", "does not hold", "holds", "not refuted", "does not hold", "holds"}));
  EXPECT_TRUE(texts[1].is_expected);
  EXPECT_FALSE(texts[2].is_expected);
  EXPECT_EQ(texts[5].sentence, "wide (± 5 s)");
}

TEST(Claims, within_standard_deviations_say_how_wide_that_is) {
  for (const Experiment& e : experiments()) {
    for (const Claim& claim : e.claims)
      EXPECT_TRUE(claim.sentence.find("standard deviation") == std::string::npos || claim.width) << claim.sentence;
  }
}

// The numbers behind an experiment that no document states.
TEST(Choices, are_listed) {
  const std::map<std::string, const char*> known = {{"schedulearn-resnet", "three GPUs per ResNet"},
                                                    {"lyapunov", "V = 20"},
                                                    {"gandiva-ring", "deadlines 1 to 12 times"},
                                                    {"philly", "1.2 times 256 GPUs"}};
  for (const auto& [name, what] : known) {
    const std::vector<Choice>& choices = (*find_experiment(name))->choices;
    EXPECT_TRUE(std::any_of(choices.begin(), choices.end(), [&](const Choice& c) {
      return c.what.find(what) != std::string::npos;
    })) << what;
  }
}

TEST_F(Reproduce, the_report_begins_with_the_findings_and_has_no_markup_of_other_formats) {
  const Experiment& experiment = **find_experiment("gandiva-ring");
  const std::string html = report({{&experiment, run("gandiva-ring", 2), 2}}, "schedulearn reproduce all");
  const std::size_t findings = html.find("<h2>Findings</h2>"), first = html.find("<section");
  ASSERT_NE(findings, std::string::npos);
  EXPECT_LT(findings, first);
  EXPECT_LT(html.find("Claims that do not hold"), html.find("<table"));
  EXPECT_EQ(html.find('`'), std::string::npos);
  EXPECT_NE(html.find("<code>gandiva</code>"), std::string::npos);
  EXPECT_NE(html.find("@media (max-width:640px)"), std::string::npos);
  EXPECT_NE(html.find("<svg class=\"narrow\""), std::string::npos) << "for phones";
}

TEST_F(Reproduce, charts_write_seconds_and_tell_published_figures_from_ours) {
  const Findings resnets = run("schedulearn-resnet");
  const plot::Panel& panel = resnets.charts.front().figure.panels.front();
  for (const plot::Bar& bar : panel.bars) {
    EXPECT_EQ(bar.tone == plot::Tone::outlined, bar.name.ends_with("published")) << bar.name;
    EXPECT_TRUE(bar.label.ends_with(" s")) << bar.label;
  }
  for (const Chart& chart : run("gang-vs-default", 2).charts) {
    if (chart.file != "settings") continue;
    for (const plot::Series& series : chart.figure.panels.front().series) EXPECT_FALSE(series.is_joined);
  }
}

}  // namespace
}  // namespace sl::reproduce
