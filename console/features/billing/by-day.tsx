// The transactions of a month: credits and other entries one by one, usage by day, and the balance after each row.

import { Group, SegmentedControl, Stack, Text } from '@mantine/core';
import type { AccountShape, StatementShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { entryKindLabels } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { formatMoney, nanoOf } from '../../money.ts';
import { type Column, DataTable, moneyColumn } from '../../parts/data-table.tsx';
import { TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { EmptyState, FailureNotice, Hint, Loading } from '../../parts/page.tsx';
import { useMonth } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { rangeOfDay } from '../../range.ts';
import { formatUtcDate } from '../../times.ts';
import { noteOf } from './entry-text.ts';
import { type JournalRow, monthJournal } from './month-journal.ts';
import { BillingPage, MonthSelect } from './page.tsx';
import { Journal } from './transactions.tsx';

export function TransactionList() {
  return <BillingPage name="transactions">{(account) => <Transactions account={account} />}</BillingPage>;
}

/** By day unless the address asks for all entries, or filters them. */
function Transactions({ account }: { account: AccountShape }) {
  const { values, set, clear } = useFilters();
  const isOfEntries = values['view'] === 'entries' || values['kind'] !== undefined;
  return (
    <Stack>
      <SegmentedControl
        aria-label="View"
        w="fit-content"
        data={[
          { value: 'days', label: 'By day' },
          { value: 'entries', label: 'All entries' },
        ]}
        value={isOfEntries ? 'entries' : 'days'}
        onChange={(view) => (view === 'days' ? clear() : set({ view }))}
      />
      {isOfEntries ? <Journal accountId={account.id} /> : <Month account={account} />}
    </Stack>
  );
}

function Month({ account }: { account: AccountShape }) {
  const [month] = useMonth();
  const { data, error, refetch } = useGet('/accounts/{id}/statement', { id: account.id, query: { month } });
  return (
    <>
      <Group align="flex-end">
        <MonthSelect account={account} label="Month (UTC)" />
      </Group>
      <FailureNotice failure={error} onRetry={() => void refetch()} />
      {error === null && data?.month !== month && <Loading />}
      {error === null && data?.month === month && <MonthRows account={account} statement={data} />}
    </>
  );
}

interface MonthRowsProps {
  account: AccountShape;
  statement: StatementShape;
}

function MonthRows({ account, statement }: MonthRowsProps) {
  const isInstallation = seesInstallation(useMe());
  const journal = monthJournal(statement, account.created_at, Date.now());
  if (journal === null)
    return <Hint>This month has too many transactions to show daily balances. See all entries.</Hint>;
  const { rows, hasEarlyRefunds } = journal;
  const notes = [
    `Opening balance: ${formatMoney(statement.opening_balance)}.`,
    'Usage is posted at the end of each day (UTC).',
    ...(hasEarlyRefunds ? ['Refunds and corrections reduce the usage on the day of the request.'] : []),
    ...(hasPlanPaid(statement) ? ['Usage paid by a plan is not included.'] : []),
  ];
  return (
    <>
      <DataTable
        label="Transactions by day"
        columns={columnsFor(isInstallation ? account.id : null)}
        rows={{ rows, isLoading: false, failure: null, showMore: null, isLoadingMore: false, reload: () => {} }}
        keyOf={({ day, entry }) => (entry === null ? day : String(entry.seq))}
        empty={
          <EmptyState icon="wallet" title="No transactions in this month" text="Credits and daily usage appear here." />
        }
      />
      <Hint size="xs">{notes.join(' ')}</Hint>
    </>
  );
}

/** Whether the usage, at its cost of today, is more than the balance paid. */
function hasPlanPaid({ usage, used, corrected }: StatementShape): boolean {
  const cost = nanoOf(usage.cost) - nanoOf(usage.written_off);
  return cost > nanoOf(used) && cost > nanoOf(used) - nanoOf(corrected);
}

function columnsFor(accountId: string | null): Column<JournalRow>[] {
  return [
    { name: 'at', label: 'Time', from: 'sm', show: (row) => <TimeOf row={row} /> },
    { name: 'kind', label: 'Type', show: (row) => <Kind row={row} accountId={accountId} /> },
    {
      name: 'note',
      label: 'Note',
      from: 'lg',
      show: ({ entry }) => (
        <Text inherit className="wrap">
          {entry !== null && noteOf(entry)}
        </Text>
      ),
    },
    {
      name: 'change',
      label: 'Amount',
      align: 'right',
      show: (row) => <Change row={row} />,
    },
    moneyColumn('balance', 'Balance', ({ balance }) => balance, { from: 'sm' }),
  ];
}

/** On a phone, the balance has no column of its own. */
function Change({ row: { change, balance, entry } }: { row: JournalRow }) {
  return (
    <>
      <Money usd={change} isSigned fw={entry === null ? 400 : 600} />
      <Hint size="xs" hiddenFrom="sm">
        Balance: <Money usd={balance} />
      </Hint>
    </>
  );
}

/** Usage leads to the requests of its day. On a phone, the time has no column of its own. */
function Kind({ row, accountId }: { row: JournalRow; accountId: string | null }) {
  const { day, entry } = row;
  const search = { range: rangeOfDay(day), ...(accountId !== null && { account: accountId }) };
  return (
    <Stack gap={0}>
      {entry === null ? (
        <TextLink to="/usage" search={search}>
          Usage
        </TextLink>
      ) : (
        <span>{entryKindLabels[entry.kind]}</span>
      )}
      <Hint size="xs" hiddenFrom="sm" component="div">
        <TimeOf row={row} />
      </Hint>
    </Stack>
  );
}

function TimeOf({ row: { day, entry } }: { row: JournalRow }) {
  return entry === null ? `${formatUtcDate(day)} (UTC)` : <When at={entry.at} />;
}
