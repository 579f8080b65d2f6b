#include "cli/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <sstream>

#include "trace/text_file.h"

namespace sl::cli {
namespace {

class TraceCommands : public testing::Test {
 protected:
  TraceCommands() { std::filesystem::create_directory(folder_); }
  ~TraceCommands() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(trace::write_text(path(name), text).ok());
    return path(name);
  }
  // Everything the command prints, on either stream.
  std::string said(Status (*action)(const TraceCommand&, const Outputs&), const TraceCommand& command) {
    std::ostringstream out;
    const Status done = action(command, {out, out});
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return out.str();
  }
  Error refused(Status (*action)(const TraceCommand&, const Outputs&), const TraceCommand& command) {
    std::ostringstream out;
    const Error error = action(command, {out, out}).error();
    EXPECT_EQ(out.str(), "");
    return error;
  }

 private:
  std::string folder_ = testing::TempDir() + "trace_commands_" + std::to_string(::getpid());
};

const std::string rows =
    "job_id,submit_time_s,gpus,duration_s,user\na,0,1,10,u\nb,5,2,20,v\nc,10,16,60,u\nd,10,0,60,u\n";

TEST_F(TraceCommands, overwrite_no_file_that_they_read) {
  TraceCommand command;
  command.source = command.out = file("t.csv", rows);
  EXPECT_EQ(refused(trace_export, command).code, "bad-flag");
  EXPECT_EQ(*trace::read_text(command.source), rows);
}

TEST_F(TraceCommands, info_says_what_is_in_a_trace_and_what_was_left_out) {
  TraceCommand command;
  command.source = file("t.csv", rows);
  command.servers = "1x8";
  const std::string text = said(trace_info, command);
  EXPECT_NE(text.find("3 of 4 rows"), std::string::npos) << text;
  EXPECT_NE(text.find("left out    1 without a GPU"), std::string::npos) << text;
  EXPECT_NE(text.find("1 job does not fit it"), std::string::npos) << text;
  command.json = true;
  command.filter.gpus_max = 8;
  const auto document = boost::json::parse(said(trace_info, command)).as_object();
  EXPECT_EQ(document.at("jobs").as_int64(), 2);
  EXPECT_EQ(document.at("report").as_object().at("dropped_oversize").as_int64(), 1);
  EXPECT_DOUBLE_EQ(document.at("load").as_object().at("load").as_double(), 50.0 / 5 / 8);
  command.servers = file("twice_as_fast.toml", "[[servers]]\ngpus = 8\nspeed = 2.0\n");
  EXPECT_DOUBLE_EQ(boost::json::parse(said(trace_info, command)).at("load").at("load").as_double(), 50.0 / 5 / 16);
}

TEST_F(TraceCommands, gen_writes_the_same_bytes_for_the_same_seed) {
  TraceCommand command;
  command.source = "poisson";
  command.values = {"jobs=50", "load=0.5"};
  for (const char* name : {"a.csv", "b.csv"}) {
    command.out = path(name);
    EXPECT_NE(said(trace_generate, command).find("50 jobs"), std::string::npos);
  }
  EXPECT_EQ(*trace::read_text(path("a.csv")), *trace::read_text(path("b.csv")));
  command.seed = 2;
  said(trace_generate, command);
  EXPECT_NE(*trace::read_text(path("a.csv")), *trace::read_text(path("b.csv")));
}

TEST_F(TraceCommands, gen_says_what_a_file_cannot_hold) {
  TraceCommand command;
  command.source = "lyapunov";
  command.out = path("c.csv");
  EXPECT_NE(said(trace_generate, command).find("not written steps"), std::string::npos);
}

TEST_F(TraceCommands, export_cuts_and_converts) {
  TraceCommand command;
  command.source = file("t.csv", rows);
  command.out = path("out.swf");
  command.format = "swf";
  command.filter.gpus_max = 8;
  command.filter.jobs = 1;
  said(trace_export, command);
  EXPECT_NE(trace::read_text(path("out.swf"))->find("\n1 0 -1 10 1 -1 -1 1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1\n"),
            std::string::npos);
}

TEST_F(TraceCommands, import_reports_every_reason_as_json) {
  TraceCommand command;
  command.format = "swf";
  command.files = {
      file("log.swf", "1 0 0 10 4 -1 -1 4 -1 -1 1 3 1 1 1 -1 -1 -1\n2 0 0 -1 4 -1 -1 4 -1 -1 1 3 1 1 1 -1 -1 -1\n")};
  command.out = path("out.csv.gz");
  command.json = true;
  const auto document = boost::json::parse(said(trace_import, command)).as_object();
  EXPECT_EQ(document.at("jobs").as_int64(), 1);
  EXPECT_EQ(document.at("import").as_object().at("dropped").as_object().at("no duration").as_int64(), 1);
  TraceCommand info;
  info.source = command.out;
  EXPECT_NE(said(trace_info, info).find("1 of 1 rows"), std::string::npos);
}

TEST_F(TraceCommands, refuse_bad_input_and_leave_no_file) {
  TraceCommand command;
  command.format = "swf";
  command.files = {file("bad.swf", "1 2 3\n")};
  command.out = path("out.csv");
  EXPECT_EQ(refused(trace_import, command).code, "import-format");
  command.files = {path("none")};
  EXPECT_EQ(refused(trace_import, command).code, "no-such-file");
  command.format = "lsf";
  EXPECT_EQ(refused(trace_import, command).code, "unknown-format");
  command.source = "poisson";
  command.values = {"jobs"};
  EXPECT_EQ(refused(trace_generate, command).code, "bad-parameter");
  command.servers = "8";
  EXPECT_EQ(refused(trace_info, command).code, "bad-servers");
  EXPECT_FALSE(std::filesystem::exists(path("out.csv")));
}

TEST_F(TraceCommands, ls_shows_all_workloads_or_the_parameters_of_one) {
  TraceCommand command;
  EXPECT_NE(said(trace_list, command).find("thesis/resnet-3"), std::string::npos);
  command.source = "burst";
  EXPECT_NE(said(trace_list, command).find("burst_jobs"), std::string::npos);
  command.json = true;
  EXPECT_EQ(boost::json::parse(said(trace_list, command)).at("items").as_array().size(), 1u);
  command.source = "bursts";
  EXPECT_EQ(refused(trace_list, command).hints.front(), "did you mean burst?");
}

}  // namespace
}  // namespace sl::cli
