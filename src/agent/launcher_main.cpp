// schedulearn-launcher DATA_DIRECTORY: see launcher.h. Started by the agent, not by hand.
#include <cstdio>

#include "agent/launcher.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: schedulearn-launcher DATA_DIRECTORY\n  started by schedulearn agent run\n");
    return 2;
  }
  return sl::agent::Launcher(argv[1]).run();
}
