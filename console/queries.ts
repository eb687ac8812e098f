// Hooks for pages: one answer, a paginated list, a change, and an idempotent creation.

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
import { useRef } from 'react';
import { call, type Query } from './api.ts';
import type { AnswerOf, Endpoints, GetPath, ListPath, RowOf } from './endpoints.ts';
import { nanoOf } from './money.ts';
import { useRange } from './parts/range.tsx';
import { costLabel, rangeQuery } from './range.ts';
import { markEditsSaved } from './unsaved.ts';

interface GetOptions {
  /** Replaces the placeholder of the path. */
  id?: string | undefined;
  query?: Query;
  /** Refetches at this interval while the page is visible. */
  everyMs?: number | undefined;
  isEnabled?: boolean;
}

/** Fetches one answer. While the parameters change, the previous answer stays visible. */
export function useGet<Path extends GetPath>(path: Path, options: GetOptions = {}): UseQueryResult<AnswerOf<Path>> {
  const { id, query = {}, everyMs, isEnabled = true } = options;
  return useQuery({
    queryKey: [path, id, query],
    queryFn: ({ signal }) => call<`GET ${Path}`>(`GET ${path}`, { id, query, signal }),
    placeholderData: keepPreviousData,
    enabled: isEnabled,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
}

export interface Rows<Row> {
  rows: Row[];
  isLoading: boolean;
  failure: Error | null;
  /** Null if there are no more rows. */
  showMore: (() => void) | null;
  isLoadingMore: boolean;
  reload: () => void;
}

/** Rows with the first page as the API returned it. */
export interface ListedRows<Path extends ListPath> extends Rows<RowOf<Path>> {
  firstPage: AnswerOf<Path> | undefined;
}

/** Fetches a list page by page. */
export function useList<Path extends ListPath>(path: Path, options: GetOptions = {}): ListedRows<Path> {
  const { id, query = {}, everyMs, isEnabled = true } = options;
  const answer = useInfiniteQuery({
    queryKey: [path, id, query, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      call(`GET ${path}`, { id, query: { limit: 50, ...query, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    enabled: isEnabled,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
  return {
    rows: answer.data?.pages.flatMap((page) => page.data as RowOf<Path>[]) ?? [],
    firstPage: answer.data?.pages[0] as AnswerOf<Path> | undefined,
    isLoading: answer.isLoading,
    failure: answer.error,
    showMore: answer.hasNextPage ? () => void answer.fetchNextPage() : null,
    isLoadingMore: answer.isFetchingNextPage,
    reload: () => void answer.refetch(),
  };
}

/** Converts a single page of a list to rows. */
export function rowsOf<Row>(answer: UseQueryResult<{ data: Row[] }>): Rows<Row> {
  return {
    rows: answer.data?.data ?? [],
    isLoading: answer.isLoading,
    failure: answer.error,
    showMore: null,
    isLoadingMore: false,
    reload: () => void answer.refetch(),
  };
}

const COST_GROUPS_MAX = 1_000;

export interface Costs {
  /** The name of its column. */
  label: string;
  /** "0" without usage; null while it is unknown, for example because there are more groups than the report lists, or totals that do not name theirs. */
  of: (id: string) => string | null;
  /** The highest cost of a group. */
  most: string;
}

/** The cost of each model, key, account, provider or group in the time range of the page, for columns of lists. */
export function useCosts(groupBy: 'model' | 'key' | 'account' | 'provider' | 'group', options: GetOptions = {}): Costs {
  const range = useRange();
  const query = { ...options.query, group_by: groupBy, ...rangeQuery(range), limit: COST_GROUPS_MAX };
  const totals = useGet('/usage/totals', { ...options, query }).data;
  const costs = new Map(totals?.data.map((row) => [row[groupBy], row.cost]));
  const isComplete = totals !== undefined && totals.groups <= totals.data.length;
  // Before the totals knew providers and groups, any of them may have had a part.
  const isAttributed = nanoOf(costs.get(null) ?? '0') === 0n;
  const of = (id: string) => (isAttributed ? (costs.get(id) ?? (isComplete ? '0' : null)) : null);
  return { label: costLabel(range), of, most: totals?.data[0]?.cost ?? '0' };
}

interface ChangeOptions<Answer> {
  /** Shown as a notification when the change succeeds. */
  done?: string;
  onDone?: (answer: Answer) => void | Promise<void>;
}

/** A change. When it succeeds, all visible data is refetched. The caller shows its failure. */
export function useChange<Input, Answer>(
  change: (input: Input) => Promise<Answer>,
  { done, onDone }: ChangeOptions<Answer> = {},
): UseMutationResult<Answer, Error, Input> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async (answer) => {
      markEditsSaved();
      if (done !== undefined) notifications.show({ message: done, color: 'road' });
      await queries.invalidateQueries();
      await onDone?.(answer);
    },
  });
}

export interface CreateOptions<Input, Answer> extends ChangeOptions<Answer> {
  id?: string;
  /** The request body for an input; by default the input itself. */
  toBody?: (input: Input) => object;
}

/**
 * A change with an idempotency key. A double click or a retry sends the same body with the same key and creates nothing
 * twice. A different input gets a new key.
 */
export function useCreate<Name extends keyof Endpoints, Input extends object = object>(
  name: Name,
  { id, toBody = (input) => input, ...options }: CreateOptions<Input, Endpoints[Name]> = {},
): UseMutationResult<Endpoints[Name], Error, Input> {
  const last = useRef<{ text: string; body: object; idempotencyKey: string }>(null);
  return useChange((input: Input) => {
    const text = JSON.stringify(input);
    if (last.current?.text !== text) last.current = { text, body: toBody(input), idempotencyKey: randomText() };
    const { body, idempotencyKey } = last.current;
    return call(name, { id, body, idempotencyKey });
  }, options);
}

/** crypto.randomUUID is unavailable on pages without TLS. */
function randomText(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
