// How pages fetch and change: one hook for an answer, one for a list in pages, one for a change.

import { notifications } from '@mantine/notifications';
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import type { PageShape } from '../src/admin-api/shapes.ts';
import { ask, type Query } from './api.ts';

interface AskOptions {
  /** Asked again while the page is looked at; absent: only when something changes. */
  everyMs?: number;
  /** False: not asked yet. */
  isWanted?: boolean;
}

/** One answer of the admin API. While parameters change, the answer before stays shown. */
export function useAsk<Shape>(
  path: string,
  query: Query = {},
  { everyMs, isWanted = true }: AskOptions = {},
): UseQueryResult<Shape> {
  return useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => ask<Shape>(path, { query, signal }),
    placeholderData: keepPreviousData,
    enabled: isWanted,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
}

export interface Rows<Row> {
  rows: Row[];
  isLoading: boolean;
  failure: Error | null;
  /** Null where there are no more. */
  showMore: (() => void) | null;
  isLoadingMore: boolean;
  reload: () => void;
}

/** A list of the admin API, page after page. */
export function usePages<Row>(
  path: string,
  query: Query = {},
  { everyMs, isWanted = true }: AskOptions = {},
): Rows<Row> {
  const answer = useInfiniteQuery({
    queryKey: [path, query, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      ask<PageShape<Row>>(path, { query: { limit: 50, ...query, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    enabled: isWanted,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
  return {
    rows: answer.data?.pages.flatMap((page) => page.data) ?? [],
    isLoading: answer.isLoading,
    failure: answer.error,
    showMore: answer.hasNextPage ? () => void answer.fetchNextPage() : null,
    isLoadingMore: answer.isFetchingNextPage,
    reload: () => void answer.refetch(),
  };
}

interface ChangeOptions<Answer> {
  /** Told in a corner when it is done. */
  done?: string;
  onDone?: (answer: Answer) => void | Promise<void>;
}

/** A change: afterwards everything shown is asked again. Its failure is the page's to show, beside what was asked. */
export function useChange<Input, Answer>(
  change: (input: Input) => Promise<Answer>,
  { done, onDone }: ChangeOptions<Answer> = {},
): UseMutationResult<Answer, Error, Input> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async (answer) => {
      if (done !== undefined) notifications.show({ message: done, color: 'road' });
      await queries.invalidateQueries();
      await onDone?.(answer);
    },
  });
}
