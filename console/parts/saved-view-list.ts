// The saved views of the user, and the address that each opens.

import type { SavedViewShape } from '../../src/admin-api/shapes.ts';
import { useGet } from '../queries.ts';

const VIEWS_MAX = 1_000;

export function placeOf({ page, search }: Pick<SavedViewShape, 'page' | 'search'>) {
  return { to: page, search: Object.fromEntries(new URLSearchParams(search)) as Record<string, string> };
}

/** The views that the user sees, of all pages. */
export function useSavedViews(isEnabled: boolean): readonly SavedViewShape[] {
  return useGet('/views', { query: { limit: VIEWS_MAX }, isEnabled }).data?.data ?? [];
}
