// schedulearn-launcher DATA_DIRECTORY: see launcher.h. Started by the agent, not by hand.
// schedulearn-launcher ranks COUNT COMMAND...: see ranks.h. Started by itself.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "agent/launcher.h"
#include "agent/ranks.h"

int main(int argc, char** argv) {
  if (argc > 3 && argv[1] == std::string_view("ranks")) return sl::agent::run_ranks(std::atoi(argv[2]), argv + 3);
  if (argc != 2) {
    std::fprintf(stderr, "usage: schedulearn-launcher DATA_DIRECTORY\n  started by schedulearn agent run\n");
    return 2;
  }
  return sl::agent::Launcher(argv[1]).run();
}
