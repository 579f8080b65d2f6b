// Runs one fuzz target without libFuzzer: every file of a corpus unchanged, then mutations of them. Mutation number n
// of a seed always has the same bytes, so its number, which is printed when the target dies, is enough to repeat a
// crash.
//
//   fuzz_trace CORPUS [--mutations N] [--seed S] [--only N] [FILE…]
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

struct Options {
  std::string corpus;
  std::int64_t mutations = 0, only = -1;
  std::uint64_t seed = 1;
};

char last_words[400];  // for the signal handler, which may not allocate

void say_what_died(int signal) {
  (void)!::write(STDERR_FILENO, last_words, std::strlen(last_words));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(const std::string& input, const std::string& name) {
  std::snprintf(last_words, sizeof last_words, "\nthe target died of %s\n", name.c_str());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::vector<std::filesystem::path> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t below(sl::Random& random, std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); }

// Tokens that numbers, tables and JSON trip over.
constexpr const char* tokens[] = {"0",
                                  "-1",
                                  "1e308",
                                  "nan",
                                  "inf",
                                  "99999999999",
                                  "1000001",
                                  "0.5",
                                  ",",
                                  "\n",
                                  "\r\n",
                                  "\"",
                                  ";",
                                  "|",
                                  " ",
                                  "\t",
                                  "%",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  "null",
                                  ":",
                                  "=",
                                  "-",
                                  "18446744073709551616",
                                  "\xEF\xBB\xBF",
                                  ".",
                                  "e"};

void mutate_once(std::string& text, const std::string& other, sl::Random& random) {
  const std::size_t at = below(random, text.size() + 1),
                    length = below(random, std::min<std::size_t>(text.size(), 64)) + 1;
  switch (random() % 6) {
    case 0:  // one bit
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
      break;
    case 1:
      text.insert(at, tokens[below(random, std::size(tokens))]);
      break;
    case 2:
      text.erase(std::min(at, text.size()), length);
      break;
    case 3:  // repeats a piece
      text.insert(at, text.substr(below(random, text.size() + 1), length));
      break;
    case 4:  // appends the end of another file
      text = text.substr(0, at) + other.substr(below(random, other.size() + 1));
      break;
    case 5:
      if (at < text.size()) text[at] = static_cast<char>(random());
  }
}

std::string mutation(const std::vector<std::string>& corpus, std::uint64_t seed, std::int64_t number) {
  sl::Random random(seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(number));
  std::string text = corpus[below(random, corpus.size())];
  for (std::size_t left = 1 + below(random, 8); left > 0; --left)
    mutate_once(text, corpus[below(random, corpus.size())], random);
  return text;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoll(argv[++i], nullptr, 10) : 0; };
    if (word == "--mutations") {
      options.mutations = number();
    } else if (word == "--seed") {
      options.seed = static_cast<std::uint64_t>(number());
    } else if (word == "--only") {
      options.only = number();
    } else {
      options.corpus = word;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.corpus.empty())
    return std::fputs("usage: fuzz_TARGET CORPUS [--mutations N] [--seed S] [--only N]\n", stderr), 2;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, say_what_died);
  std::vector<std::string> corpus;
  for (const auto& path : files_of(options.corpus)) {
    corpus.push_back(read(path));
    run(corpus.back(), path.string());
  }
  if (corpus.empty()) return std::fputs("the corpus is empty\n", stderr), 2;
  const std::int64_t first = options.only >= 0 ? options.only : 0;
  const std::int64_t last = options.only >= 0 ? options.only + 1 : options.mutations;
  for (std::int64_t n = first; n < last; ++n)
    run(mutation(corpus, options.seed, n),
        "mutation: --seed " + std::to_string(options.seed) + " --only " + std::to_string(n));
  std::printf("%zu files and %lld mutations\n", corpus.size(), static_cast<long long>(last - first));
}
