// The least of a sequence of moves that still breaks the same rule.

/** `breaks` tells whether these moves break the rule. Stops looking after `triesMax`. */
export function shrink<Move extends { move: string; times?: number }>(
  moves: readonly Move[],
  breaks: (moves: readonly Move[]) => boolean,
  triesMax: number,
): Move[] {
  let least = [...moves];
  let tries = 0;
  const attempt = (target: Move[]): boolean => {
    if (tries++ >= triesMax || !breaks(target)) return false;
    least = target;
    return true;
  };
  for (let size = Math.ceil(least.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = least.length - size; at >= 0; at -= size) attempt([...least.slice(0, at), ...least.slice(at + size)]);
  for (let at = 0; at < least.length; at++) {
    for (;;) {
      const move = least[at] as Move;
      if (move.times === undefined || move.times <= 1) break;
      if (!attempt(least.with(at, { ...move, times: Math.ceil(move.times / 2) }))) break;
    }
  }
  return least;
}
