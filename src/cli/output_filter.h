// Which lines of an output are shown: those since a time, those that match a pattern, those from the first error on.
#pragma once

#include <regex.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::cli {

struct LineChoice {
  std::optional<std::int64_t> since_us;  // UTC; lines whose time is unknown are shown and counted
  std::string grep;                      // extended regular expression (regex(7)); empty: every line
  bool errors = false;                   // from the first line on that looks like an error
  bool shows_times = false;              // the times before the lines are part of what is shown
  bool color = false;                    // what matches is highlighted

  bool is_all() const { return !since_us && grep.empty() && !errors; }
  bool has_times() const { return since_us || shows_times; }  // each line must arrive with its time
};

// What the line an error begins with looks like, in upper or lower case: of Python, CUDA, NCCL and the C library. The
// web page has the same rule (web/src/lib/log.svelte.ts), in words in docs/guide/jobs.md.
extern const char* const first_error;

class OutputFilter {
 public:
  using Print = std::function<bool(std::string_view)>;
  // Error "bad-pattern".
  static Result<OutputFilter> make(LineChoice choice, Print print);

  // The next bytes of the output, each line after its time and a space if the choice has times. Whether to go on.
  bool add(std::string_view bytes);
  bool finish();  // the output ends here, or another begins

  bool has_found() const { return has_found_; }      // a line was shown
  std::int64_t untimed() const { return untimed_; }  // lines shown whose time is unknown

 private:
  struct Free {
    void operator()(regex_t* compiled) const {
      regfree(compiled);
      delete compiled;
    }
  };
  using Pattern = std::unique_ptr<regex_t, Free>;
  static Result<Pattern> compile(const std::string& text, int flags);
  OutputFilter(LineChoice choice, Print print) : choice_(std::move(choice)), print_(std::move(print)) {}
  bool use(std::string_view line);
  bool is_recent(std::string_view time);
  std::string highlighted(std::string_view line) const;

  LineChoice choice_;
  Print print_;
  Pattern grep_, errors_;
  std::string held_;         // a line that is not complete
  bool begins_line_ = true;  // whether what is held does
  bool continues_ = false;   // whether the line it continues is recent
  bool has_failed_ = false;  // the first error has been seen
  bool has_found_ = false;
  std::int64_t untimed_ = 0;
};

}  // namespace sl::cli
