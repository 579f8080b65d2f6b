// The report: plain HTML with the charts inside, without scripts or anything to load.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/render.h"
#include "plot/svg.h"
#include "plot/text.h"
#include "reproduce/output.h"

namespace sl::reproduce {
namespace {

constexpr double wide_mm = 165, narrow_mm = 85;  // of charts; narrow ones are shown on phones

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
h3{font-size:1rem;margin:1rem 0 .2rem}li{margin:.15rem 0}code{font-size:.92em}
th{font-weight:600}td.n{font-variant-numeric:tabular-nums}.whole{white-space:nowrap}.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--soft)}
ul{padding-left:1.2rem}figure{margin:0 0 1.2rem;overflow-x:auto}figure svg{display:block;width:100%;height:auto}figure .narrow{display:none}
@media (max-width:640px){body{padding:1rem}figure .wide{display:none}figure .narrow{display:block}
thead{display:none}tbody,tr,td{display:block}tr{border-bottom:1px solid var(--rule);padding:.4rem 0}td{border:0;padding:.05rem 0}
td[data-l]:not(:empty)::before{content:attr(data-l) ": ";color:var(--soft)}}
)css";

// Text for people: `words` between backticks are code.
std::string prose(const std::string& text) {
  std::string html = plot::escaped(text);
  for (std::size_t open = html.find('`'); open != std::string::npos; open = html.find('`')) {
    const std::size_t close = html.find('`', open + 1);
    if (close == std::string::npos) break;
    html.replace(close, 1, "</code>");
    html.replace(open, 1, "<code>");
  }
  return html;
}

// A cell with its column's name, which phones show in front of it.
std::string cell(const char* column, const std::string& text, const char* look = "") {
  return fmt::format("<td{}{}>{}</td>", *column == 0 ? "" : fmt::format(" data-l=\"{}\"", column),
                     *look == 0 ? "" : fmt::format(" class=\"{}\"", look), prose(text));
}

// Number, interval and unit stay on one line: "5,527 ± 117 s". Other text may wrap.
std::string number_cell(const char* column, const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_of("0123456789") <= 1;
  return cell(column, text, is_number ? "n whole" : "n");
}

// Class names above differ from those of the charts, which share the page. Ids must be unique within one document; each
// picture brings the same style sheet, and one is enough.
std::string inlined(const Chart& chart, const std::string& experiment, const char* look, double width_mm,
                    bool with_style) {
  std::string svg = plot::render(chart.figure, {width_mm, plot::Theme::automatic});
  const auto replace = [&](const std::string& from, const std::string& to) {
    if (const std::size_t at = svg.find(from); at != std::string::npos) svg.replace(at, from.size(), to);
  };
  const std::string id = fmt::format("{}-{}-{}", experiment, chart.file, look);
  replace("<svg ", fmt::format("<svg class=\"{}\" ", look));
  replace("aria-labelledby=\"title desc\"", fmt::format("aria-labelledby=\"{0}-title {0}-desc\"", id));
  replace("<title id=\"title\">", "<title id=\"" + id + "-title\">");
  replace("<desc id=\"desc\">", "<desc id=\"" + id + "-desc\">");
  const auto cut = [&](const std::string& from, const std::string& to) {
    const std::size_t begin = svg.find(from), end = svg.find(to);
    if (begin != std::string::npos && end != std::string::npos) svg.erase(begin, end + to.size() - begin);
  };
  cut("<metadata>", "</metadata>");
  if (!with_style) cut("<style>", "</style>");
  return svg;
}

// The cell that names the experiment, spanning all of its rows.
std::string name_cell(const std::string& name, std::size_t row, std::size_t rows) {
  if (row > 0) return "";
  return fmt::format("<td rowspan=\"{0}\"><a href=\"#{1}\">{1}</a></td>", rows, name);
}

// Published numbers that none of our inputs contains.
std::vector<const Measure*> predicted(const Done& done) {
  std::vector<const Measure*> list;
  for (const Measure& measure : done.experiment->measures) {
    if (measure.published && measure.basis == Basis::predicted) list.push_back(&measure);
  }
  return list;
}

std::string predictions(const std::vector<Done>& all) {
  std::string html =
      "<h3>Published numbers that we predict</h3>\n<div class=\"scroll\"><table><thead><tr><th>experiment</th>"
      "<th>quantity</th><th>published</th><th>ours (95 % interval)</th></tr></thead><tbody>\n";
  for (const Done& done : all) {
    const std::vector<const Measure*> measures = predicted(done);
    for (std::size_t i = 0; i < measures.size(); ++i) {
      const MeasureText shown = text_of(*measures[i], done.findings);
      html += "<tr>" + name_cell(done.experiment->name, i, measures.size()) + cell("", shown.quantity) +
              number_cell("published", shown.published) + number_cell("ours", shown.ours) + "</tr>\n";
    }
  }
  return html + "</tbody></table></div>\n";
}

