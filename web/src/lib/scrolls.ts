// For a box that may be wider than its place: while it is, the keyboard can reach and scroll it.
export function scrolls(box: HTMLElement): { destroy: () => void } {
  const look = (): void => {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  };
  const watcher = new ResizeObserver(look);
  watcher.observe(box);
  for (const child of box.children) watcher.observe(child);
  return { destroy: () => watcher.disconnect() };
}
