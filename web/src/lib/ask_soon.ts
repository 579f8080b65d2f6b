// A question about what somebody is typing: asked after a pause, and forgotten once something else is typed or what asked
// is closed.
// For an effect, which returns the result: after it has been called neither `got` nor `failed` is.
export function askSoon<T>(
  pauseMs: number,
  ask: () => Promise<T>,
  got: (answer: T) => void,
  failed: (error: unknown) => void
): () => void {
  let isWanted = true;
  const timer = setTimeout(() => {
    ask().then(
      (answer) => isWanted && got(answer),
      (error: unknown) => isWanted && failed(error)
    );
  }, pauseMs);
  return () => {
    isWanted = false;
    clearTimeout(timer);
  };
}
