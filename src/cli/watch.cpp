#include "cli/watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "cli/usage.h"

namespace sl::cli {
namespace {

constexpr const char* watchable[] = {"ls",     "show",       "why",         "status",         "gpus",
                                     "events", "servers ls", "policy show", "policy history", "estimates"};
constexpr auto every = std::chrono::seconds(2);
constexpr auto key_every = std::chrono::milliseconds(50);  // for Ctrl-C

void wait_for_next() {
  const auto until = std::chrono::steady_clock::now() + every;
  while (interrupts() == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(key_every);
}

}  // namespace

int watch(const CLI::App& root, const Context& context, const std::function<int()>& action) {
  const std::string path = typed_command(root);
  if (std::ranges::find(watchable, path) == std::end(watchable)) {
    std::string all;
    for (const char* name : watchable) all += (all.empty() ? "" : ", ") + std::string(name);
    return fail(
        invalid("bad-flag", "--watch is for commands that only read, not for " + path).note("they are: " + all));
  }
  const bool on_screen = context.columns > 0;
  catch_interrupts();
  int status = 0;
  while (interrupts() == 0) {
    if (on_screen) std::fputs("\x1b[H\x1b[2J\x1b[3J", stdout);
    status = action();
    if (std::fflush(stdout) != 0 || *context.json_failed) break;
    wait_for_next();
  }
  return *context.json_failed ? 2 : status;
}

}  // namespace sl::cli
