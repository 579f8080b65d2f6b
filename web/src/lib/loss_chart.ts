import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

// Draws into an empty element as wide as its container.
export function draw(element: HTMLElement, losses: number[]): { destroy: () => void } {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = (label: string): uPlot.Axis => ({
    label,
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 }
  });
  const plot = new uPlot(
    {
      width: Math.max(260, element.clientWidth),
      height: 280,
      scales: { x: { time: false } },
      legend: { show: false },
      axes: [axis('epoch'), axis('loss')],
      series: [{}, { stroke: colour('--accent'), width: 2, points: { show: losses.length < 60 } }]
    },
    [losses.map((_, i) => i + 1), losses],
    element
  );
  const watcher = new ResizeObserver(() => plot.setSize({ width: Math.max(260, element.clientWidth), height: 280 }));
  watcher.observe(element);
  return {
    destroy: () => {
      watcher.disconnect();
      plot.destroy();
    }
  };
}
