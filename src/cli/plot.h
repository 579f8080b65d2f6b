// `schedulearn plot cdf|gantt|util|lines|bars`: result folders in, SVG, PNG and CSV out.
#pragma once

#include <iosfwd>

#include "plot/make_figure.h"

namespace sl::cli {

// Draws and writes the files, then describes the picture on `out`. Nothing is written if anything is wrong with the
// input.
Status run_plot(const plot::PlotOptions& options, std::ostream& out);
// A figure that was made elsewhere, from these files.
Status draw(const plot::Figure& figure, const plot::PlotOptions& options, const std::vector<std::string>& inputs,
            std::ostream& out);

}  // namespace sl::cli
