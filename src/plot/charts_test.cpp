// What the charts show, on data small enough to count by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <boost/property_tree/xml_parser.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/random.h"
#include "cli/plot.h"
#include "plot/arrivals.h"
#include "plot/cdf.h"
#include "plot/comparison.h"
#include "plot/gantt.h"
#include "plot/gantt_colors.h"
#include "plot/history.h"
#include "plot/make_figure.h"
#include "plot/queue.h"
#include "plot/reduce.h"
#include "plot/render.h"
#include "plot/speedup.h"
#include "plot/text.h"
#include "plot/utilization.h"

namespace sl::plot {
namespace {

namespace fs = std::filesystem;
const std::string results = SCHEDULEARN_FIXTURES "/results/";

TEST(Cdf, rises_at_each_value_by_its_share) {
  const JobSample sample{"fifo", {1, 2, 2, 5}, 4};
  const std::vector<Point> steps = {{1, 0}, {1, 0}, {1, 25}, {2, 25}, {2, 75}, {5, 75}, {5, 100}};
  EXPECT_EQ(cumulative(sample), steps);
}

TEST(Cdf, of_jobs_that_did_not_all_finish_does_not_reach_one_hundred) {
  EXPECT_DOUBLE_EQ(cumulative({"fifo", {3, 4}, 4}).back().y, 50);
}

// Two GPUs; a on both from 0 to 10, b on the second from 10 to 15; the server is gone from 20 to 30; c from 30 to 40.
const char* small_history =
    "at_s,event,job_id,gpus,where\n0,server,,2,gpu0\n0,submit,a,2,\n0,start,a,2,gpu0:0-1\n5,submit,b,1,\n"
    "10,finish,a,2,\n10,start,b,1,gpu0:1\n15,suspend,b,1,\n20,server_lost,,2,gpu0\n30,server,,2,gpu0\n"
    "30,submit,c,1,\n30,start,c,1,gpu0:0\n40,finish,c,1,\n";

TEST(Histories, are_who_held_what_when) {
  const auto history = parse_history("events.csv", small_history);
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_EQ(history->gpus(), 2);
  EXPECT_EQ(history->jobs, 3U);
  EXPECT_EQ(history->end, 40);
  ASSERT_EQ(history->holdings.size(), 3U);
  EXPECT_EQ(history->holdings[1].job, "b");
  EXPECT_EQ(history->holdings[1].end, BoxEnd::interrupted);
  ASSERT_EQ(history->outages.size(), 1U);
  EXPECT_EQ(history->outages[0].from, 20);
  const auto busy = busy_times(*history);
  EXPECT_DOUBLE_EQ(allocated_share(busy, 0, 2, {0, 40}), (2 * 10 + 5 + 10) / 80.0);
  EXPECT_DOUBLE_EQ(allocated_share(busy, 0, 2, {5, 12}), (2 * 5 + 2) / 14.0);
}

TEST(Histories, count_the_jobs_that_wait) {
  const History history = *parse_history("events.csv", small_history);
  // b waits from 5 to 10 and again from 15 on; c starts when it comes.
  EXPECT_EQ(
      waiting_of(history, {0, 40}).points,
      (std::vector<Point>{{0, 0}, {5, 0}, {5, 1}, {10, 1}, {10, 0}, {15, 0}, {15, 1}, {30, 1}, {30, 1}, {40, 1}}));
  const auto figure = queue_figure({{"fifo", history}}, {});
  ASSERT_TRUE(figure.ok()) << figure.error().message;
  EXPECT_NE(figure->summary.find("fifo 0.75"), std::string::npos) << figure->summary;  // 30 of 40 s
}

TEST(Histories, have_jobs_without_gpus_that_run_and_hold_nothing) {
  const auto history =
      parse_history("events.csv",
                    "at_s,event,job_id,gpus,where\n0,server,,2,gpu0\n0,submit,a,0,\n10,start,a,0,\n20,submit,b,1,\n"
                    "20,start,b,1,gpu0:0\n30,finish,a,0,\n40,finish,b,1,\n");
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_EQ(history->jobs, 2U);
  ASSERT_EQ(history->holdings.size(), 1U);
  EXPECT_EQ(history->holdings[0].job, "b");
  EXPECT_EQ(waiting_of(*history, {0, 20}).points, (std::vector<Point>{{0, 1}, {10, 1}, {10, 0}, {20, 0}}));
}

TEST(Histories, say_the_line_of_what_they_cannot_read) {
  const auto line_of = [](const char* row) -> std::string {
    const auto history = parse_history("e.csv", std::string("at_s,event,job_id,gpus,where\n0,server,,2,gpu0\n") + row);
    return history.ok() ? "" : history.error().pointer;
  };
  for (const char* row : {"0,dance,a,1,\n", "x,submit,a,1,\n", "0,start,a,1,gpu9:0\n", "0,start,a,1,gpu0:7\n"})
    EXPECT_EQ(line_of(row), "line 3") << row;
}

TEST(Arrivals, are_steps_from_the_first_submission_on) {
  const auto figure = arrivals_figure({{"toy", {100, 100, 130}}});
  ASSERT_TRUE(figure.ok()) << figure.error().message;
  EXPECT_EQ(figure->panels[0].series[0].points, (std::vector<Point>{{0, 0}, {0, 1}, {0, 2}, {30, 2}, {30, 3}}));
  EXPECT_NE(figure->summary.find("3 jobs of toy within 30 s"), std::string::npos) << figure->summary;
  EXPECT_EQ(arrivals_figure({{"nothing", {}}}).error().code, "empty-data");
  EXPECT_EQ(arrivals_figure(std::vector<Arrivals>(17, {"toy", {1}})).error().code, "too-many-lines");
}

TEST(Speedups, are_drawn_beside_the_ideal) {
  const auto figure = speedup_figure({{"mnist", {{1, 1}, {2, 1.5}, {4, 2}}}, {"resnet", {{1, 1}, {2, 1.9}}}});
  ASSERT_TRUE(figure.ok()) << figure.error().message;
  const std::vector<Series>& lines = figure->panels[0].series;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].name, "ideal");
  EXPECT_EQ(lines[2].points, (std::vector<Point>{{1, 1}, {4, 4}}));
  EXPECT_EQ(figure->panels[0].x.values, (std::vector<double>{1, 2, 4}));
  EXPECT_NE(figure->summary.find("mnist is 2 times as fast on 4 GPUs"), std::string::npos) << figure->summary;
  EXPECT_EQ(speedup_figure({{"nothing", {}}}).error().code, "empty-data");
  EXPECT_EQ(speedup_figure(std::vector<SpeedupCurve>(16, {"mnist", {{1, 1}}})).error().code, "too-many-lines");
}

