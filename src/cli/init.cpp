#include "cli/init.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

// The training in this folder: train.py or main.py, else the only program in Python, else a name to be changed.
std::string program_here() {
  std::vector<std::string> programs;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(".", failed)) {
    const std::string name = entry.path().filename();
    if (name == "train.py" || name == "main.py") return name;
    if (entry.path().extension() == ".py") programs.push_back(name);
  }
  return programs.size() == 1 ? programs.front() : "train.py";
}

// A text as TOML writes it.
std::string quoted_toml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? '_' : c;
  }
  return quoted + "\"";
}

}  // namespace

std::string first_job_file(const std::string& name, const std::string& program) {
  return fmt::format(R"(# A job of Schedulearn: schedulearn submit job.toml. All keys: docs/guide/jobs.md
name = {}
command = ["python3", {}]
gpus = 1                        # a number, a range "1..4", or those that it may have: [1, 2, 4]
# launch = "torchrun"           # one process per GPU; or "ranks", "mpi"

# [time]
# limit = "2h"                  # it is stopped after running this long
# estimate = "30m"              # helps to say when it will end, and shortens the wait under some policies

# [checkpoint]
# dir = "checkpoints"           # it saves its state here when asked to: then it can be moved and resized

# [retry]
# max = 2                       # is started again if it fails; on = ["exit:3"]: only then

# [env]
# OMP_NUM_THREADS = "4"
)",
                     quoted_toml(name), quoted_toml(program));
}

void Init::add_to(CLI::App& app) {
  command_(app, "init", "Write a first job file for the training in this folder.",
           "  schedulearn init\n  schedulearn init experiment.toml\n",
           [this] {
             std::error_code unknown;
             const std::string program = program_here(), name = fs::current_path(unknown).filename();
             const std::string text = first_job_file(name.empty() ? "training" : name, program);
             const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
             if (file < 0 && errno == EEXIST) return fail(conflict("file-exists", file_ + " exists already"));
             const bool is_written =
                 file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
             if (file >= 0) ::close(file);
             if (!is_written)
               return fail(denied("not-writable", "cannot write " + file_ + ": " + std::strerror(errno)));
             std::printf("Wrote %s, which runs python3 %s.\n", file_.c_str(), program.c_str());
             if (::access(program.c_str(), R_OK) != 0)
               std::printf("  note: there is no %s here yet\n", program.c_str());
             std::printf("\n  schedulearn submit --dry-run %s   see what would run\n  schedulearn submit %s\n",
                         file_.c_str(), file_.c_str());
             return 0;
           })
      ->add_option("file", file_, "the file to write (job.toml); it must not exist");
}

}  // namespace sl::cli
