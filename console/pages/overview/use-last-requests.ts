// The last requests: whether there is any says what the overview is to be, and the same answer is its list of them.

import type { UseQueryResult } from '@tanstack/react-query';
import type { PageShape, UsageShape } from '../../../src/admin-api/shapes.ts';
import { useAsk } from '../../queries.ts';

const SHOWN_MAX = 8;

export function useLastRequests(everyMs?: number): UseQueryResult<PageShape<UsageShape>> {
  return useAsk<PageShape<UsageShape>>('/usage', { limit: SHOWN_MAX }, everyMs === undefined ? {} : { everyMs });
}
