#include "controller/uploaded_traces.h"

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "controller/simulation_files.h"

namespace sl::controller {
namespace {

// The desk does its work when the test says so; posts are done at once.
class UploadedTracesTest : public testing::Test {
 protected:
  UploadedTracesTest() : folder_(std::filesystem::temp_directory_path() / ("sl-traces-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    open();
  }
  ~UploadedTracesTest() override { std::filesystem::remove_all(folder_); }

  void open() {
    traces_ = std::make_unique<UploadedTraces>(
        folder_, UploadedTraces::Means{[this] { return now_; }, [](const auto& work) { work(); },
                                       [this](auto work) { desk_.push_back(std::move(work)); },
                                       [this](const auto& arguments, const std::string& where) {
                                         read_ = contents_of(where + "/" + arguments[2]);
                                         return facts_;
                                       }});
    traces_->open();
  }
  void work() {
    for (; !desk_.empty(); desk_.pop_front()) desk_.front()();
  }
  // The code of the error; "" if it was taken. Without `works` the desk has it still.
  std::string put(const std::string& name, const std::string& bytes, std::int64_t offset = 0, std::int64_t size = -1,
                  const std::string& user = "ann", bool works = true) {
    code_ = "none yet";
    traces_->put({name, user, offset, size < 0 ? static_cast<std::int64_t>(bytes.size()) : size, bytes},
                 [this](const auto& here) {
                   code_ = here.ok() ? "" : here.error().code;
                   if (here.ok()) here_ = *here;
                 });
    if (works) work();
    return code_;
  }
  std::size_t files() const {
    std::error_code missing;
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_, missing), std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;
  Instant now_{1'000'000};
  std::deque<std::function<void()>> desk_;
  Result<std::string> facts_ =
      std::string(R"({"jobs":3,"users":1,"first_submit_s":0,"last_submit_s":9,"span_s":9,"gap_mean_s":3,"gpu_days":1,)"
                  R"("duration_mean_s":5,"durations":[],"gpus":[{"gpus":4,"jobs":3,"gpu_s":60}],"with_deadline":0,)"
                  R"("with_estimate":0,"elastic":0,"sharing":0,"with_profile":0,"report":{}})");
  std::string read_, code_;
  answers::TraceUpload here_;
  std::unique_ptr<UploadedTraces> traces_;
};

TEST_F(UploadedTracesTest, pieces_become_a_trace_that_is_there_after_a_restart) {
  EXPECT_EQ(put("philly", "job_", 0, 10), "");
  EXPECT_EQ(here_.bytes_here, 4);
  EXPECT_FALSE(here_.trace);
  EXPECT_EQ(put("philly", "id,sub", 4, 10), "");
  EXPECT_EQ(read_, "job_id,sub");
  ASSERT_TRUE(here_.trace);
  EXPECT_EQ(here_.trace->figures->jobs, 3);
  open();
  const auto found = traces_->find("philly");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->user, "ann");
  EXPECT_EQ(found->bytes, 10);
  EXPECT_EQ(found->uploaded_at->us, 1'000'000);
  EXPECT_EQ(found->figures->gpus.at(0).gpus, 4);
  EXPECT_EQ(contents_of(traces_->file_of("philly")), "job_id,sub");
}

TEST_F(UploadedTracesTest, hostile_names_are_refused) {
  for (const char* name : {"", ".", "..", "../x", "a/b", "/etc/passwd", "-rf", ".x", "a b", "a\nb", "a:b", "é"})
    EXPECT_EQ(put(name, "x"), "bad-trace-name") << name;
  EXPECT_EQ(put(std::string(65, 'a'), "x"), "bad-trace-name");
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(put(std::string(64, 'a'), "x"), "");
  EXPECT_EQ(put("Philly_2017.v1-b", "x"), "");
}

TEST_F(UploadedTracesTest, what_cannot_be_read_leaves_nothing) {
  facts_ = invalid("trace-row", "line 3: gpus is not a number");
  EXPECT_EQ(put("philly", "x"), "trace-row");
  facts_ = invalid("simulation-limit", "it took too long");
  EXPECT_EQ(put("philly", "x"), "trace-too-large");
  EXPECT_EQ(traces_->find("philly").error().code, "trace-not-found");
  EXPECT_EQ(files(), 0U);
}

TEST_F(UploadedTracesTest, a_file_over_the_limit_is_refused_with_its_first_piece) {
  EXPECT_EQ(put("philly", "x", 0, trace_file_bytes_max + 1), "trace-too-large");
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(put("philly", "x", 0, trace_file_bytes_max), "");
}

TEST_F(UploadedTracesTest, pieces_come_in_order_and_one_at_a_time) {
  EXPECT_EQ(put("philly", "abc", 3, 9), "trace-offset");
  EXPECT_EQ(put("philly", "abc", 0, 9), "");
  EXPECT_EQ(put("philly", "ghi", 6, 9), "trace-offset");
  EXPECT_EQ(put("philly", "def", 3, 8), "trace-offset") << "of a file of another size";
  EXPECT_EQ(put("philly", "def", 3, 5), "bad-parameter");
  EXPECT_EQ(put("philly", "", 3, 9), "bad-parameter");
  put("philly", "def", 3, 9, "ann", false);
  EXPECT_EQ(put("philly", "ghi", 6, 9, "ann", false), "trace-offset") << "while the one before is being written";
  EXPECT_EQ(put("philly", "abc", 0, 9, "ann", false), "trace-offset");
  work();
  EXPECT_EQ(put("philly", "xyz"), "") << "begun anew";
  EXPECT_EQ(read_, "xyz");
}

TEST_F(UploadedTracesTest, a_name_has_one_trace) {
  EXPECT_EQ(put("philly", "abc", 0, 9, "bob"), "");
  EXPECT_EQ(put("philly", "x"), "trace-exists") << "bob is sending one";
  now_ = now_ + Duration::whole_seconds(600);
  EXPECT_EQ(put("philly", "x"), "") << "bob has given up";
  EXPECT_EQ(put("philly", "x", 0, 1, "bob"), "trace-exists");
  EXPECT_EQ(put("philly", "x"), "trace-exists");
  EXPECT_TRUE(traces_->remove("philly").ok());
  EXPECT_EQ(put("philly", "y", 0, 1, "bob"), "") << "the old one goes before the new one comes";
  EXPECT_EQ(contents_of(traces_->file_of("philly")), "y");
  EXPECT_EQ(traces_->find("philly")->user, "bob");
}

TEST_F(UploadedTracesTest, only_so_many_are_kept) {
  for (std::size_t i = 0; i < traces_kept_max; ++i)
    ASSERT_EQ(put("t" + std::to_string(i), "x", 0, i % 2 == 0 ? 1 : 2), "");
  EXPECT_EQ(put("more", "x"), "too-many-traces");
  EXPECT_EQ(put("t1", "y", 1, 2), "") << "what was begun goes on";
  EXPECT_TRUE(traces_->remove("t0").ok());
  EXPECT_EQ(put("more", "x"), "");
}

TEST_F(UploadedTracesTest, what_was_not_accepted_is_gone_after_a_restart) {
  put("half", "abc", 0, 9);
  put("whole", "x");
  std::ofstream(folder_ / "unknown.csv") << "x";
  std::ofstream(folder_ / "lost.json") << "{}";
  open();
  EXPECT_EQ(files(), 2U);
  EXPECT_EQ(traces_->list().size(), 1U);
  EXPECT_EQ(put("half", "def", 3, 9), "trace-offset");
}

TEST_F(UploadedTracesTest, a_removed_one_is_gone_with_its_files) {
  put("philly", "x");
  EXPECT_EQ(traces_->remove("phily").error().hints.at(0), "did you mean philly?");
  EXPECT_TRUE(traces_->remove("philly").ok());
  EXPECT_EQ(traces_->remove("philly").error().code, "trace-not-found");
  work();
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace sl::controller
