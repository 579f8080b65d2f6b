// A simulation as one document that needs nothing else: what was simulated, its figures, its charts, the command.
import { get } from './client';
import { figures, fullest, meanOf, rowsOf, textOf, variedIn } from './simulations';
import type { SimulationChart, SimulationDetails } from './types';

const style =
  'body{font:15px/1.5 sans-serif;max-width:900px;margin:2em auto;padding:0 1em}table{border-collapse:collapse}th,td{padding:4px 10px;border-bottom:1px solid #ccc;text-align:right}th:first-child{text-align:left}img{max-width:100%}code{overflow-wrap:anywhere}';

// Everything is added as text or as an image, so nothing that a user has named becomes markup.
export async function reportOf(simulation: SimulationDetails): Promise<string> {
  const page = document.implementation.createHTMLDocument(`Simulation ${simulation.id}`);
  const add = (parent: Element, kind: string, text = ''): HTMLElement => {
    const made = parent.appendChild(page.createElement(kind));
    made.textContent = text;
    return made;
  };
  add(page.body, 'h1', `Simulation ${simulation.id}`);
  add(page.body, 'p', `${simulation.jobs} jobs: ${simulation.trace}, on ${simulation.gpus} GPUs (${simulation.servers}); asked for by ${simulation.user} at ${simulation.created_at}.`);
  add(add(page.body, 'p'), 'code', simulation.command);
  const table = add(page.body, 'table');
  const head = add(table, 'tr');
  for (const title of ['Policy', ...figures.map((figure) => figure.title)]) add(head, 'th', title);
  for (const row of rowsOf(fullest(simulation))) {
    const line = add(table, 'tr');
    add(line, 'th', row.name);
    for (const { key, kind } of figures) add(line, 'td', textOf(meanOf(row, key), kind));
  }
  for (const kind of ['cdf', 'bars', ...(variedIn(simulation) ? ['lines'] : []), 'util', 'queue']) {
    const metric = kind === 'bars' || kind === 'lines' ? '&metric=avg_jct_s' : '';
    const chart = await get<SimulationChart>(`simulations/${simulation.id}/charts/${kind}?theme=light&width_mm=170${metric}`);
    add(page.body, 'h2', chart.title);
    add(page.body, 'p', chart.summary);
    const image = add(page.body, 'img') as HTMLImageElement;
    image.alt = chart.summary;
    image.src = `data:image/svg+xml,${encodeURIComponent(chart.svg)}`;
    add(page.body, 'p', chart.caption);
  }
  // As text, because the rules of this page hold for what is made in it.
  return `<!doctype html>${page.documentElement.outerHTML.replace('</head>', () => `<style>${style}</style></head>`)}`;
}
