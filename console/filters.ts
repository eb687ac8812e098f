// The filters of a page, kept in its address so that it can be reloaded and shared.

import { useSearch } from '@tanstack/react-router';
import { useGoTo } from './parts/link.tsx';

export interface Filters {
  values: Record<string, string>;
  /** An empty string or null removes a filter. */
  set: (changes: Record<string, string | null>) => void;
  clear: () => void;
  /** Replaces all parameters of the address, and by default its entry in the browser history. The time range stays without one. */
  go: (search: Record<string, string>, isReplacing?: boolean) => void;
}

/** Parameters of the address that do not leave out rows. */
const VIEW_PARAMETERS = ['sort', 'order', 'group_by', 'tag_name', 'view', 'show', 'api', 'range'];

/** The number of filters in the address. */
export function countFilters(values: Readonly<Record<string, string>>): number {
  return Object.keys(values).filter((name) => !VIEW_PARAMETERS.includes(name)).length;
}

export type Order = 'asc' | 'desc';

/** The order of a list, kept in the address. */
export interface Sorting {
  by: string;
  order: Order;
  set: (by: string, order: Order) => void;
}

/** `by` and `order` apply until the user chooses another order. */
export function useSorting(by: string, order: Order): Sorting {
  const { values, set } = useFilters();
  const shown: Order = values['order'] === 'asc' || values['order'] === 'desc' ? values['order'] : order;
  return {
    by: values['sort'] ?? by,
    order: shown,
    set: (chosen, next) =>
      set({ sort: chosen === by ? null : chosen, order: chosen === by && next === order ? null : next }),
  };
}

export function useFilters(): Filters {
  const values = useSearch({ strict: false }) as Record<string, string>;
  const goTo = useGoTo();
  const go = (search: Record<string, string>, isReplacing = true) => void goTo('.', search, isReplacing);
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
    go,
  };
}
