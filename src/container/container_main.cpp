// schedulearn-container FOLDER: see run.h. Started by the launcher, not by hand.
#include <cstdio>

#include "container/run.h"

int main(int argc, char** argv) {
  if (argc == 2) return sl::container::run(argv[1]);
  std::fprintf(stderr, "usage: schedulearn-container FOLDER\n  started by schedulearn-launcher\n");
  return 2;
}
