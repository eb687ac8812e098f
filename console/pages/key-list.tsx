// Keys: whose each is, what it may use, how much of its quota is gone, what it cost of late.

import { Badge, Button, Group, NativeSelect, Progress, Stack, Text, TextInput } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { KeyShape, UsageTotalShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { type Names, useNames } from '../names.ts';
import { AccountSelect } from '../parts/account-select.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { formatMoney, nanoOf } from '../parts/money.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { percentOf, UsedBar } from '../parts/used-bar.tsx';
import { When } from '../parts/when.tsx';
import { type Rows, useAsk, usePages } from '../queries.ts';
import { words } from '../words.ts';

const DAYS_SHOWN = 30;
const DAY_MS = 86_400_000;
/** The API knows no filter but the account: the console looks through so many keys by itself before it is asked to go on. */
const LOOKED_THROUGH_MAX = 2_000;
const FOUND_AT_ONCE = 50;

export function KeyList() {
  const me = useMe();
  const filters = useFilters();
  const { account = '' } = filters.values;
  const rows = useKeyRows(filters.values);
  const names = useNames(rows.found.rows.slice(0, 100).map((key) => ({ account: key.account, key: null })));
  const costs = useCosts(account);
  const navigate = useNavigate();
  const isFiltered = Object.keys(filters.values).length > 0;
  return (
    <>
      <PageHead
        title={words.keys.title}
        text={words.keys.text}
        actions={me.role !== 'viewer' && <CreateButton account={account} />}
      />
      <KeyFilters />
      <DataTable
        label={words.keys.title}
        columns={columnsFor(isOfInstallation(me), names, costs)}
        rows={rows.found}
        keyOf={(key) => key.id}
        onOpen={(key) => void navigate({ to: '/keys/$keyId', params: { keyId: key.id } })}
        empty={isFiltered ? <NoneFound count={rows.count} /> : <NoKeys mayMake={me.role !== 'viewer'} />}
      />
      {isFiltered && rows.found.showMore !== null && (
        <Text size="xs" c="dimmed" mt="xs" role="status">
          {words.keys.noneYetText(rows.count)}
        </Text>
      )}
    </>
  );
}

function CreateButton({ account }: { account: string }) {
  return (
    <Button
      leftSection={<Icon name="plus" />}
      renderRoot={(props) => <Link {...props} to="/keys/new" search={(account === '' ? {} : { account }) as never} />}
    >
      {words.keys.create}
    </Button>
  );
}

function KeyFilters() {
  const me = useMe();
  const { values, set } = useFilters();
  const statuses = Object.entries(words.keys.statuses).map(([value, label]) => ({ value, label }));
  return (
    <Group mb="md" align="flex-end" gap="sm">
      <TextInput
        label={words.keys.filters.search}
        value={values['search'] ?? ''}
        onChange={({ currentTarget }) => set({ search: currentTarget.value })}
        leftSection={<Icon name="search" sizePx={16} />}
        type="search"
        style={{ flex: '1 1 200px' }}
        maw={320}
      />
      <NativeSelect
        label={words.keys.filters.status}
        value={values['status'] ?? ''}
        onChange={({ currentTarget }) => set({ status: currentTarget.value })}
        data={[{ value: '', label: words.parts.all }, ...statuses]}
        style={{ flex: '0 1 150px' }}
      />
      {isOfInstallation(me) && (
        <AccountSelect
          label={words.keys.filters.account}
          placeholder={words.parts.all}
          clearable
          clearButtonProps={{ 'aria-label': words.parts.clearFilters }}
          value={values['account'] ?? null}
          onChange={(id) => set({ account: id })}
          style={{ flex: '1 1 180px' }}
          maw={280}
        />
      )}
    </Group>
  );
}

/** The keys that fit; where few do, further pages are fetched until there are enough, up to a bound. */
function useKeyRows(values: Record<string, string>): { found: Rows<KeyShape>; count: number } {
  const { account = '', status = '', search = '' } = values;
  const isSearch = status !== '' || search !== '';
  const rows = usePages<KeyShape>('/keys', { account, limit: isSearch ? 200 : FOUND_AT_ONCE });
  const text = search.trim().toLowerCase();
  const found = rows.rows.filter(
    (key) =>
      (status === '' || key.status === status) &&
      (key.name.toLowerCase().includes(text) || key.prefix.toLowerCase().startsWith(text) || key.id === search.trim()),
  );
  const { showMore, isLoadingMore } = rows;
  const count = rows.rows.length;
  // After a failure only whoever looks goes on.
  const looksOn = isSearch && rows.failure === null && found.length < FOUND_AT_ONCE && count < LOOKED_THROUGH_MAX;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once after every page; the function is another each time
  useEffect(() => {
    if (looksOn && !isLoadingMore) showMore?.();
  }, [looksOn, isLoadingMore, count]);
  const isLoading = rows.isLoading || (looksOn && showMore !== null && found.length === 0);
  return { found: { ...rows, rows: found, isLoading }, count };
}

interface Costs {
  of: (id: string) => string;
  /** Of the key that cost most. */
  most: string;
}

function useCosts(account: string): Costs {
  const since = new Date(Date.now() - (DAYS_SHOWN - 1) * DAY_MS).toISOString().slice(0, 10);
  const query = { group_by: 'key', since, account, limit: 1_000 };
  const totals = useAsk<{ data: UsageTotalShape[] }>('/usage/totals', query);
  const rows = totals.data?.data ?? [];
  const byKey = new Map(rows.map(({ key, cost }) => [key ?? '', cost]));
  return { of: (id) => byKey.get(id) ?? '0', most: rows[0]?.cost ?? '0' };
}

function columnsFor(hasAccounts: boolean, names: Names, costs: Costs): Column<KeyShape>[] {
  const { columns } = words.keys;
  const account: Column<KeyShape> = {
    name: 'account',
    label: columns.account,
    show: (key) => names.account(key.account),
    from: 'sm',
  };
  return [
    { name: 'name', label: columns.name, show: (key) => <NameCell shown={key} /> },
    ...(hasAccounts ? [account] : []),
    { name: 'scope', label: columns.scope, show: (key) => <Scope shown={key} />, from: 'lg' },
    { name: 'quota', label: columns.quota, show: (key) => <QuotaCell shown={key} />, from: 'sm' },
    {
      name: 'status',
      label: columns.status,
      show: ({ status }) => <StatusBadge status={status} label={words.keys.statuses[status]} />,
    },
    {
      name: 'last_used',
      label: columns.lastUsed,
      show: ({ last_used_at: at }) => <When at={at} isRelative />,
      from: 'md',
    },
    {
      name: 'cost',
      label: columns.cost,
      align: 'right',
      show: (key) => <CostCell shown={key} costs={costs} />,
    },
  ];
}

function NameCell({ shown }: { shown: KeyShape }) {
  return (
    <Stack gap={0} miw={0}>
      <Text
        fw={600}
        size="sm"
        renderRoot={(props) => <Link {...props} to="/keys/$keyId" params={{ keyId: shown.id }} />}
        style={{ textDecoration: 'none', overflowWrap: 'anywhere' }}
      >
        {shown.name || words.keys.unnamed}
      </Text>
      <Text size="xs" c="dimmed" ff="monospace">
        {shown.prefix}…
      </Text>
    </Stack>
  );
}

function Scope({ shown: { groups, models } }: { shown: KeyShape }) {
  return (
    <Stack gap={4} align="flex-start" maw={260}>
      <Group gap={4}>
        {groups.slice(0, 3).map((name) => (
          <Badge key={name} variant="default" tt="none" fw={500}>
            {name}
          </Badge>
        ))}
        {groups.length > 3 && <Text size="xs">+{groups.length - 3}</Text>}
      </Group>
      <Text size="xs" c="dimmed" truncate maw={240} title={models?.join(', ') ?? ''}>
        {models === null ? words.keys.allModels : models.join(', ')}
      </Text>
    </Stack>
  );
}

function QuotaCell({ shown }: { shown: KeyShape }) {
  if (shown.quota === null)
    return (
      <Text size="sm" c="dimmed">
        {words.parts.unlimited}
      </Text>
    );
  return (
    <UsedBar
      used={shown.quota_used}
      limit={shown.quota}
      label={words.keys.columns.quota}
      {...(shown.quota_period !== 'total' && { period: words.keys.shortPeriods[shown.quota_period] })}
      widthPx={190}
    />
  );
}

function CostCell({ shown, costs }: { shown: KeyShape; costs: Costs }) {
  const cost = costs.of(shown.id);
  const percent = nanoOf(cost) === 0n ? 0 : percentOf(cost, costs.most);
  return (
    <Stack gap={4} align="flex-end" miw={70}>
      <Text size="sm" className="tabular" title={`${cost} USD`}>
        {formatMoney(cost)}
      </Text>
      <Progress
        value={percent}
        size={4}
        w={64}
        aria-label={words.keys.shareLabel(shown.name || shown.prefix, Math.round(percent))}
      />
    </Stack>
  );
}

function NoneFound({ count }: { count: number }) {
  const { clear } = useFilters();
  return (
    <EmptyState
      icon="search"
      title={words.keys.noneTitle}
      text={words.keys.noneText(count)}
      action={
        <Button variant="default" onClick={clear}>
          {words.parts.clearFilters}
        </Button>
      }
    />
  );
}

function NoKeys({ mayMake }: { mayMake: boolean }) {
  return (
    <EmptyState
      icon="key"
      title={words.keys.emptyTitle}
      text={words.keys.emptyText}
      {...(mayMake && { action: <CreateButton account="" /> })}
    />
  );
}
