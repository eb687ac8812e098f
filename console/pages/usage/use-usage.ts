// The rows of the list of requests: page after page, or the newest as they come.

import { useEffect, useState } from 'react';
import type { PageShape, UsageShape } from '../../../src/admin-api/shapes.ts';
import type { Query } from '../../api.ts';
import { type Rows, useAsk, usePages } from '../../queries.ts';

const PAGE_ROWS = 50;
/** So many rows are looked for at a time; a page of a search may have fewer, and go on. */
const WANTED_ROWS = 25;
/** Pages that are asked for by themselves, before somebody is asked whether to look further back. */
const PAGES_BY_ITSELF_MAX = 10;
export const LIVE_MS = 3_000;

export interface UsageRows extends Rows<UsageShape> {
  /** It looked through many that do not match, and there are more. */
  isFarBack: boolean;
}

export function useUsage(query: Query, isLive: boolean): UsageRows {
  const newest = useNewest(query, isLive);
  const searched = useSearched(query, !isLive);
  return isLive ? newest : searched;
}

function useNewest(query: Query, isWanted: boolean): UsageRows {
  const answer = useAsk<PageShape<UsageShape>>(
    '/usage',
    { limit: PAGE_ROWS, ...query },
    { everyMs: LIVE_MS, isWanted },
  );
  return {
    rows: answer.data?.data ?? [],
    isLoading: answer.isLoading,
    failure: answer.error,
    showMore: null,
    isLoadingMore: false,
    reload: () => void answer.refetch(),
    isFarBack: false,
  };
}

function useSearched(query: Query, isWanted: boolean): UsageRows {
  const pages = usePages<UsageShape>('/usage', { limit: PAGE_ROWS, ...query }, { isWanted });
  const [search, setSearch] = useState(NEW_SEARCH);
  const asked = JSON.stringify(query);
  const current = search.asked === asked ? search : { ...NEW_SEARCH, asked };
  const isShort = pages.rows.length < current.wantedRows;
  const goesOn = isWanted && isShort && pages.showMore !== null && current.pageCount < PAGES_BY_ITSELF_MAX;
  const { showMore, isLoadingMore, failure } = pages;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for every page that has come
  useEffect(() => {
    if (!goesOn || isLoadingMore || failure !== null) return;
    setSearch({ ...current, pageCount: current.pageCount + 1 });
    showMore?.();
  }, [goesOn, isLoadingMore, asked]);
  const lookFurther = () => {
    setSearch({ asked, wantedRows: pages.rows.length + WANTED_ROWS, pageCount: 1 });
    showMore?.();
  };
  return {
    ...pages,
    isLoadingMore: isLoadingMore || goesOn,
    showMore: showMore === null ? null : lookFurther,
    isFarBack: isShort && showMore !== null && !goesOn,
  };
}

const NEW_SEARCH = { asked: '', wantedRows: WANTED_ROWS, pageCount: 0 };