TEST(Utilization, of_a_step_line_is_its_integral) {
  const auto history = parse_history("events.csv", small_history);
  const auto points = allocated(busy_times(*history), 0, 2, 40);
  double gpu_seconds = 0;
  for (std::size_t i = 1; i < points.size(); ++i) gpu_seconds += points[i - 1].y * (points[i].x - points[i - 1].x);
  EXPECT_DOUBLE_EQ(gpu_seconds, 35);
}

TEST(Gantt, jobs_on_neighbouring_gpus_are_one_box) {
  const auto history = parse_history("events.csv", small_history);
  const auto boxes = gantt_boxes(*history, {0}, {0, 40});
  ASSERT_EQ(boxes.size(), 3U);
  EXPECT_EQ(boxes[0].label, "a");
  EXPECT_EQ(boxes[0].y.high - boxes[0].y.low, 2);
  const auto b = std::find_if(boxes.begin(), boxes.end(), [](const Box& box) { return box.label == "b"; });
  ASSERT_NE(b, boxes.end());
  EXPECT_EQ(b->x.low, 10);
  EXPECT_EQ(b->x.high, 15);
  EXPECT_EQ(b->y.low, 1);
}

RC_GTEST_PROP(Reduction, keeps_the_ends_the_extremes_and_the_order_of_a_rising_line, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<Point> points;
  double y = 0;
  for (int i = 0; i < 20'000; ++i) points.push_back({i / 100.0, y += random.uniform() * 0.02});
  const std::vector<Point> fewer = reduced(points);
  RC_ASSERT(fewer.size() <= points_max);
  RC_ASSERT(fewer.front() == points.front());
  RC_ASSERT(fewer.back() == points.back());
  RC_ASSERT(std::is_sorted(fewer.begin(), fewer.end(), [](Point a, Point b) { return a.x < b.x; }));
  // No omitted point lies further from the line than is visible on paper.
  std::size_t next = 1;
  for (const Point& point : points) {
    while (fewer[next].x < point.x) ++next;
    const Point& a = fewer[next - 1];
    const Point& b = fewer[next];
    const double on_line = b.x > a.x ? a.y + (b.y - a.y) * (point.x - a.x) / (b.x - a.x) : b.y;
    RC_ASSERT(std::abs(on_line - point.y) < 1);
  }
}

PlotOptions options_of(const std::string& chart) {
  PlotOptions options;
  options.chart = chart;
  options.runs = {results + (chart == "lines" ? "sweep" : "lab")};
  if (chart == "gantt") options.policies = {"fifo"};
  options.command = "schedulearn plot " + chart;
  options.version = "schedulearn test";
  return options;
}

class EveryChart : public testing::TestWithParam<const char*> {};

TEST_P(EveryChart, is_well_formed_svg_that_says_what_it_shows_and_is_the_same_each_time) {
  const auto figure = make_figure(options_of(GetParam()));
  ASSERT_TRUE(figure.ok()) << figure.error().message;
  for (const Theme theme : {Theme::automatic, Theme::light, Theme::dark}) {
    for (const double width : {80.0, 160.0}) {
      const std::string svg = render(*figure, {width, theme});
      std::istringstream in(svg);
      boost::property_tree::ptree document;
      ASSERT_NO_THROW(boost::property_tree::read_xml(in, document));
      EXPECT_FALSE(document.get<std::string>("svg.title").empty());
      EXPECT_FALSE(document.get<std::string>("svg.desc").empty());
      EXPECT_NE(svg.find("schedulearn plot"), std::string::npos);
      EXPECT_NE(svg.find("toy.csv"), std::string::npos) << "the trace is in the caption";
      EXPECT_EQ(svg.find("http://", svg.find("</metadata>")), std::string::npos) << "nothing is fetched";
      EXPECT_LT(svg.size(), 300'000U);
      EXPECT_EQ(svg, render(*figure, {width, theme}));
    }
  }
  const std::string csv = figure_csv(*figure, {});
  EXPECT_GT(std::count(csv.begin(), csv.end(), '\n'), 2);
}
INSTANTIATE_TEST_SUITE_P(Charts, EveryChart, testing::Values("cdf", "gantt", "util", "lines", "bars"),
                         [](const auto& made) { return std::string(made.param); });

std::string code(const PlotOptions& options) {
  const auto figure = make_figure(options);
  return figure.ok() ? "" : figure.error().code;
}

TEST(Plots, that_cannot_be_drawn_say_why) {
  PlotOptions o = options_of("cdf");
  o.runs = {"/no/such/folder"};
  EXPECT_EQ(code(o), "no-such-folder");
  o = options_of("cdf");
  o.runs = {testing::TempDir()};
  EXPECT_EQ(code(o), "not-results");
  o = options_of("bars");
  o.metrics = {"avg_jtc"};
  EXPECT_EQ(code(o), "unknown-metric");
  o = options_of("gantt");
  o.runs = {results + "sweep"};
  EXPECT_NE(code(o), "");  // there are no events there
  o = options_of("gantt");
  o.policies = {"nosuch"};
  EXPECT_EQ(code(o), "unknown-policy");
  o = options_of("gantt");
  o.servers = {"gpu99"};
  EXPECT_EQ(code(o), "unknown-server");
  EXPECT_TRUE(make_figure(o).error().notes.at(0).starts_with("there are gpu0, gpu1"));
}

TEST(Plots, are_written_beside_their_numbers) {
  const fs::path folder = fs::path(testing::TempDir()) / ("plots-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  PlotOptions o = options_of("bars");
  o.out = (folder / "bars.svg").string();
  std::ostringstream told;
  ASSERT_TRUE(cli::run_plot(o, told).ok());
  EXPECT_TRUE(fs::exists(folder / "bars.svg"));
  EXPECT_TRUE(fs::exists(folder / "bars.csv"));
  EXPECT_NE(told.str().find("lower bound"), std::string::npos);
  fs::remove_all(folder);
}

TEST(Plots, overwrite_neither_what_they_read_nor_one_another) {
  const fs::path folder = fs::path(testing::TempDir()) / ("overwritten-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "x.csv") << "job_id,submit_s,start_s,finish_s\n1,0,0,10\n";
  PlotOptions o;
  o.chart = "cdf", o.jobs = {(folder / "x.csv").string()};
  std::ostringstream told;
  o.out = (folder / "x.svg").string();
  EXPECT_EQ(cli::run_plot(o, told).error().code, "bad-flag") << "x.csv would be written beside it";
  o.csv = o.out;
  EXPECT_EQ(cli::run_plot(o, told).error().code, "bad-flag");
  EXPECT_FALSE(fs::exists(o.out));
  PlotOptions bars = options_of("bars");
  fs::copy(bars.runs.front(), folder / "results", fs::copy_options::recursive);
  bars.runs = {(folder / "results").string()}, bars.out = (folder / "bars.svg").string();
  bars.csv = (folder / "results/run.json").string();
  EXPECT_EQ(cli::run_plot(bars, told).error().code, "bad-flag");
  fs::remove_all(folder);
}

// ---- What a reader must not be misled by ----

bool side_by_side(const Box& a, const Box& b) {
  const auto overlap = [](Range x, Range y) { return std::min(x.high, y.high) - std::max(x.low, y.low); };
  const double x = overlap(a.x, b.x), y = overlap(a.y, b.y);
  return (x >= -1e-9 && y > 1e-9) || (y >= -1e-9 && x > 1e-9);
}

// Rows of boxes without gaps; jobs of several boxes have more neighbours than there are colours.
RC_GTEST_PROP(GanttColors, differ_between_neighbours, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto jobs = random.integer(2, 60);
  std::vector<Box> boxes;
  for (int row = 0; row < 8; ++row) {
    for (double at = 0; at < 100;) {
      const double end = at + static_cast<double>(random.integer(1, 12));
      boxes.push_back({{at, end}, {1.0 * row, row + 1.0}, 0, std::to_string(random.integer(1, jobs)), ""});
      at = end;
    }
  }
  color_boxes(boxes);
  for (const Box& a : boxes) {
    RC_ASSERT(a.color >= 0 && a.color < box_colors);
    for (const Box& b : boxes) RC_ASSERT(a.label == b.label || !side_by_side(a, b) || a.color != b.color);
  }
}

TEST(GanttColors, are_one_per_job_where_that_is_possible) {
  std::vector<Box> boxes = {
      {{0, 10}, {0, 1}, 0, "a", ""}, {{10, 20}, {0, 1}, 0, "b", ""}, {{20, 30}, {0, 1}, 0, "a", ""}};
  color_boxes(boxes);
  EXPECT_EQ(boxes[0].color, boxes[2].color);
  EXPECT_NE(boxes[0].color, boxes[1].color);
}

// Boxes are light in both themes, so what is drawn on them is dark in both.
TEST(Gantt, an_interruption_is_dark_on_its_box_in_every_theme) {
  const auto history = parse_history("events.csv", small_history);
  const Figure figure = *gantt_figure(*history, "fifo", {});
  for (const Theme theme : {Theme::light, Theme::dark}) {
    const std::string svg = render(figure, {80, theme});
    EXPECT_NE(svg.find("class=\"wedge\""), std::string::npos);
    EXPECT_NE(svg.find(".wedge{fill:#1f2328}"), std::string::npos);
  }
}

TEST(Gantt, no_job_is_grey_as_a_lost_server_is) {
  const std::string svg = render(*gantt_figure(*parse_history("events.csv", small_history), "fifo", {}), {});
  for (int i = 0; i < box_colors; ++i) {
    const std::string rule = fmt::format(".b{}{{fill:#", i);
    const std::size_t at = svg.find(rule);
    ASSERT_NE(at, std::string::npos) << i;
    const std::string color = svg.substr(at + rule.size(), 6);
    EXPECT_NE(color.substr(0, 2), color.substr(4, 2)) << color;
  }
}

TEST(Gantt, says_what_is_in_view) {
  const auto history = parse_history("events.csv", small_history);
  EXPECT_NE(gantt_figure(*history, "fifo", {})->caption.find("In view: 3 jobs, 2 GPUs, 0 to 40 s."), std::string::npos);
  const std::string part = gantt_figure(*history, "fifo", {9, 16, {}})->caption;
  EXPECT_NE(part.find("In view: 2 of 3 jobs, 2 GPUs, 9 to 16 s."), std::string::npos) << part;
}

TEST(Utilization, of_more_than_two_results_has_a_panel_each) {
  const History history = *parse_history("events.csv", small_history);
  const auto panels = [&](std::size_t count) {
    std::vector<NamedHistory> histories;
    for (std::size_t i = 0; i < count; ++i) histories.push_back({"p" + std::to_string(i), history});
    return utilization_figure(histories, By::cluster, {})->panels;
  };
  EXPECT_EQ(panels(2).size(), 1U);
  ASSERT_EQ(panels(3).size(), 3U);
  EXPECT_EQ(panels(3)[1].y.name, "p1: GPUs held");
  EXPECT_EQ(panels(3)[1].series.size(), 1U);
}

SimulatedResult result_of(const std::string& policy, std::int64_t seed, double jct_s, double bound_s) {
  const auto number = static_cast<double>(seed);
  return {policy,
          {},
          seed,
          {{"jobs", 10},
           {"seed", number},
           {"avg_jct_s", jct_s},
           {"avg_jct_bound_s", bound_s},
           {"share_pct", 100 - number}}};
}

TEST(Bars, of_all_metrics_have_one_unit_of_time) {
  PlotOptions o = options_of("bars");
  o.metrics = {"avg_wait_s", "makespan_s"};
  const auto figure = make_figure(o);
  ASSERT_TRUE(figure.ok());
  for (const Panel& panel : figure->panels) {
    EXPECT_EQ(panel.x.time_unit->name, "h");
    for (const Bar& bar : panel.bars) EXPECT_TRUE(bar.label.ends_with(" h")) << bar.label;
  }
}

TEST(Bars, say_why_an_interval_crosses_the_bound_and_that_a_log_scale_shows_short_ones) {
  RunSet runs{{{}},
              {result_of("a", 1, 100, 90), result_of("a", 2, 200, 180), result_of("b", 1, 9000, 90),
               result_of("b", 2, 9100, 180)}};
  const auto figure = bars_figure(runs, {"avg_jct_s"}, Spacing::linear);
  ASSERT_TRUE(figure.ok()) << figure.error().message;
  EXPECT_NE(figure->caption.find("each of which has a bound of its own"), std::string::npos);
  EXPECT_EQ(figure->hints, std::vector<std::string>{"one bar hides others: --scale log"});
  const auto logarithmic = bars_figure(runs, {"avg_jct_s"}, Spacing::logarithmic);
  EXPECT_TRUE(logarithmic->hints.empty());
  EXPECT_EQ(logarithmic->panels[0].x.spacing, Spacing::logarithmic);
  EXPECT_GT(logarithmic->panels[0].x.range.low, 0);
  runs.results = {result_of("a", 1, 190, 90), result_of("b", 1, 200, 90)};
  EXPECT_EQ(bars_figure(runs, {"avg_jct_s"}, Spacing::linear)->caption.find("bound of its own"), std::string::npos);
}

TEST(Bars, have_no_bound_beside_them_where_each_has_another) {
  RunSet runs{{{}}, {result_of("a", 1, 100, 90), result_of("a", 1, 350, 300)}};
  const auto guides = [&] { return bars_figure(runs, {"avg_jct_s"}, Spacing::linear)->panels[0].guides.size(); };
  runs.results[0].figures["load"] = 0.5, runs.results[1].figures["load"] = 3;
  EXPECT_EQ(guides(), 0U);
  runs.results[1].figures["load"] = 0.5, runs.results[1].policy = "b", runs.results[1].figures["avg_jct_bound_s"] = 90;
  EXPECT_EQ(guides(), 1U);
}

TEST(Bars, of_other_traces_are_no_further_seeds_of_one) {
  RunSet runs{{{"one", "", "", "a.csv", "1x1"}, {"two", "", "", "b.csv", "1x1"}},
              {result_of("fifo", 1, 100, 90), result_of("fifo", 1, 350, 300)}};
  runs.results[1].folder = 1;
  const auto bars = [&] { return bars_figure(runs, {"avg_jct_s"}, Spacing::linear)->panels[0].bars.size(); };
  EXPECT_EQ(bars(), 2U);
  runs.folders[1].trace = "a.csv", runs.results[1].seed = 2;
  EXPECT_EQ(bars(), 1U);
}

// Of two runs of 1 s and 9 s: the interval of their mean reaches far below zero.
TEST(Intervals, below_zero_are_cut_where_no_value_is_negative) {
  RunSet runs{{{}},
              {result_of("a", 1, 1, 1), result_of("a", 2, 9, 1), result_of("a", 1, 2, 1), result_of("a", 2, 9, 1)}};
  runs.results[2].figures["jobs"] = runs.results[3].figures["jobs"] = 20;
  EXPECT_EQ(lines_figure(runs, "jobs", {"avg_jct_s"})->panels[0].y.range.low, 0);
  runs.results.resize(2);
  EXPECT_EQ(bars_figure(runs, {"avg_jct_s"}, Spacing::linear)->panels[0].x.range.low, 0);
}

TEST(Lines, go_over_the_load_and_name_results_by_it_elsewhere) {
  RunSet runs{{{}},
              {result_of("a", 1, 1, 1), result_of("a", 1, 9, 1), result_of("b", 1, 2, 1), result_of("b", 1, 4, 1)}};
  for (std::size_t i = 0; i < 4; ++i) runs.results[i].figures["load"] = i % 2 == 0 ? 0.5 : 1.1;
  const auto lines = lines_figure(runs, "load", {"avg_jct_s"});
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  ASSERT_EQ(lines->panels[0].series.size(), 2U);
  EXPECT_EQ(lines->panels[0].series[0].name, "a");
  EXPECT_EQ(lines->panels[0].series[0].points, (std::vector<Point>{{0.5, 1}, {1.1, 9}}));
  EXPECT_NE(lines->caption.find("Load = work that arrives"), std::string::npos);
  EXPECT_EQ(names_of(runs), (std::vector<std::string>{"a, load 0.5", "a, load 1.1", "b, load 0.5", "b, load 1.1"}));
}

TEST(Shares, end_at_one_hundred_percent) {
  const RunSet runs{{{}}, {result_of("a", 1, 1, 1), result_of("a", 2, 1, 1)}};
  EXPECT_EQ(bars_figure(runs, {"share_pct"}, Spacing::linear)->panels[0].x.range.high, 100);
  EXPECT_EQ(lines_figure(runs, "seed", {"share_pct"})->panels[0].y.range.high, 100);
}

TEST(Lines, have_ticks_where_data_is_and_whiskers_without_bands) {
  const auto figure = make_figure(options_of("lines"));
  ASSERT_TRUE(figure.ok());
  std::set<double> places;
  for (const Series& series : figure->panels[0].series) {
    for (const Point& point : series.points) places.insert(point.x);
  }
  EXPECT_EQ(figure->panels[0].x.values, std::vector<double>(places.begin(), places.end()));
  const std::string svg = render(*figure, {160, Theme::light});
  EXPECT_NE(svg.find("class=\"w c0\""), std::string::npos);
  EXPECT_EQ(svg.find("class=\"band"), std::string::npos);
}

TEST(Captions, say_seed_and_command) {
  const auto figure = make_figure(options_of("cdf"));
  ASSERT_TRUE(figure.ok());
  EXPECT_NE(figure->caption.find("Seed 1. Made by: schedulearn sim compare --trace toy.csv --out lab"),
            std::string::npos)
      << figure->caption;
}

TEST(Captions, say_that_a_run_was_interrupted_whose_results_say_which_jobs_they_are_of) {
  const fs::path folder = fs::path(testing::TempDir()) / ("interrupted-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "run.json") << R"({"version": 1, "interrupted": true, "results": [
      {"policy": "a", "seed": 1, "jobs": 10, "avg_jct_s": 1}, {"policy": "a", "seed": 1, "jobs": 20, "avg_jct_s": 2},
      {"policy": "b", "seed": 1, "jobs": 10, "avg_jct_s": 3}]})";
  PlotOptions o = options_of("bars");
  o.runs = {folder.string()}, o.metrics = {"avg_jct_s"};
  const auto figure = make_figure(o);
  ASSERT_TRUE(figure.ok()) << figure.error().message;
  EXPECT_NE(figure->caption.find("Interrupted: some simulations are missing."), std::string::npos) << figure->caption;
  EXPECT_EQ(figure->panels[0].bars[2].name, "b, 10 jobs");
  fs::remove_all(folder);
}

TEST(Captions, break_within_their_width_and_lose_nothing) {
  const std::string text =
      "Made by: schedulearn sim compare --trace poisson:jobs=60,cluster_gpus=16,load=1.1,max_s=20000 --servers 4x4 "
      "Ävery-löng-wörd-without-any-place-to-break-it-that-is-wider-than-the-line-and-goes-on-and-on-and-on";
  const double width = 200;
  std::string whole;
  for (const std::string& line : wrapped(text, size_small, width)) {
    EXPECT_LE(text_width(line, size_small), width) << line;
    whole += line;
  }
  const auto without_blanks = [](std::string t) { return std::erase(t, ' '), t; };
  EXPECT_EQ(without_blanks(whole), without_blanks(text));
  EXPECT_EQ(wrapped(text, size_small, width)[1], "jobs=60,cluster_gpus=16,load=1.1,max_s=20000");
}

}  // namespace
}  // namespace sl::plot
