// The present time in steps: it changes when the next step begins, and not before.

import { useEffect, useState } from 'react';

const LOOKED_EVERY_MS = 5_000;

export function usePresent(stepMs: number): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), LOOKED_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return Math.floor(nowMs / stepMs) * stepMs;
}
