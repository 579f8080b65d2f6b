// The report: plain HTML with the charts inside it, no script, nothing to load.
#include <fmt/format.h>

#include <algorithm>

#include "plot/render.h"
#include "plot/svg.h"
#include "plot/text.h"
#include "reproduce/output.h"

namespace sl::reproduce {
namespace {

constexpr double chart_width_mm = 165;

constexpr const char* style = R"css(
:root{color-scheme:light dark;--ground:#fff;--ink:#1f2328;--soft:#57606a;--rule:#dfe3e8;--good:#116329;--bad:#b3261e;--link:#0060a0}
@media (prefers-color-scheme:dark){:root{--ground:#0d1117;--ink:#e6edf3;--soft:#9aa4af;--rule:#2d333b;--good:#56d364;--bad:#ff8a80;--link:#79b8ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1440px;padding:1.5rem;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,Arial,sans-serif}
h1{font-size:1.6rem;margin:0}td a{white-space:nowrap}h2{font-size:1.2rem;margin:0}a{color:var(--link)}
.lead,.source,.aside{color:var(--soft)}.source{margin:.1rem 0 .6rem}.aside{font-size:.87rem}
section{border-top:1px solid var(--rule);padding:1.4rem 0}
.beside{display:grid;grid-template-columns:minmax(0,1fr);gap:1.5rem}
@media (min-width:1100px){.beside{grid-template-columns:minmax(0,1fr) minmax(0,1fr)}}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.87rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--rule)}
th{font-weight:600}td.n{font-variant-numeric:tabular-nums}.whole{white-space:nowrap}.good{color:var(--good)}.bad{color:var(--bad)}
ul{padding-left:1.2rem}figure{margin:0 0 1.2rem;overflow-x:auto}figure svg{display:block;width:100%;min-width:34rem;height:auto}
)css";

// Number, interval and unit stay on one line: "5,527 ± 117 s". Words may be broken.
std::string number_cell(const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_of("0123456789") <= 1;
  return fmt::format("<td class=\"{}\">{}</td>", is_number ? "n whole" : "n", plot::escaped(text));
}

std::string cell(const std::string& text, const char* look = "") {
  return fmt::format("<td{}>{}</td>", *look == 0 ? "" : fmt::format(" class=\"{}\"", look), plot::escaped(text));
}

std::string verdict_cell(const ClaimText& claim) {
  return cell((claim.holds ? "✓ " : "✗ ") + claim.verdict + (claim.why.empty() ? "" : ": " + claim.why),
              claim.holds ? "good" : "bad");
}

// Class names above differ from those of the charts, which share the page. Ids must differ within one document; each
// picture brings its own style sheet, of which one is enough.
std::string inlined(const Chart& chart, const std::string& experiment, bool with_style) {
  std::string svg = plot::render(chart.figure, {chart_width_mm, plot::Theme::automatic});
  const auto replace = [&](const std::string& from, const std::string& to) {
    if (const std::size_t at = svg.find(from); at != std::string::npos) svg.replace(at, from.size(), to);
  };
  const std::string id = experiment + "-" + chart.file;
  replace("aria-labelledby=\"title desc\"", fmt::format("aria-labelledby=\"{0}-title {0}-desc\"", id));
  replace("<title id=\"title\">", "<title id=\"" + id + "-title\">");
  replace("<desc id=\"desc\">", "<desc id=\"" + id + "-desc\">");
  const auto cut = [&](const std::string& from, const std::string& to) {
    const std::size_t begin = svg.find(from), end = svg.find(to);
    if (begin != std::string::npos && end != std::string::npos) svg.erase(begin, end + to.size() - begin);
  };
  cut("<metadata>", "</metadata>");
  if (!with_style) cut("<style>", "</style>");
  return "<figure>" + svg + "</figure>\n";
}

// The cell of a row that says which experiment it is of, for all of its rows.
std::string name_cell(const std::string& name, std::size_t row, std::size_t rows) {
  if (row > 0) return "";
  return fmt::format("<td rowspan=\"{0}\"><a href=\"#{1}\">{1}</a></td>", rows, name);
}

// Numbers of the documents that nothing of ours knew.
std::string predictions(const std::vector<Done>& all) {
  std::string html =
      "<div class=\"scroll\"><table><thead><tr><th>experiment</th><th>published numbers we "
      "predict</th><th>published</th><th>ours (95 % interval)</th></tr></thead><tbody>\n";
  for (const Done& done : all) {
    std::vector<MeasureText> shown;
    for (const Measure& measure : done.experiment->measures) {
      if (measure.published && measure.basis == Basis::predicted) shown.push_back(text_of(measure, done.findings));
    }
    for (std::size_t i = 0; i < shown.size(); ++i)
      html += "<tr>" + name_cell(done.experiment->name, i, shown.size()) + cell(shown[i].quantity) +
              number_cell(shown[i].published) + number_cell(shown[i].ours) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string verdicts(const std::vector<Done>& all) {
  std::string html =
      "<div class=\"scroll\"><table><thead><tr><th>experiment</th><th>claim, of the document or "
      "ours</th><th>verdict</th></tr></thead><tbody>\n";
  for (const Done& done : all) {
    const std::vector<ClaimText> claims = claims_of(done);
    for (std::size_t i = 0; i < claims.size(); ++i)
      html += "<tr>" + name_cell(done.experiment->name, i, claims.size()) + cell(claims[i].sentence) +
              verdict_cell(claims[i]) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string measures(const Done& done) {
  std::string html =
      "<div class=\"scroll\"><table><thead><tr><th>quantity</th><th>published</th><th>ours (95 % "
      "interval)</th><th>why different</th></tr></thead><tbody>\n";
  for (const Measure& measure : done.experiment->measures) {
    const MeasureText shown = text_of(measure, done.findings);
    html += "<tr>" + cell(shown.quantity) + number_cell(shown.published) + number_cell(shown.ours) +
            cell(shown.why, "aside") + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string section(const Done& done, bool& styled) {
  const Experiment& e = *done.experiment;
  std::string html = fmt::format("<section id=\"{}\"><h2>{}</h2><p class=\"source\">{}</p><p>{}</p>\n", e.name,
                                 plot::escaped(e.title), plot::escaped(e.source), plot::escaped(e.method));
  html += "<div class=\"beside\"><div>" + measures(done) + "<ul>\n";
  for (const ClaimText& claim : claims_of(done))
    html +=
        fmt::format("<li class=\"{}\">{} {}{}</li>\n", claim.holds ? "good" : "bad", claim.holds ? "✓" : "✗",
                    plot::escaped(claim.sentence),
                    claim.holds ? "" : ": does not hold" + plot::escaped(claim.why.empty() ? "" : "; " + claim.why));
  html += "</ul>\n";
  for (const auto* list : {&e.notes, &done.findings.remarks}) {
    for (const std::string& note : *list) html += "<p class=\"aside\">" + plot::escaped(note) + "</p>\n";
  }
  html += fmt::format("<p class=\"aside\">{}; numbers: {}/figures.csv</p></div><div>\n",
                      done.seeds == 1 ? "1 seed" : fmt::format("{} seeds", done.seeds), e.name);
  for (const Chart& chart : done.findings.charts) {
    html += inlined(chart, e.name, !styled);
    styled = true;
  }
  return html + "</div></div></section>\n";
}

}  // namespace

std::string report(const std::vector<Done>& all, const std::string& command) {
  std::size_t claims = 0, held = 0;
  for (const Done& done : all) {
    for (const ClaimText& claim : claims_of(done)) ++claims, held += claim.holds ? 1 : 0;
  }
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>Schedulearn: published experiments, run "
      "again</title><link rel=\"icon\" href=\"data:,\"><style>{}</style></head><body>\n<h1>Published experiments, run "
      "again</h1>\n<p class=\"lead\">{} of {} claims hold. Made by schedulearn " SCHEDULEARN_VERSION
      ": <code>{}</code></p>\n",
      style, held, claims, plot::escaped(command));
  html += "<div class=\"beside\">" + predictions(all) + verdicts(all) + "</div>\n";
  bool styled = false;
  for (const Done& done : all) html += section(done, styled);
  return html + "</body></html>\n";
}

}  // namespace sl::reproduce