const char* look_of(Verdict verdict) {
  return verdict == Verdict::holds ? "good" : verdict == Verdict::does_not_hold ? "bad" : "open";
}

std::string claim_item(const ClaimText& claim, const std::string& before) {
  return fmt::format("<li><span class=\"{}\">{}</span> {}{}{}</li>\n", look_of(claim.verdict), sign_of(claim.verdict),
                     before, prose(claim.sentence), claim.why.empty() ? "" : ". Why: " + prose(claim.why));
}

// The claims of all experiments with this verdict; nothing if there are none.
std::string verdicts(const std::vector<Done>& all, Verdict verdict) {
  std::string html;
  for (const Done& done : all) {
    for (const ClaimText& claim : claims_of(done)) {
      if (claim.verdict == verdict)
        html += claim_item(claim, fmt::format("<a href=\"#{0}\">{0}</a>: ", done.experiment->name));
    }
  }
  if (html.empty()) return html;
  constexpr const char* titles[] = {"Claims that hold", "Claims that do not hold",
                                    "Claims that are not refuted, which is no support"};
  return fmt::format("<h3>{}</h3>\n<ul>\n{}</ul>\n", titles[static_cast<int>(verdict)], html);
}

std::string choices(const std::vector<Choice>& list) {
  if (list.empty()) return "";
  std::string html = "<p>Chosen or fitted:</p><ul>\n";
  for (const Choice& choice : list)
    html += "<li>" + prose(choice.what) + "<span class=\"aside\">; " + prose(choice.why) + "</span></li>\n";
  return html + "</ul>\n";
}

// How many of the published numbers that we predict are near ours.
std::string nearness(const std::vector<Done>& all) {
  constexpr double near = 0.1;
  std::size_t count = 0, near_ones = 0;
  for (const Done& done : all) {
    for (const Measure* measure : predicted(done)) {
      ++count;
      near_ones +=
          std::abs(done.findings.mean(measure->key) - *measure->published) <= near * std::abs(*measure->published);
    }
  }
  return fmt::format("{} of the {} published numbers that we predict are within 10 % of ours.", near_ones, count);
}

std::string measures(const Done& done) {
  std::string html =
      "<div class=\"scroll\"><table><thead><tr><th>quantity</th><th>published</th><th>ours (95 % "
      "interval)</th><th>why different</th></tr></thead><tbody>\n";
  for (const Measure& measure : done.experiment->measures) {
    const MeasureText shown = text_of(measure, done.findings);
    html += "<tr>" + cell("", shown.quantity) + number_cell("published", shown.published) +
            number_cell("ours", shown.ours) + cell("why different", shown.why, "aside") + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string section(const Done& done, bool& styled) {
  const Experiment& e = *done.experiment;
  std::string html = fmt::format("<section id=\"{}\"><h2>{}</h2><p class=\"source\">{}</p><p>{}</p>\n", e.name,
                                 prose(e.title), prose(e.source), prose(e.method));
  html += "<div class=\"beside\"><div>" + measures(done) + "<ul>\n";
  for (const ClaimText& claim : claims_of(done)) html += claim_item(claim, "");
  html += "</ul>\n" + choices(e.choices);
  for (const auto* list : {&e.notes, &done.findings.remarks}) {
    for (const std::string& note : *list) html += "<p class=\"aside\">" + prose(note) + "</p>\n";
  }
  html += fmt::format("<p class=\"aside\">{}; numbers: {}/figures.csv</p></div><div>\n",
                      done.seeds == 1 ? "1 seed" : fmt::format("{} seeds", done.seeds), e.name);
  for (const Chart& chart : done.findings.charts) {
    html += "<figure>" + inlined(chart, e.name, "wide", wide_mm, !styled) +
            inlined(chart, e.name, "narrow", narrow_mm, false) + "</figure>\n";
    styled = true;
  }
  return html + "</div></div></section>\n";
}

}  // namespace

std::string report(const std::vector<Done>& all, const std::string& command) {
  std::size_t claims = 0, held = 0;
  for (const Done& done : all) {
    for (const ClaimText& claim : claims_of(done)) ++claims, held += claim.verdict == Verdict::holds;
  }
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>Schedulearn: published experiments, run "
      "again</title><link rel=\"icon\" href=\"data:,\"><style>{}</style></head><body>\n<h1>Published experiments, run "
      "again</h1>\n<h2>Findings</h2>\n<p>{} of {} claims hold. {}</p>\n",
      style, held, claims, nearness(all));
  html += verdicts(all, Verdict::does_not_hold) + verdicts(all, Verdict::not_refuted) + "<div class=\"beside\"><div>" +
          verdicts(all, Verdict::holds) + "</div><div>" + predictions(all) + "</div></div>\n";
  html += fmt::format("<p class=\"aside\">Made by schedulearn " SCHEDULEARN_VERSION ": <code>{}</code></p>\n",
                      plot::escaped(command));
  bool styled = false;
  for (const Done& done : all) html += section(done, styled);
  return html + "</body></html>\n";
}

}  // namespace sl::reproduce
