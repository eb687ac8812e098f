// The overview of an account's billing: funds, ways to add to them, daily balance and holds.

import { Card, Group, SimpleGrid, Skeleton, Stack } from '@mantine/core';
import type { AccountShape, HoldShape, StatementShape } from '../../../src/admin-api/shapes.ts';
import { periodTexts } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { chartFormats, formatMoney, nanoOf, usdOf } from '../../money.ts';
import { type Names, useNames } from '../../names.ts';
import { type Column, DataTable, moneyColumn } from '../../parts/data-table.tsx';
import { ButtonLink, pathOf, TextLink } from '../../parts/link.tsx';
import { Money, UsedBar } from '../../parts/money.tsx';
import { FailureNotice, Heading, Hint, StatTile } from '../../parts/page.tsx';
import { useMonth } from '../../parts/range.tsx';
import { TimeChart } from '../../parts/time-chart.tsx';
import { When } from '../../parts/times.tsx';
import { type Rows, useGet, useList } from '../../queries.ts';
import { formatUtcDay, formatUtcMonth } from '../../times.ts';
import { PurchaseReturn } from '../plans/purchase-return.tsx';
import { AutoRecharge } from './auto-recharge.tsx';
import { CreditButton, creditLineNote } from './credit.tsx';
import { type DayBalance, dailyBalances, daysOf } from './daily-balance.ts';
import { LowBalances } from './low-balances.tsx';
import { daysLeftText } from './pace.ts';
import { BillingPage, FundsNotices, MonthSelect } from './page.tsx';
import { PaymentReturn } from './payment-return.tsx';
import { PortalButton } from './portal.tsx';
import { Recharge } from './recharge.tsx';
import { Redeem } from './redeem.tsx';

const heldNote = (count: number, hasMore: boolean) =>
  count === 0 && !hasMore
    ? 'No running requests'
    : `${count}${hasMore ? '+' : ''} running ${count === 1 && !hasMore ? 'request' : 'requests'}`;

const REFRESH_MS = 5_000;

export function BillingShow() {
  return (
    <BillingPage name="billing" actions={(account) => <Actions account={account} />}>
      {(account) => <Overview account={account} />}
    </BillingPage>
  );
}

function Actions({ account }: { account: AccountShape }) {
  const { role } = useMe();
  return (
    <>
      <StatementChoice account={account} />
      {role === 'owner' && <PortalButton accountId={account.id} />}
      {role === 'operator' && <CreditButton account={account} />}
    </>
  );
}

function Overview({ account }: { account: AccountShape }) {
  const { role } = useMe();
  const holds = useList('/accounts/{id}/holds', { id: account.id, everyMs: REFRESH_MS });
  const options = useGet('/payment-options').data;
  return (
    <>
      <PaymentReturn />
      <PurchaseReturn />
      <FundsNotices account={account} />
      <FundsTiles account={account} holds={holds} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {role === 'owner' && options !== undefined && <Recharge options={options} />}
        {options?.provider != null && <AutoRecharge accountId={account.id} options={options} />}
        <LowBalances account={account} />
        {role !== 'viewer' && <Redeem accountId={account.id} />}
      </SimpleGrid>
      <BalanceChart account={account} />
      <HoldTable holds={holds} />
    </>
  );
}

function DaysLeft({ account: { id } }: { account: AccountShape }) {
  const { data } = useGet('/accounts/{id}/forecast', { id, everyMs: REFRESH_MS });
  if (data === undefined) return 'Loading…';
  if (data.refused_since === null) return daysLeftText(data);
  return (
    <>
      {'Requests are refused since '}
      <When at={data.refused_since} />
    </>
  );
}

function StatementChoice({ account }: { account: AccountShape }) {
  return (
    <Group gap={4} wrap="nowrap">
      <MonthSelect account={account} aria-label="Month" />
      <ButtonLink label="Open statement" variant="default" to={`${pathOf.account(account.id)}/statement`} />
    </Group>
  );
}

interface FundsTilesProps {
  account: AccountShape;
  holds: Rows<HoldShape>;
}

function FundsTiles({ account, holds }: FundsTilesProps) {
  const isOwing = nanoOf(account.debt) > 0n;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, lg: isOwing ? 5 : 4 }}>
        <StatTile
          label="Available"
          value={<Money usd={account.available} />}
          note={<DaysLeft account={account} />}
          {...(nanoOf(account.available) <= 0n && { color: 'red' })}
        />
        <StatTile label="Balance" value={<Money usd={account.balance} />} note="Sum of all transactions" />
        {isOwing && (
          <StatTile label="Debt" value={<Money usd={account.debt} />} note="Paid by the next credit" color="red" />
        )}
        <StatTile
          label="Reserved"
          value={<Money usd={account.held} />}
          note={heldNote(holds.rows.filter(({ batch }) => batch === null).length, holds.showMore !== null)}
        />
        <StatTile
          label="Credit line"
          value={<Money usd={account.credit_line} precision="exact" />}
          note={creditLineNote(account)}
        />
      </SimpleGrid>
      {account.allowance !== null && (
        <Card p="md">
          <Hint mb={6}>Allowance</Hint>
          <UsedBar
            used={account.allowance_used}
            limit={account.allowance}
            label="Allowance"
            period={periodTexts[account.allowance_period] ?? account.allowance_period}
          />
        </Card>
      )}
    </Stack>
  );
}

