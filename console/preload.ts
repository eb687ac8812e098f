// Loads scripts that a page may need, after it has its first content.

import { useEffect } from 'react';

/** Over a slow line, what the page shows comes first. */
const PRELOAD_MS = 4_000;

/** A failure shows when the script is used. */
export function usePreload(load: () => Promise<unknown>): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is loaded once
  useEffect(() => {
    const preloading = setTimeout(() => void load().catch(() => {}), PRELOAD_MS);
    return () => clearTimeout(preloading);
  }, []);
}
