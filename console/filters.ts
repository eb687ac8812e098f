// Filters of a page: kept in its address, so that it can be reloaded, gone back to and sent to somebody.

import { useNavigate, useSearch } from '@tanstack/react-router';

export interface Filters {
  values: Record<string, string>;
  /** An empty text or null takes a filter away. */
  set: (changes: Record<string, string | null>) => void;
  clear: () => void;
}

export function useFilters(): Filters {
  const values = useSearch({ strict: false }) as Record<string, string>;
  const navigate = useNavigate();
  const go = (search: Record<string, string>) => void navigate({ to: '.', search: search as never, replace: true });
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