const STATEMENT_EVERY_MS = 30_000;

function BalanceChart({ account: { id, created_at: createdAt } }: { account: AccountShape }) {
  const [month] = useMonth();
  const { data, error, refetch } = useGet('/accounts/{id}/statement', {
    id,
    query: { month },
    everyMs: STATEMENT_EVERY_MS,
  });
  if (data === undefined)
    return error === null ? <Skeleton h={260} /> : <FailureNotice failure={error} onRetry={() => void refetch()} />;
  const balances = dailyBalances(data, createdAt, Date.now());
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Heading>{balances === null ? 'Daily usage' : 'Daily balance'}</Heading>
        <Hint size="xs">
          {balances === null
            ? 'By day (UTC) of completion. The daily balance is not available for this month.'
            : `At the end of each day (UTC) in ${formatUtcMonth(data.month)}.${balances.hasEarlyRefunds ? ' Refunds count on the day of their request.' : ''}`}
        </Hint>
      </Group>
      {balances === null ? (
        <DailyUsageChart statement={data} createdAt={createdAt} />
      ) : (
        <DailyBalanceChart days={balances.days} />
      )}
    </Card>
  );
}

function DailyBalanceChart({ days }: { days: readonly DayBalance[] }) {
  const [first, last] = [days[0]?.balance ?? '0', days.at(-1)?.balance ?? '0'];
  const span = days.length === 1 ? 'the first day' : `each of ${days.length} days`;
  return (
    <TimeChart
      kind="area"
      hasSteps
      points={days.map(({ day, balance }) => ({ at: formatUtcDay(day), balance: Number(balance) }))}
      series={[{ name: 'balance', label: 'Balance', color: 'road.6' }]}
      {...chartFormats}
      summary={`Balance at the end of ${span}: from ${formatMoney(first)} to ${formatMoney(last)}.`}
    />
  );
}

function DailyUsageChart({ statement, createdAt }: { statement: StatementShape; createdAt: string }) {
  const used = new Map(statement.by_day.map((row) => [row.day, nanoOf(row.cost) - nanoOf(row.written_off)]));
  const points = daysOf(statement, createdAt, Date.now()).map((day) => ({
    at: formatUtcDay(day),
    used: Number(usdOf(used.get(day) ?? 0n)),
  }));
  return (
    <TimeChart
      kind="bar"
      points={points}
      series={[{ name: 'used', label: 'Usage', color: 'road.6' }]}
      {...chartFormats}
      summary={`Usage on each of ${points.length} days: ${formatMoney(statement.used)} in total.`}
    />
  );
}

function HoldTable({ holds }: { holds: Rows<HoldShape> }) {
  const names = useNames(holds.rows.map(({ key }) => ({ key, account: null })));
  return (
    <section aria-labelledby="balance-holds">
      <Heading mb="sm" id="balance-holds">
        Holds
      </Heading>
      <DataTable
        label="Holds"
        isFolding
        columns={columnsFor(names)}
        rows={holds}
        keyOf={({ request_id: requestId }) => requestId}
        empty={<Hint>No running requests.</Hint>}
      />
    </section>
  );
}

function columnsFor(names: Names): Column<HoldShape>[] {
  return [
    {
      name: 'model',
      label: 'Model',
      show: (hold) => (
        <Stack gap={0}>
          <span className="wrap">{hold.model}</span>
          {hold.batch !== null && (
            <TextLink to={pathOf.batch(hold.batch)} size="xs">
              Set aside for a batch
            </TextLink>
          )}
          {hold.caller_left && <Hint size="xs">Client disconnected; waiting for the provider</Hint>}
        </Stack>
      ),
    },
    {
      name: 'key',
      label: 'API key',
      from: 'xs',
      show: ({ key }) => (
        <TextLink to={pathOf.key(key)} className="wrap">
          {names.key(key)}
        </TextLink>
      ),
    },
    {
      name: 'request',
      label: 'Request',
      from: 'md',
      show: ({ request_id: requestId, batch }) => <span className="wrap">{batch === null ? requestId : '–'}</span>,
    },
    { name: 'since', label: 'Started', from: 'sm', show: ({ since }) => <When at={since} isRelative /> },
    moneyColumn('amount', 'Reserved', ({ amount }) => amount, { precision: 'request' }),
  ];
}
