#include "cli/top_screen.h"

#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <ncurses.h>

namespace sl::cli {
namespace {

constexpr int wait_ms = 100;

// In the order of Style; the last one is shown reversed.
struct Look {
  short color;
  attr_t attributes;
};

class CursesScreen : public Screen {
 public:
  CursesScreen(SCREEN* screen, bool is_light) : screen_(screen) {
    ::cbreak(), ::noecho(), ::curs_set(0);
    ::keypad(stdscr, true);
    ::set_escdelay(50);
    ::wtimeout(stdscr, wait_ms);
    if (!::has_colors()) return;
    ::start_color(), ::use_default_colors();
    const short busy = is_light ? COLOR_BLUE : COLOR_YELLOW;
    const short hot = is_light ? COLOR_RED : COLOR_MAGENTA;
    const short colors[] = {COLOR_GREEN, busy, hot, COLOR_RED};
    for (short i = 0; i < 4; ++i) ::init_pair(static_cast<short>(i + 1), colors[i], -1);
  }
  ~CursesScreen() override {
    ::endwin();
    ::delscreen(screen_);
  }

  TopSize size() const override {
    return {static_cast<std::size_t>(::getmaxx(stdscr)), static_cast<std::size_t>(::getmaxy(stdscr))};
  }

  void draw(const std::vector<StyledLine>& lines) override {
    ::werase(stdscr);
    int row = 0;
    for (const StyledLine& line : lines) {
      ::wmove(stdscr, row++, 0);
      for (const Span& span : line) {
        ::wattrset(stdscr, static_cast<int>(attributes_of(span.style)));
        ::waddnstr(stdscr, span.text.c_str(), static_cast<int>(span.text.size()));
      }
    }
    ::wrefresh(stdscr);
  }

  int key() override {
    const int got = ::wgetch(stdscr);
    switch (got) {
      case ERR:
      case KEY_RESIZE:
        return no_key;
      case KEY_UP:
        return key_up;
      case KEY_DOWN:
        return key_down;
      case KEY_PPAGE:
        return key_page_up;
      case KEY_NPAGE:
        return key_page_down;
      case KEY_ENTER:
      case '\n':
      case '\r':
        return key_enter;
      case 27:
        return key_escape;
      case KEY_BACKSPACE:
      case 127:
      case 8:
        return key_erase;
      default:
        return got > 0 && got < 256 ? got : static_cast<int>(no_key);
    }
  }

  void leave_for(const std::function<void()>& work) override {
    ::def_prog_mode();
    ::endwin();
    work();
    std::fputs("\nAny key goes back. ", stdout);
    std::fflush(stdout);
    ::reset_prog_mode();  // keys come one by one and unseen
    char key = 0;
    while (::read(STDIN_FILENO, &key, 1) < 0 && errno == EINTR) {
    }
    ::flushinp();  // the rest of an arrow
    ::clearok(stdscr, true);
  }

 private:
  static attr_t attributes_of(Style style) {
    switch (style) {
      case Style::plain:
        return A_NORMAL;
      case Style::dim:
        return A_DIM;
      case Style::title:
        return A_BOLD;
      case Style::good:
        return static_cast<attr_t>(COLOR_PAIR(1));
      case Style::busy:
        return static_cast<attr_t>(COLOR_PAIR(2));
      case Style::hot:
        return static_cast<attr_t>(COLOR_PAIR(3)) | A_BOLD;
      case Style::bad:
        return static_cast<attr_t>(COLOR_PAIR(4)) | A_BOLD;
      case Style::chosen:
        return A_REVERSE;
    }
    return A_NORMAL;
  }
  SCREEN* screen_;
};

}  // namespace

Result<std::unique_ptr<Screen>> Screen::open(bool is_light) {
  const auto no_terminal = [](const std::string& why) {
    return invalid("no-terminal", why).hint("schedulearn ls -w").hint("schedulearn status");
  };
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return no_terminal("top needs a terminal");
  std::setlocale(LC_ALL, "");
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (!screen) {
    const char* kind = std::getenv("TERM");
    return no_terminal("a terminal of the kind '" + std::string(kind ? kind : "") + "' cannot show a screen");
  }
  return std::unique_ptr<Screen>(std::make_unique<CursesScreen>(screen, is_light));
}

}  // namespace sl::cli
