#include "wire/torchrun_command.h"

#include <gtest/gtest.h>

namespace sl::wire {
namespace {

std::string run(const CommandLine& command) { return with_torchrun(command, "T").value_or("none"); }
using Words = std::vector<std::string>;

TEST(TorchrunCommand, the_interpreter_that_was_named_runs_torchrun) {
  EXPECT_EQ(run("python train.py --lr 1"), "python T train.py --lr 1");
  EXPECT_EQ(run("/opt/venv/bin/python3.12 train.py"), "/opt/venv/bin/python3.12 T train.py");
  EXPECT_EQ(run(Words{"python", "train.py", "it's"}), "python T train.py 'it'\\''s'");
}

TEST(TorchrunCommand, a_python_file_needs_no_interpreter) {
  EXPECT_EQ(run("train.py --x 1"), "python3 T train.py --x 1");
  EXPECT_EQ(run(Words{"./my train.py"}), "python3 T './my train.py'");
  EXPECT_EQ(run(Words{"./train.py", "a b"}), "python3 T ./train.py 'a b'");
}

TEST(TorchrunCommand, what_stands_before_the_training_stays_as_it_is) {
  EXPECT_EQ(run("cd work && python train.py"), "cd work && python T train.py");
  EXPECT_EQ(run("source v/bin/activate; A=1 exec python3 train.py | tee log"),
            "source v/bin/activate; A=1 exec python3 T train.py | tee log");
  EXPECT_EQ(run("python prepare.py && python train.py"), "python prepare.py && python T train.py");
  EXPECT_EQ(run("echo 'a && python b.py'; (cd x\npython train.py); echo done"),
            "echo 'a && python b.py'; (cd x\npython T train.py); echo done");
}

TEST(TorchrunCommand, options_of_the_interpreter_are_not_torchrun_s) {
  EXPECT_EQ(run("python -u -X dev train.py -u"), "python -u -X dev T train.py -u");
  EXPECT_EQ(run("python -m package.train"), "python T -m package.train");
}

TEST(TorchrunCommand, nothing_is_inserted_where_no_python_starts) {
  for (const char* line : {"", "bash train.sh", "echo python train.py", "pythonic train.py", "&&"})
    EXPECT_EQ(run(line), "none") << line;
}

}  // namespace
}  // namespace sl::wire
