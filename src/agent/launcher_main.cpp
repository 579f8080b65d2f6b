// schedulearn-launcher DATA_DIRECTORY OPEN_FILES: see launcher.h. Started by the agent, not by hand.
// schedulearn-launcher warden DATA_DIRECTORY: see warden.h. Started by the launcher itself.
// schedulearn-launcher ranks COUNT COMMAND...: see ranks.h. Started by the launcher itself.
// schedulearn-launcher mpi VERB...: see mpi.h. Started by the launcher, and by mpirun.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "agent/launcher.h"
#include "agent/mpi.h"
#include "agent/ranks.h"
#include "agent/warden.h"

int main(int argc, char** argv) {
  if (argc > 3 && argv[1] == std::string_view("ranks"))
    return sl::agent::run_ranks(sl::agent::parse_members(argv[2]), argv + 3);
  if (argc > 2 && argv[1] == std::string_view("mpi")) return sl::agent::run_mpi(argv + 2);
  if (argc == 3 && argv[1] == std::string_view("warden")) return sl::agent::run_warden(argv[2]);
  if (argc != 3) {
    std::fprintf(stderr, "usage: schedulearn-launcher DATA_DIRECTORY OPEN_FILES\n  started by schedulearn agent run\n");
    return 2;
  }
  return sl::agent::Launcher(argv[1], std::strtoull(argv[2], nullptr, 10)).run();
}
