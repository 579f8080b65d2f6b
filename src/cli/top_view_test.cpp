#include "cli/top_view.h"

#include <gtest/gtest.h>

#include "cli/render.h"

namespace sl::cli {
namespace {

json::value job_at(std::int64_t id, const std::string& state, const std::string& name = "train") {
  return json::object{
      {"id", id},
      {"name", name},
      {"user", "mei"},
      {"state", state},
      {"members", nullptr},
      {"spec", json::object{{"gpus", json::object{{"min", 2}, {"max", 2}, {"allowed", json::array{}}}}}},
      {"placement", json::array{}},
      {"wait_s", 12},
      {"run_s", 60},
      {"started_at", state == "pending" ? json::value(nullptr) : json::value("2026-11-23T10:00:00.000Z")}};
}

json::value gpu_at(int index, double busy, json::value job = nullptr) {
  return json::object{{"identifier", "gpu4-" + std::to_string(index)},
                      {"index", index},
                      {"condition", job.is_null() ? "free" : "allocated"},
                      {"job_id", job},
                      {"utilization_pct", busy},
                      {"memory_used_bytes", 1},
                      {"memory_total_bytes", 100}};
}

TopData data_of(int jobs) {
  TopData data;
  data.at = "10:00:00";
  data.cluster = json::object{
      {"policy", "srtf"},
      {"jobs", json::object{{"running", 1}, {"pending", jobs - 1}}},
      {"gpus", json::object{{"total", 3}, {"allocated", 2}, {"free", 1}}},
      {"servers", json::array{json::object{{"name", "gpu4"},
                                           {"state", "up"},
                                           {"gpus", json::array{gpu_at(0, 5, 1), gpu_at(1, 99, 1), gpu_at(2, 0)}}}}}};
  for (int i = jobs; i >= 1; --i) data.jobs.push_back(job_at(i, i == 1 ? "running" : "pending"));
  return data;
}

std::vector<std::string> texts_of(const std::vector<StyledLine>& lines) {
  std::vector<std::string> texts;
  for (const StyledLine& line : lines) {
    std::string& text = texts.emplace_back();
    for (const Span& span : line) text += span.text;
  }
  return texts;
}

std::string whole(const TopData& data, const TopChoice& choice, TopSize size = {100, 24}) {
  std::string text;
  for (const std::string& line : texts_of(top_lines({}, data, choice, size))) text += line + "\n";
  return text;
}

TEST(Top, fills_the_screen_exactly_whatever_its_size) {
  TopData data = data_of(60);
  data.jobs.push_back(job_at(99, "running", "訓練訓練訓練訓練訓練訓練訓練訓練訓練訓練訓練訓練訓練訓練"));
  for (const TopSize size : {TopSize{80, 24}, {81, 25}, {100, 30}, {200, 60}}) {
    const auto lines = texts_of(top_lines({}, data, {.job = 99}, size));
    EXPECT_EQ(lines.size(), size.lines);
    for (const std::string& line : lines) EXPECT_LE(display_width(line), size.columns) << line;
  }
}

TEST(Top, shows_the_cluster_its_gpus_and_jobs) {
  const std::string text = whole(data_of(3), {});
  EXPECT_EQ(text.find("Schedulearn  10:00:00  policy srtf  GPUs 2/3  1 running, 2 pending"), 0U) << text;
  EXPECT_NE(text.find("gpu4       0 #1      5%   1 #1     99%   2 free"), std::string::npos) << text;
  const std::size_t running = text.find("● running"), pending = text.find("○ pending");
  EXPECT_LT(running, pending) << "those that run come first\n" << text;
  EXPECT_NE(text.find("q quit"), std::string::npos);
}

TEST(Top, gpus_have_the_colours_of_their_use) {
  const auto lines = top_lines({}, data_of(1), {}, {100, 24});
  ASSERT_EQ(lines[1].size(), 4U);
  EXPECT_EQ(lines[1][1].style, Style::good);
  EXPECT_EQ(lines[1][2].style, Style::hot);
  EXPECT_EQ(lines[1][3].style, Style::dim);
}

TEST(Top, the_chosen_job_is_always_on_the_screen) {
  const TopData data = data_of(60);
  for (const std::int64_t id : {1, 2, 30, 60}) {
    const TopChoice choice{.job = id};
    std::size_t chosen = 0;
    for (const StyledLine& line : top_lines({}, data, choice, {80, 24})) {
      if (line.empty() || line.front().style != Style::chosen) continue;
      ++chosen;
      EXPECT_EQ(line.front().text.find(std::to_string(id)), 6 - std::to_string(id).size());
    }
    EXPECT_EQ(chosen, 1U) << id;
  }
}

TEST(Top, a_filter_keeps_what_contains_it_and_the_choice_goes_to_what_is_left) {
  TopData data = data_of(3);
  data.jobs.push_back(job_at(9, "failed", "resnet"));
  const TopChoice choice{.filter = "resnet", .job = 1};
  ASSERT_EQ(listed_jobs(data, choice).size(), 1U);
  EXPECT_EQ(number_at(*chosen_job(data, choice), "id"), 9);
  EXPECT_EQ(chosen_job(data, {.filter = "nothing"}), nullptr);
  EXPECT_NE(whole(data, {.filter = "nothing"}).find("no job contains 'nothing'; esc shows all"), std::string::npos);
}

TEST(Top, nothing_that_it_says_of_itself_is_cut_off_in_the_smallest_window) {
  for (const TopChoice& choice : {TopChoice{}, TopChoice{.is_readonly = true}, TopChoice{.shows_help = true}}) {
    for (const std::string& line : texts_of(top_lines({}, data_of(3), choice, top_size_least)))
      EXPECT_FALSE(line.ends_with("~")) << line;
  }
}

TEST(Top, an_array_is_one_line_with_what_its_members_do) {
  TopData data = data_of(1);
  json::value array = job_at(7, "pending", "sweep");
  array.as_object()["members"] = json::object{{"total", 9}, {"running", 2}, {"waiting", 7}};
  data.jobs.push_back(array);
  const std::string text = whole(data, {}), line = text.substr(text.find("sweep"));
  EXPECT_LT(line.find("running"), line.find("2 of 9 run")) << text;
  EXPECT_NE(line.find("2 of 9 run"), std::string::npos) << text;
  data.jobs.back().as_object()["state"] = "failed";
  data.jobs.back().as_object()["members"] = json::object{{"total", 9}, {"succeeded", 8}, {"failed", 1}};
  EXPECT_NE(whole(data, {}).find("8 of 9 ok"), std::string::npos) << whole(data, {});
}

TEST(Top, what_is_asked_or_wrong_takes_the_last_line) {
  TopData data = data_of(1);
  data.failure = "the controller does not answer";
  EXPECT_TRUE(whole(data, {}).ends_with("the controller does not answer\n"));
  EXPECT_TRUE(whole(data, {.prompt = "cancel job 1?"}).ends_with("cancel job 1?\n"));
  EXPECT_NE(whole(data, {.shows_help = true}).find("its output, live"), std::string::npos);
}

TEST(Top, ascii_is_ascii) {
  TopData data = data_of(3);
  data.jobs.push_back(job_at(9, "failed", "Träining"));
  for (const char c : whole(data, {.is_ascii = true})) EXPECT_LT(static_cast<unsigned char>(c), 128);
}

TEST(Top, stands_an_answer_without_anything) { EXPECT_NE(whole({}, {}).find("no jobs"), std::string::npos); }

}  // namespace
}  // namespace sl::cli
