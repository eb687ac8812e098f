// One account: funds, usage, settings, users, keys and recent requests.

import { Alert, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useParams } from '@tanstack/react-router';
import type { AccountShape, KeyShape, PersonShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { budgetText } from '../../budgets.ts';
import { countOf } from '../../figures.ts';
import { periodTexts, roleLabels } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { nanoOf } from '../../money.ts';
import { CopyButton } from '../../parts/code-block.tsx';
import { type Column, DataTable, statusColumn, timeColumn } from '../../parts/data-table.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { ActionButton, ButtonLink, TextLink } from '../../parts/link.tsx';
import { Money, UsedBar } from '../../parts/money.tsx';
import { Facts, Hint, Loading, PageFailure, PageHead, Section, StatTile } from '../../parts/page.tsx';
import { useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { UseOverTime } from '../../parts/usage-charts.tsx';
import { useChange, useGet, useList } from '../../queries.ts';
import { costLabel, rangeQuery } from '../../range.ts';
import { tagTexts } from '../../tags.ts';
import { CreditButton, creditLineNote } from '../billing/credit.tsx';
import { FundsNotices, usePathOfBilling } from '../billing/page.tsx';
import { KeyLink } from '../keys/list.tsx';
import { nameOfPerson, PersonInvite } from '../people/invite.tsx';
import { RecentRequests } from '../requests/recent.tsx';
import { AccountEditButton } from './edit.tsx';
import { AccountsBelow, AccountTrail, useAccountsBelow, useMayChange } from './tree.tsx';

const MONEY_EVERY_MS = 10_000;

export function AccountShow() {
  const { accountId } = useParams({ strict: false }) as { accountId: string };
  const { role } = useMe();
  const { data, error, refetch } = useGet('/accounts/{id}', { id: accountId, everyMs: MONEY_EVERY_MS });
  if (error !== null && data === undefined) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  return (
    <>
      <AccountTrail account={data} />
      <PageHead title={data.name} actions={<Actions account={data} />} />
      <Stack>
        {data.is_disabled_above && (
          <Alert color="yellow">A parent account is disabled. Requests with keys of this account are rejected.</Alert>
        )}
        {data.pays_from === 'own' && <FundsNotices account={data} />}
        <AccountContent account={data} />
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Settings account={data} />
          <AccountPeople account={data} mayInvite={role === 'operator' || role === 'owner'} />
        </SimpleGrid>
        <AccountKeys account={data} />
        <RecentRequests of={{ account: data.id }} />
      </Stack>
    </>
  );
}

/** Figures include the accounts below, if there are any. */
function AccountContent({ account }: { account: AccountShape }) {
  const { role } = useMe();
  const below = useAccountsBelow(account);
  const hasBelow = below.rows.length > 0;
  const of = { account: account.id, ...(hasBelow && { below: 'true' }) };
  const mayCreate = role === 'operator' || role === 'owner';
  return (
    <>
      <Tiles account={account} of={of} />
      {hasBelow && <Hint>Cost and usage include sub-accounts.</Hint>}
      <UseOverTime of={of} />
      {(hasBelow || mayCreate) && <AccountsBelow account={account} below={below} />}
    </>
  );
}

function Actions({ account }: { account: AccountShape }) {
  const { role } = useMe();
  const mayChange = useMayChange(account);
  const pathOfBilling = usePathOfBilling();
  return (
    <>
      <ButtonLink label="Billing" variant="default" to={pathOfBilling(account.id)} icon="wallet" />
      <ButtonLink label="Monthly statement" variant="default" to={`/accounts/${account.id}/statement`} icon="print" />
      {mayChange('status') && <StatusButton account={account} />}
      {role === 'operator' && account.pays_from === 'own' && <CreditButton account={account} />}
    </>
  );
}

/** Disabling asks for confirmation; enabling does not. */
function StatusButton({ account }: { account: AccountShape }) {
  const isEnabled = account.status === 'enabled';
  const change = useChange(
    (status: 'enabled' | 'disabled') => call('PATCH /accounts/{id}', { id: account.id, body: { status } }),
    { done: isEnabled ? 'Account disabled.' : 'Account enabled.' },
  );
  if (!isEnabled)
    return <ActionButton label="Enable" onClick={() => change.mutate('enabled')} loading={change.isPending} />;
  return (
    <ConfirmButton
      label="Disable"
      title={`Disable ${account.name}?`}
      text="Requests with its keys are rejected, and its users cannot change anything. Running requests complete. Nothing is deleted."
      change={change}
      input={'disabled'}
    />
  );
}

function Tiles({ account, of }: { account: AccountShape; of: Record<string, string> }) {
  const range = useRange();
  const { data } = useGet('/usage/totals', { query: { ...of, ...rangeQuery(range), limit: 1 } });
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      {account.pays_from === 'own' && <FundsTiles account={account} />}
      <StatTile
        label={costLabel(range)}
        link={{ to: '/usage', search: of }}
        value={<Money usd={data?.total.cost} />}
        {...(data !== undefined && { note: countOf(data.total.messages, 'request') })}
      />
    </SimpleGrid>
  );
}

/** For accounts with a balance that is used. */
function FundsTiles({ account }: OfAccount) {
  return (
    <>
      <StatTile
        label="Available"
        value={<Money usd={account.available} />}
        note="Can be spent by new requests"
        {...(nanoOf(account.available) <= 0n && { color: 'red' })}
      />
      <StatTile
        label="Balance"
        value={<Money usd={account.balance} />}
        note={
          <>
            <Money usd={account.held} /> reserved by running requests
          </>
        }
      />
      <StatTile
        label="Credit line"
        value={<Money usd={account.credit_line} precision="exact" />}
        note={creditLineNote(account)}
      />
    </>
  );
}

function Settings({ account }: { account: AccountShape }) {
  const { hidden } = useMe();
  const mayChange = useMayChange(account);
  const list = (members: readonly (number | string)[]) => members.join(', ') || 'None';
  return (
    <Section title="Account settings" aside={mayChange('person_budget') && <AccountEditButton account={account} />}>
      <Facts
        facts={[
          hidden.includes('group') ? null : { name: 'Groups', value: account.groups.join(', ') },
          { name: 'Allowance', value: <Allowance account={account} /> },
          {
            name: 'Paid by',
            value: account.pays_from === 'own' ? 'Own balance' : 'Parent account',
          },
          account.pays_from === 'own'
            ? { name: 'Credit line', value: <Money usd={account.credit_line} precision="exact" /> }
            : null,
          { name: 'Budget per user', value: budgetText(account.person_budget) },
          { name: 'Warning thresholds', value: list(account.warns_at.map((percent) => `${percent}%`)) },
          { name: 'Tags', value: list(tagTexts(account.tags)) },
          { name: 'Required tags', value: list(account.tags_required) },
          { name: 'Pinned tags', value: list(account.tags_pinned) },
          { name: 'Created', value: <When at={account.created_at} /> },
          {
            name: 'ID',
            value: (
              <Group gap="xs">
                <Text size="sm" ff="monospace">
                  {account.id}
                </Text>
                <CopyButton text={account.id} size="compact-xs" />
              </Group>
            ),
          },
        ]}
      />
    </Section>
  );
}

function Allowance({ account }: { account: AccountShape }) {
  if (account.allowance === null) return 'None';
  return (
    <UsedBar
      used={account.allowance_used}
      limit={account.allowance}
      label="Allowance"
      period={periodTexts[account.allowance_period] ?? account.allowance_period}
      widthPx={240}
    />
  );
}

const ROWS_SHOWN = 8;

interface OfAccount {
  account: AccountShape;
}

export function AccountKeys({ account }: OfAccount) {
  const { role } = useMe();
  const keys = useList('/keys', { query: { account: account.id, limit: ROWS_SHOWN } });
  return (
    <Section
      title="API keys"
      aside={
        <Group gap="xs">
          <ButtonLink label="View all keys" size="xs" variant="default" to="/keys" search={{ account: account.id }} />
          {role !== 'viewer' && (
            <ButtonLink label="Create API key" size="xs" to="/keys/new" search={{ account: account.id }} />
          )}
        </Group>
      }
    >
      <DataTable
        label="API keys"
        isFolding
        rows={keys}
        columns={keyColumns}
        keyOf={({ id }) => id}
        empty={<Nothing text={`No API keys yet.${role === 'viewer' ? '' : ' Create one to send requests.'}`} />}
      />
    </Section>
  );
}

const keyColumns: Column<KeyShape>[] = [
  {
    name: 'name',
    label: 'API key',
    show: (apiKey) => <KeyLink apiKey={apiKey} />,
  },
  {
    name: 'quota',
    label: 'Quota used',
    from: 'sm',
    show: ({ quota, quota_used: used, quota_period: period }) => (
      <UsedBar used={used} limit={quota} label="Quota used" period={periodTexts[period] ?? period} widthPx={200} />
    ),
  },
  timeColumn('lastUsed', 'Last used', ({ last_used_at: at }) => at, { from: 'md', isRelative: true }),
  statusColumn({ from: 'sm' }),
];

export function AccountPeople({ account, mayInvite }: OfAccount & { mayInvite: boolean }) {
  const people = useList('/people', { query: { account: account.id, limit: ROWS_SHOWN } });
  const [isInviting, dialog] = useDisclosure(false);
  return (
    <Section title="Users" aside={mayInvite && <ActionButton label="Invite owner" size="xs" onClick={dialog.open} />}>
      <DataTable
        label="Users"
        isFolding
        rows={people}
        columns={personColumns}
        keyOf={({ id }) => id}
        empty={<Nothing text={`No users yet.${mayInvite ? ' Invite an owner to manage keys and billing.' : ''}`} />}
      />
      <PersonInvite isOpen={isInviting} onClose={dialog.close} account={account.id} />
    </Section>
  );
}

const personColumns: Column<PersonShape>[] = [
  {
    name: 'name',
    label: 'Name',
    show: (person) => (
      <TextLink to="/people" search={{ person: person.id }} className="wrap">
        {nameOfPerson(person)}
      </TextLink>
    ),
  },
  { name: 'role', label: 'Role', show: ({ role }) => roleLabels[role] },
  statusColumn({ from: 'sm' }),
];

function Nothing({ text }: { text: string }) {
  return <Hint>{text}</Hint>;
}
