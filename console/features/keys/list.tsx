// API keys with their model access, quota, last use and recent cost.

import { Badge, Group, Progress, Stack, Text } from '@mantine/core';
import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { useFilters, useSorting } from '../../filters.ts';
import { keyStatusLabels, optionsOf, periodTexts } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { nanoOf, percentOf } from '../../money.ts';
import { type Names, useNames } from '../../names.ts';
import { type Column, DataTable, NameLink, NoRows, statusColumn, timeColumn } from '../../parts/data-table.tsx';
import { AccountFilter, FilterBar, SearchFilter, SelectFilter } from '../../parts/fields.tsx';
import { ButtonLink, pathOf } from '../../parts/link.tsx';
import { Money, UsedBar } from '../../parts/money.tsx';
import { Hint, PageHead } from '../../parts/page.tsx';
import { RangeFilter } from '../../parts/range.tsx';
import { type Costs, useCosts, useList } from '../../queries.ts';

export function KeyList() {
  const me = useMe();
  const { account = '', status = '', search = '' } = useFilters().values;
  const sorting = useSorting('created', 'asc');
  const rows = useList('/keys', { query: { account, status, search, sort: sorting.by, order: sorting.order } });
  const names = useNames(rows.rows.map((key) => ({ account: key.account, key: null })));
  const costs = useCosts('key', { query: { account } });
  return (
    <>
      <PageHead
        title="API keys"
        text="Keys authenticate API requests. Each key has its own limits."
        actions={
          <>
            <RangeFilter />
            {me.role !== 'viewer' && <CreateButton account={account} />}
          </>
        }
      />
      <KeyFilters />
      <DataTable
        label="API keys"
        columns={columnsFor(seesInstallation(me), names, costs)}
        rows={rows}
        sorting={sorting}
        keyOf={(key) => key.id}
        linkTo={(key) => pathOf.key(key.id)}
        empty={<NoKeys mayCreate={me.role !== 'viewer'} />}
      />
    </>
  );
}

function CreateButton({ account }: { account: string }) {
  return (
    <ButtonLink label="Create API key" icon="plus" to="/keys/new" {...(account !== '' && { search: { account } })} />
  );
}

function KeyFilters() {
  return (
    <FilterBar>
      <SearchFilter name="search" label="Name, prefix, tag or account" w={260} />
      <SelectFilter name="status" label="Status" data={optionsOf(keyStatusLabels)} />
      <AccountFilter name="account" />
    </FilterBar>
  );
}

function columnsFor(hasAccounts: boolean, names: Names, costs: Costs): Column<KeyShape>[] {
  const account: Column<KeyShape> = {
    name: 'account',
    label: 'Account',
    show: (key) => <span className="wrap">{names.account(key.account)}</span>,
    from: 'sm',
  };
  return [
    { name: 'name', label: 'Name', show: (key) => <KeyLink apiKey={key} />, sort: { by: 'name', first: 'asc' } },
    ...(hasAccounts ? [account] : []),
    { name: 'scope', label: 'Model access', show: (key) => <Scope apiKey={key} />, from: 'lg', choice: 'shown' },
    {
      name: 'quota',
      label: 'Quota',
      show: (key) => <QuotaCell apiKey={key} />,
      from: 'sm',
    },
    statusColumn(),
    timeColumn('last_used', 'Last used', ({ last_used_at: at }) => at, {
      from: 'md',
      isRelative: true,
      sort: { by: 'last_used', first: 'desc' },
    }),
    timeColumn('created', 'Created', ({ created_at: at }) => at, {
      choice: 'hidden',
      isRelative: true,
      sort: { by: 'created', first: 'desc' },
    }),
    {
      name: 'cost',
      label: costs.label,
      align: 'right',
      show: (key) => <CostCell apiKey={key} costs={costs} />,
    },
  ];
}

/** The name of a key, linked, above the beginning of its secret. */
export function KeyLink({ apiKey: { id, name, prefix } }: { apiKey: KeyShape }) {
  return <NameLink to={pathOf.key(id)} name={name || 'Unnamed key'} note={`${prefix}…`} isMonospace />;
}

function Scope({ apiKey: { groups, models } }: { apiKey: KeyShape }) {
  return (
    <Stack gap={4} align="flex-start" maw={160}>
      <Group gap={4}>
        {groups.slice(0, 3).map((name) => (
          <Badge key={name} variant="default" fw={500}>
            {name}
          </Badge>
        ))}
        {groups.length > 3 && <Text size="xs">+{groups.length - 3}</Text>}
      </Group>
      <Hint size="xs" truncate maw={160} title={models?.join(', ') ?? ''}>
        {models === null ? 'All models' : models.join(', ')}
      </Hint>
    </Stack>
  );
}

function QuotaCell({ apiKey }: { apiKey: KeyShape }) {
  if (apiKey.quota === null) return <Hint>No limit</Hint>;
  return (
    <UsedBar
      used={apiKey.quota_used}
      limit={apiKey.quota}
      label="Quota"
      {...(apiKey.quota_period !== 'total' && {
        period: periodTexts[apiKey.quota_period] ?? apiKey.quota_period,
      })}
      widthPx={140}
    />
  );
}

function CostCell({ apiKey, costs }: { apiKey: KeyShape; costs: Costs }) {
  const cost = costs.of(apiKey.id);
  const percent = cost === null || nanoOf(cost) === 0n ? 0 : percentOf(cost, costs.most);
  return (
    <Stack gap={4} align="flex-end" miw={70}>
      <Money usd={cost} size="sm" />
      <Progress
        value={percent}
        size={4}
        w={64}
        aria-label={`${apiKey.name || apiKey.prefix}: ${Math.round(percent)}% of the cost of the most expensive key`}
      />
    </Stack>
  );
}

function NoKeys({ mayCreate }: { mayCreate: boolean }) {
  return (
    <NoRows
      of="keys"
      icon="key"
      title="No API keys yet"
      text="Create a key to let an application send requests. You can edit its limits or revoke it at any time."
      action={mayCreate && <CreateButton account="" />}
    />
  );
}
