// The filters of a page, kept in its address so that it can be reloaded and shared.

import { useSearch } from '@tanstack/react-router';
import { useGoTo } from './parts/link.tsx';

export interface Filters {
  values: Record<string, string>;
  /** An empty string or null removes a filter. */
  set: (changes: Record<string, string | null>) => void;
  clear: () => void;
}

export function useFilters(): Filters {
  const values = useSearch({ strict: false }) as Record<string, string>;
  const goTo = useGoTo();
  const go = (search: Record<string, string>) => void goTo('.', search, true);
  return {
    values,
    set(changes) {
      const next = { ...values };
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === '') delete next[name];
        else next[name] = value;
      }
      go(next);
    },
    clear: () => go({}),
  };
}
