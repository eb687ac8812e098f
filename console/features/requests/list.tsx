// The list of requests, with filters, orders, sums, live updates and CSV export.

import { Switch } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import type { Query } from '../../api.ts';
import { type Sorting, useFilters, useSorting } from '../../filters.ts';
import { type Grouping, groupingIn, groupingLabels } from '../../groupings.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { useNames } from '../../names.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { DataTable, NoRows } from '../../parts/data-table.tsx';
import { GroupingSelect } from '../../parts/grouping-select.tsx';
import { ActionButton, ButtonLink, pathOf } from '../../parts/link.tsx';
import { FailureNotice, Hint, PageHead } from '../../parts/page.tsx';
import { usePickBuckets, useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { UsageTabs } from '../../parts/usage-tabs.tsx';
import { type Rows, rowsOf, useGet, useList } from '../../queries.ts';
import { usageColumns, usageCsvColumns } from './columns.tsx';
import { UsageFilters } from './filters.tsx';
import { usageQuery } from './query.ts';
import { UsageGroups, UsageTotals, useUsageSummary } from './summary.tsx';

/** Account holders have one account, and do not see providers. */
const { account: _, provider: __, group: ___, ...ofAccounts } = groupingLabels;

const MS_PER_SECOND = 1_000;

export function UsageList() {
  const filters = useFilters();
  const [isLive, setLive] = useState(false);
  const sorting = useSorting('at', 'desc');
  const filter = usageQuery(filters.values, useRange());
  const query = {
    ...filter,
    ...(sorting.by !== 'at' && { sort: sorting.by }),
    ...(sorting.order === 'asc' && { order: 'asc' }),
  };
  const isInstallation = seesInstallation(useMe());
  const groupings = isInstallation ? groupingLabels : ofAccounts;
  const grouping = groupingIn<Grouping>(filters.values, groupings);
  const summary = useUsageSummary(filter, grouping, isLive, filters.values['tag_name']);
  const { buckets = [], step_seconds: step = 0 } = summary.data ?? {};
  const pick = usePickBuckets(buckets, filters.values, step * MS_PER_SECOND);
  const rows = useUsage(query, isLive, grouping === null);
  const refresh = () => {
    void summary.refetch();
    rows.reload();
  };
  return (
    <>
      <PageHead
        title="Usage"
        text="All accepted requests."
        actions={
          <>
            <Switch
              label="Live"
              title="Fetches new requests every few seconds"
              checked={isLive}
              onChange={(event) => setLive(event.currentTarget.checked)}
            />
            <ActionButton label="Refresh" onClick={refresh} icon="refresh" />
            <CsvButton
              path="/usage"
              query={query}
              columns={usageCsvColumns(isInstallation)}
              fileName={`usage-${new Date().toISOString().slice(0, 10)}.csv`}
            />
          </>
        }
      />
      <UsageTabs current="accepted" />
      <UsageFilters filters={filters} />
      {summary.data !== undefined && (
        <UsageTotals summary={summary.data} filter={filter} isLive={isLive} onPick={pick}>
          <GroupingSelect labels={groupings} usual={null} />
        </UsageTotals>
      )}
      {grouping === null ? (
        <>
          <FailureNotice failure={summary.error} />
          <RequestTable rows={rows} sorting={sorting} />
        </>
      ) : (
        <UsageGroups grouping={grouping} answer={summary} filters={filters} />
      )}
    </>
  );
}

interface RequestTableProps {
  rows: UsageRows;
  sorting: Sorting;
}

export function RequestTable({ rows, sorting }: RequestTableProps) {
  const isInstallation = seesInstallation(useMe());
  const names = useNames(rows.rows);
  return (
    <>
      <DataTable<UsageShape>
        label="Requests"
        columns={usageColumns(names, isInstallation)}
        rows={rows}
        sorting={sorting}
        keyOf={({ request_id }) => request_id}
        empty={<Empty />}
        linkTo={({ request_id }) => pathOf.request(request_id)}
      />
      {rows.searchedSince !== null && (
        <Hint mt="xs" role="status" component="div">
          {'Too many requests match: this order has those since '}
          <When at={rows.searchedSince} />
          {'. Narrow the filters to look further back.'}
        </Hint>
      )}
      {rows.isStoppedEarly && (
        <Hint mt="xs" role="status">
          {sorting.order === 'desc'
            ? 'Few recent requests match. Select “Show more” to search further back.'
            : 'Few early requests match. Select “Show more” to search further.'}
        </Hint>
      )}
    </>
  );
}

function Empty() {
  return (
    <NoRows
      of="requests"
      advice="Change or clear the filters. Rejected requests are listed under Rejected."
      icon="list"
      title="No requests yet"
      text="Each request appears here with its cost when it completes."
      action={<ButtonLink label="Send a request" to="/playground" />}
    />
  );
}

const PAGE_ROWS = 50;
/** The number of rows to find per search; a page of a filtered list may contain fewer. */
const MATCHES_WANTED = 25;
/** The number of pages that a search fetches before it waits for the user. */
const AUTOMATIC_PAGES_MAX = 10;
const LIVE_MS = 3_000;

interface UsageRows extends Rows<UsageShape> {
  /** The search stopped early: many rows did not match, and there are more. */
  isStoppedEarly: boolean;
  /** Earlier rows are not in this order; null: all are. */
  searchedSince: string | null;
}

export function useUsage(query: Query, isLive: boolean, isWanted: boolean): UsageRows {
  const newest = useLiveRows(query, isLive && isWanted);
  const searched = useSearchRows(query, !isLive && isWanted);
  return isLive ? newest : searched;
}

function useLiveRows(query: Query, isWanted: boolean): UsageRows {
  const answer = useGet('/usage', { query: { limit: PAGE_ROWS, ...query }, everyMs: LIVE_MS, isEnabled: isWanted });
  return { ...rowsOf(answer), isStoppedEarly: false, searchedSince: answer.data?.searched_since ?? null };
}

function useSearchRows(query: Query, isWanted: boolean): UsageRows {
  const pages = useList('/usage', { query: { limit: PAGE_ROWS, ...query }, isEnabled: isWanted });
  const [search, setSearch] = useState(NEW_SEARCH);
  const asked = JSON.stringify(query);
  // A ranking has all its rows at once.
  const isSearch = query['sort'] === undefined;
  const current = search.asked === asked ? search : { ...NEW_SEARCH, asked };
  const isShort = isSearch && pages.rows.length < current.matchesWanted;
  const isSearching = isWanted && isShort && pages.showMore !== null && current.pageCount < AUTOMATIC_PAGES_MAX;
  const { showMore, isLoadingMore, failure } = pages;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once for every page
  useEffect(() => {
    if (!isSearching || isLoadingMore || failure !== null) return;
    setSearch({ ...current, pageCount: current.pageCount + 1 });
    showMore?.();
  }, [isSearching, isLoadingMore, asked]);
  const searchFurther = () => {
    setSearch({ asked, matchesWanted: pages.rows.length + MATCHES_WANTED, pageCount: 1 });
    showMore?.();
  };
  return {
    ...pages,
    isLoadingMore: isLoadingMore || isSearching,
    showMore: showMore === null ? null : searchFurther,
    isStoppedEarly: isShort && showMore !== null && !isSearching,
    searchedSince: pages.firstPage?.searched_since ?? null,
  };
}

const NEW_SEARCH = { asked: '', matchesWanted: MATCHES_WANTED, pageCount: 0 };
