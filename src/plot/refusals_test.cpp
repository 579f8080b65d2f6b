// What cannot be drawn is refused with a code and a hint, and nothing is written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/plot.h"
#include "plot/make_figure.h"
#include "plot/png.h"
#include "plot/series.h"

namespace sl::plot {
namespace {

class Refusals : public testing::Test {
 protected:
  Refusals() { std::filesystem::create_directories(folder_); }
  ~Refusals() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  // A folder of results with these rows of run.json.
  PlotOptions drawing(const std::string& chart, const std::string& results, int version = 1) const {
    write("run.json", R"({"version": )" + std::to_string(version) + R"(, "results": [)" + results + "]}");
    PlotOptions options;
    options.chart = chart;
    options.runs = {folder_.string()};
    return options;
  }
  static std::string code_of(const PlotOptions& options) {
    const auto figure = make_figure(options);
    return figure.ok() ? "" : figure.error().code;
  }
  std::string code_of_jobs(const std::string& text) const {
    PlotOptions options;
    options.chart = "cdf";
    options.jobs = {write("jobs.csv", text)};
    return code_of(options);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("refusals-" + std::to_string(::getpid()));
};

std::string row(const std::string& policy, const std::string& more) {
  return R"({"policy": ")" + policy + R"(", )" + more + "}";
}
std::string rows(int count, const std::string& more) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? "," : "") + row("p" + std::to_string(i), more);
  return text;
}
// With an events file beside it.
std::string with_events(const std::string& policy, int seed, const std::string& file) {
  return row(policy, R"("seed": )" + std::to_string(seed) + R"(, "events_file": ")" + file + '"');
}
std::string events_of(const std::string& servers, const char* last = "10,finish,a,1,\n") {
  return "at_s,event,job_id,gpus,where\n" + servers + "0,submit,a,1,\n0,start,a,1,gpu0:0\n" + last;
}
constexpr const char* one_server = "0,server,,2,gpu0\n";

TEST_F(Refusals, files_that_are_no_tables_of_jobs) {
  PlotOptions options;
  options.chart = "cdf";
  options.jobs = {folder_.string()};
  EXPECT_EQ(code_of(options), "not-a-file") << "a folder";
  EXPECT_EQ(code_of_jobs(""), "empty-file");
  EXPECT_EQ(code_of_jobs("colour,taste\nred,sweet\n"), "missing-column");
  const std::string header = "job_id,submit_s,start_s,finish_s\n";
  EXPECT_EQ(code_of_jobs(header), "empty-data");
  EXPECT_EQ(code_of_jobs(header + "1,0\n"), "bad-row");
  EXPECT_EQ(code_of_jobs(header + "1,0,\"0,10\n"), "bad-row");
}

TEST_F(Refusals, folders_of_results_that_do_not_show_what_is_wanted) {
  EXPECT_EQ(code_of(drawing("bars", "")), "empty-results");
  EXPECT_EQ(code_of(drawing("bars", row("fifo", R"("jobs": 5)"), 2)), "unknown-version");
  PlotOptions of_seed = drawing("bars", row("fifo", R"("seed": 1, "avg_jct_s": 5, "makespan_s": 9)"));
  EXPECT_EQ(code_of(of_seed), "");
  of_seed.seed = 7;
  EXPECT_EQ(code_of(of_seed), "no-results");
}

TEST_F(Refusals, lines_over_what_does_not_vary) {
  const std::string figures = R"("avg_jct_s": 5, "makespan_s": 9)";
  PlotOptions lines =
      drawing("lines", row("fifo", R"("jobs": 5, )" + figures) + "," + row("fifo", R"("jobs": 10, )" + figures));
  EXPECT_EQ(code_of(lines), "");
  lines.x = "weather";
  EXPECT_EQ(code_of(lines), "unknown-x");
  lines.x = "makespan_s";
  EXPECT_EQ(code_of(lines), "nothing-varies");
}

TEST_F(Refusals, more_than_can_be_told_apart) {
  const std::string figures = R"("avg_jct_s": 5, "makespan_s": 9)";
  EXPECT_EQ(code_of(drawing("bars", rows(60, figures))), "");
  EXPECT_EQ(code_of(drawing("bars", rows(61, figures))), "too-many-bars");
  EXPECT_EQ(
      code_of(drawing("lines", rows(17, R"("jobs": 5, )" + figures) + "," + rows(17, R"("jobs": 6, )" + figures))),
      "too-many-lines");
}

TEST_F(Refusals, histories_that_one_picture_cannot_show) {
  write("one.csv", events_of(one_server));
  write("other.csv", events_of("0,server,,4,gpu0\n"));
  write("nothing.csv", events_of(one_server, ""));
  std::string many;
  for (int i = 0; i < 60; ++i) many += "0,server,,1,gpu" + std::to_string(i) + "\n";
  write("many.csv", events_of(many));
  const std::string two = with_events("fifo", 1, "one.csv") + "," + with_events("fifo", 2, "one.csv");
  EXPECT_EQ(code_of(drawing("gantt", with_events("fifo", 1, "one.csv"))), "");
  EXPECT_EQ(code_of(drawing("gantt", two)), "several-results");
  EXPECT_EQ(code_of(drawing("gantt", with_events("fifo", 1, "nothing.csv"))), "empty-data");
  PlotOptions late = drawing("gantt", with_events("fifo", 1, "one.csv"));
  late.from = "1h";
  EXPECT_EQ(code_of(late), "bad-window");
  EXPECT_EQ(code_of(drawing("util", with_events("fifo", 1, "one.csv") + "," + with_events("sjf", 1, "other.csv"))),
            "different-servers");
  PlotOptions by_server = drawing("util", with_events("fifo", 1, "many.csv") + "," + with_events("sjf", 1, "many.csv"));
  EXPECT_EQ(code_of(by_server), "");
  by_server.by = "server";
  EXPECT_EQ(code_of(by_server), "too-many-servers");
}

TEST(Series, that_a_controller_never_sends_are_refused) {
  EXPECT_EQ(regret_figure(boost::json::object{{"series", 5}}).error().code, "bad-series");
  EXPECT_EQ(ahead_figure(boost::json::array{}).error().code, "bad-series");
  const boost::json::object none{{"step_s", 900}, {"series", boost::json::array{}}};
  EXPECT_EQ(ahead_figure(none).error().code, "empty-data");
}

TEST_F(Refusals, a_png_without_a_converter_or_with_one_that_fails) {
  const std::string before = std::getenv("PATH");
  PlotOptions options = drawing("bars", row("fifo", R"("avg_jct_s": 5, "makespan_s": 9)"));
  options.out = (folder_ / "bars.png").string();
  std::ostringstream told;
  ::setenv("PATH", folder_.c_str(), 1);
  EXPECT_EQ(cli::run_plot(options, told).error().code, "no-png-converter");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "bars.svg"));
  const std::string converter = write("rsvg-convert", "#!/bin/sh\nexit 3\n");
  std::filesystem::permissions(converter, std::filesystem::perms::owner_all);
  EXPECT_EQ(cli::run_plot(options, told).error().code, "png-failed");
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_FALSE(std::filesystem::exists(options.out));
}

}  // namespace
}  // namespace sl::plot
