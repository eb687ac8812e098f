// Requests that were rejected before admission: counts by key, code and minute, newest first, and totals by code.

import { Code, Stack, Text } from '@mantine/core';
import type { RefusalShape, RefusalTotalShape } from '../../../src/admin-api/shapes.ts';
import { formatCount, formatShare } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { withMoney } from '../../money.ts';
import { type Names, useNames } from '../../names.ts';
import { type Column, DataTable, NoRows, PlainTable, timeColumn } from '../../parts/data-table.tsx';
import { FilterChips, type ListFilter, useAccountFilter } from '../../parts/filter-chips.tsx';
import { foundKeys } from '../../parts/found.ts';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { Hint, PageHead, Section } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { UsageTabs } from '../../parts/usage-tabs.tsx';
import { useGet, useList } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';

export function RejectedList() {
  const { values } = useFilters();
  const { account, key, code } = values;
  const query = { account, key, ...rangeQuery(useRange()) };
  const rows = useList('/refusals', { query: { ...query, code } });
  const totals = useGet('/refusals/totals', { query: { ...query, group_by: 'code', limit: 100 } });
  const isInstallation = seesInstallation(useMe());
  const names = useNames(rows.rows);
  const refresh = () => {
    rows.reload();
    void totals.refetch();
  };
  const byCode = totals.data?.data ?? [];
  return (
    <>
      <PageHead
        title="Usage"
        text="Requests that were rejected before processing. They are not billed."
        actions={<ActionButton label="Refresh" onClick={refresh} icon="refresh" />}
      />
      <UsageTabs current="rejected" />
      <RejectedFilters codes={byCode.flatMap((total) => total.code ?? [])} />
      <Stack>
        {byCode.length > 0 && <ByCode rows={byCode} total={totals.data?.total.count ?? 0} />}
        <DataTable
          label="Rejected requests"
          isFolding
          rows={rows}
          keyOf={(row) => `${row.at} ${row.account} ${row.key} ${row.code}`}
          columns={columnsOf(names, isInstallation)}
          empty={
            <NoRows
              of="requests"
              icon="shield"
              title="No rejected requests"
              text="Requests with an invalid API key, an unknown model or an exhausted balance are listed here."
            />
          }
        />
      </Stack>
    </>
  );
}

function RejectedFilters({ codes }: { codes: readonly string[] }) {
  const { account = '' } = useFilters().values;
  const filters: ListFilter[] = [
    ...useAccountFilter(),
    { kind: 'found', name: 'key', label: 'API key', found: foundKeys(account) },
    { kind: 'options', name: 'code', label: 'Error code', options: codes.map((value) => ({ value, label: value })) },
  ];
  return (
    <FilterChips filters={filters}>
      <RangeFields />
    </FilterChips>
  );
}

function ByCode({ rows, total }: { rows: readonly RefusalTotalShape[]; total: number }) {
  return (
    <Section title="By error code" text={`${formatCount(total)} rejected requests in this time range`} isPadded={false}>
      <PlainTable
        label="Rejected requests by error code"
        isFolding
        rows={rows}
        keyOf={({ code }) => String(code)}
        columns={[
          { name: 'code', label: 'Error code', show: ({ code }) => <Code>{code}</Code> },
          { name: 'count', label: 'Requests', align: 'right', show: ({ count }) => formatCount(count) },
          {
            name: 'share',
            label: 'Share',
            align: 'right',
            from: 'sm',
            show: ({ count }) => formatShare(total === 0 ? 0 : count / total),
          },
          {
            name: 'last',
            label: 'Last request',
            align: 'right',
            from: 'sm',
            show: ({ last_at: at }) => <When at={at} isRelative />,
          },
        ]}
      />
    </Section>
  );
}

function columnsOf(names: Names, isInstallation: boolean): Column<RefusalShape>[] {
  return [
    timeColumn<RefusalShape>('at', 'Time', ({ at }) => at, { from: 'sm' }),
    ...(isInstallation
      ? [
          {
            name: 'account',
            label: 'Account',
            from: 'md' as const,
            show: ({ account }: RefusalShape) =>
              account === null ? (
                <Hint size="sm">Unknown</Hint>
              ) : (
                <TextLink to={pathOf.account(account)} className="wrap-name">
                  {names.account(account)}
                </TextLink>
              ),
          },
        ]
      : []),
    {
      name: 'key',
      label: 'API key',
      from: 'sm',
      show: ({ key, account }) =>
        key === null ? (
          <Hint size="sm">{account === null ? 'Unknown' : 'Several'}</Hint>
        ) : (
          <TextLink to={pathOf.key(key)} className="wrap-name">
            {names.key(key)}
          </TextLink>
        ),
    },
    {
      name: 'code',
      label: 'Error',
      show: ({ status, code, message }) => (
        <Stack gap={0}>
          <Text size="sm">
            <span className="tabular">{status}</span> <Code>{code}</Code>
          </Text>
          <Hint size="xs" className="wrap">
            {withMoney(message)}
          </Hint>
        </Stack>
      ),
    },
    {
      name: 'count',
      label: 'Requests',
      align: 'right',
      show: ({ count }) => <span className="tabular">{formatCount(count)}</span>,
    },
    timeColumn<RefusalShape>('last', 'Last request', (row) => row.last_at, { from: 'lg', isRelative: true }),
  ];
}
