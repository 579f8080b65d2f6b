#include "cli/plot.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>

#include "cli/output_paths.h"
#include "plot/png.h"
#include "plot/render.h"
#include "plot/text.h"
#include "wire/json_text.h"

namespace sl::cli {
namespace {

using plot::Figure;
using plot::PlotOptions;
using plot::Rendering;

Status write_file(const std::string& path, const std::string& text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (!file) return denied("cannot-write", "cannot write " + path);
  const bool is_whole =
      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
  return is_whole ? Status() : denied("cannot-write", "could not write all of " + path);
}

struct Destination {
  std::string svg, png, csv;  // paths; empty: not written
  bool is_standard_output = false;
};

Result<Destination> destination_of(const PlotOptions& options, const Figure& figure) {
  const std::string out = options.out.empty() ? figure.kind + ".svg" : options.out;
  if (out == "-") return Destination{"", "", options.csv, true};
  const std::string ending = std::filesystem::path(out).extension().string();
  if (ending != ".svg" && ending != ".png")
    return invalid("bad-flag", "--out ends in .svg or .png, not " + out).hint("--out " + out + ".svg");
  const std::string stem = out.substr(0, out.size() - ending.size());
  return Destination{stem + ".svg", ending == ".png" ? out : "", options.csv.empty() ? stem + ".csv" : options.csv,
                     false};
}

// The PNG converters do not know the reader's dark mode: `automatic` becomes light in PNG.
Status write_chart(const Figure& figure, const Rendering& rendering, const Destination& to) {
  const Result<std::string> converter = to.png.empty() ? Result<std::string>("") : plot::find_png_converter();
  if (!converter.ok()) return converter.error();
  if (!to.svg.empty()) {
    if (Status written = write_file(to.svg, plot::render(figure, rendering)); !written.ok()) return written;
  }
  if (!to.csv.empty()) {
    if (Status written = write_file(to.csv, plot::figure_csv(figure, rendering)); !written.ok()) return written;
  }
  if (to.png.empty()) return {};
  Rendering fixed = rendering;
  if (fixed.theme == plot::Theme::automatic) fixed.theme = plot::Theme::light;
  return plot::write_png(*converter, plot::render(figure, fixed), to.png);
}

void print_result(const PlotOptions& options, const Figure& figure, const Destination& to, std::ostream& out) {
  std::vector<std::string> files;
  for (const std::string& file : {to.svg, to.png, to.csv}) {
    if (!file.empty()) files.push_back(file);
  }
  if (!options.json) {
    out << figure.title << "\n\n"
        << figure.summary << '\n'
        << figure.caption << "\n\nwrote " << plot::joined(files, ", ") << '\n';
    for (const std::string& hint : figure.hints) out << "  hint: " << hint << '\n';
    return;
  }
  const boost::json::object document = {{"chart", options.chart},
                                        {"title", figure.title},
                                        {"summary", figure.summary},
                                        {"caption", figure.caption},
                                        {"files", boost::json::array(files.begin(), files.end())}};
  out << wire::json_text(document) << '\n';
}

// All but pictures, which may be drawn anew in their folder.
std::vector<std::string> files_read(const PlotOptions& options) {
  std::vector<std::string> files = options.jobs;
  std::error_code failed;
  for (const std::string& folder : options.runs) {
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
      const std::string name = at->path().filename().string();
      if (name == "run.json" || name.ends_with(".jobs.csv") || name.ends_with(".events.csv"))
        files.push_back(at->path().string());
    }
  }
  return files;
}

}  // namespace

Status draw(const Figure& figure, const PlotOptions& options, const std::vector<std::string>& inputs,
            std::ostream& out) {
  if (!(options.width_mm >= plot::width_mm_min && options.width_mm <= plot::width_mm_max))
    return invalid("bad-flag", fmt::format("--width is {} to {} mm", plot::width_mm_min, plot::width_mm_max));
  const Result<plot::Theme> theme = plot::parse_theme(options.theme);
  if (!theme.ok()) return theme.error();
  const Rendering rendering{options.width_mm, *theme};
  const Result<Destination> to = destination_of(options, figure);
  if (!to.ok()) return to.error();
  const std::vector<OutputPath> outputs = {{"--out", to->svg}, {"--out", to->png}, {"--csv", to->csv}};
  if (Status fine = check_outputs(outputs, inputs); !fine.ok()) return fine;
  if (Status written = write_chart(figure, rendering, *to); !written.ok()) return written;
  to->is_standard_output ? void(out << plot::render(figure, rendering)) : print_result(options, figure, *to, out);
  return {};
}

Status run_plot(const PlotOptions& options, std::ostream& out) {
  const Result<Figure> figure = plot::make_figure(options);
  return figure.ok() ? draw(*figure, options, files_read(options), out) : Status(figure.error());
}

}  // namespace sl::cli
