// The content of a statement: header, summary and tables.

import { Box, Divider, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { AccountShape, StatementShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { Logo, SupportLink } from '../../installation.tsx';
import { entryKindLabels, paymentKindLabels, paymentStatusLabels } from '../../labels.ts';
import { formatMoney, nanoOf, negated, sumOf, usdOf } from '../../money.ts';
import { type Column, moneyColumn, PlainTable } from '../../parts/data-table.tsx';
import { ExternalLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Heading, Hint } from '../../parts/page.tsx';
import { UnitLines } from '../../parts/units.tsx';
import { formatTime, formatUtcDate } from '../../times.ts';
import { splitTokens, tokenKinds } from '../../tokens.ts';
import { unitsUsed, unitsWithout } from '../../units.ts';
import { describeEntry } from './entry-text.ts';

type Used = StatementShape['usage'];

interface StatementPaperProps {
  account: AccountShape;
  statement: StatementShape;
  /** The tag of `by_tag`. */
  tagName: string;
  nameOfKey: (id: string) => string;
}

export function StatementPaper({ account, statement, tagName, nameOfKey }: StatementPaperProps) {
  const { by_model: byModel, by_key: byKey, by_day: byDay, usage } = statement;
  return (
    <Stack gap="xl" w="100%" maw={860}>
      <Head account={account} statement={statement} />
      <Sums statement={statement} />
      <Entries statement={statement} />
      <Payments statement={statement} />
      <UsedTable
        title="Usage by model"
        head="Model"
        rows={byModel.map(({ model, ...used }) => ({ name: model, used }))}
        total={usage}
        moreCount={statement.models - byModel.length}
      />
      <UsedTable
        title="Usage by API key"
        head="API key"
        rows={byKey.map(({ key, ...used }) => ({ name: nameOfKey(key), id: key, used }))}
        total={usage}
        moreCount={statement.keys - byKey.length}
      />
      <UsedTable
        title="Usage by day"
        head="Day"
        rows={byDay.map(({ day, ...used }) => ({ name: formatUtcDate(day), used }))}
        total={usage}
        moreCount={0}
      />
      <UsedTable
        title="Usage by sub-account"
        head="Account"
        rows={statement.below.map(({ account: id, name, pays_from: payer, ...used }) => ({
          name: payer === 'own' ? `${name} (paid by its own balance)` : name,
          id,
          used,
        }))}
        total={sumOfBelow(statement)}
        moreCount={0}
      />
      <UsedTable
        title={`Usage by tag ${tagName}${statement.below.length > 0 ? ', including sub-accounts' : ''}`}
        head="Value"
        rows={statement.by_tag.map(({ tag, ...used }) => ({ name: tag ?? 'No tag', id: tag ?? '', used }))}
        total={statement.usage_with_below}
        moreCount={statement.tags - statement.by_tag.length}
      />
      <Hint size="xs">
        {'Cost of the requests that completed in this month, less later refunds and corrections.'}{' '}
        {'Input, cached and output are in tokens. Cached is the input read from the cache or written to it.'}{' '}
        {'Days and months are in UTC. Amounts are rounded to cents; the CSV file has the exact amounts.'}
      </Hint>
    </Stack>
  );
}

function Head({ account, statement }: Omit<StatementPaperProps, 'nameOfKey' | 'tagName'>) {
  const lastMoment = new Date(Date.parse(statement.until) - 1).toISOString();
  return (
    <SimpleGrid cols={{ base: 1, xs: 4 }} spacing="md">
      <Fact label="From">
        <Logo />
        <SupportLink />
      </Fact>
      <Fact label="Account">
        <Text fw={600}>{account.name}</Text>
        <Hint size="xs">{account.id}</Hint>
      </Fact>
      <Fact label="Period (UTC)">
        {formatUtcDate(statement.since)} – {formatUtcDate(lastMoment)}
      </Fact>
      <Fact label="Created (UTC)">{formatTime(Date.now(), 'short', 'UTC')}</Fact>
    </SimpleGrid>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <Hint size="xs">{label}</Hint>
      <Box fz="sm">{children}</Box>
    </div>
  );
}

const ALWAYS = ['Credits', 'Usage'];

/** Signs the changes between the two balances, and omits bonuses, refunds and corrections of zero. */
function Sums({ statement }: { statement: StatementShape }) {
  const { opening_balance: opening, closing_balance: closing, used, refunded, corrected } = statement;
  const moves: [string, string][] = [
    ['Credits', usdOf(nanoOf(statement.credited) - nanoOf(statement.bonus))],
    ['Bonus', statement.bonus],
    ['Usage', negated(used)],
    ['Refunds', refunded],
    ['Corrections', corrected],
  ];
  return (
    <section aria-labelledby="statement-summary">
      <PartTitle id="statement-summary">Summary</PartTitle>
      <Stack gap={6} maw={460}>
        <Sum label="Opening balance" usd={opening} isStrong />
        {moves.map(([label, usd]) =>
          !ALWAYS.includes(label) && nanoOf(usd) === 0n ? null : <Sum key={label} label={label} usd={usd} isSigned />,
        )}
        <Divider />
        <Sum label={statement.is_over ? 'Closing balance' : 'Current balance'} usd={closing} isStrong />
      </Stack>
    </section>
  );
}

interface SumProps {
  label: string;
  usd: string;
  isStrong?: boolean;
  isSigned?: boolean;
}

function Sum({ label, usd, isStrong = false, isSigned = false }: SumProps) {
  const weight = isStrong ? 650 : 400;
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text fw={weight}>{label}</Text>
      <Money usd={usd} isSigned={isSigned} fw={weight} />
    </Group>
  );
}

function Entries({ statement: { entries, has_more_entries: hasMore } }: { statement: StatementShape }) {
  return (
    <section aria-labelledby="statement-entries">
      <PartTitle id="statement-entries">Credits, refunds and corrections</PartTitle>
      {entries.length === 0 ? (
        <Hint>None in this month.</Hint>
      ) : (
        <PlainTable
          label="Credits, refunds and corrections"
          isPadded={false}
          hasHead={false}
          rows={entries}
          keyOf={({ seq }) => String(seq)}
          columns={[
            { name: 'at', label: 'Day', show: ({ at }) => <span className="tabular">{formatUtcDate(at)}</span> },
            {
              name: 'kind',
              label: 'Type',
              show: (entry) => (
                <>
                  {entryKindLabels[entry.kind]}
                  <Hint size="xs" className="wrap">
                    {describeEntry(entry)}
                  </Hint>
                </>
              ),
            },
            moneyColumn<(typeof entries)[number]>('change', 'Amount', ({ change }) => change),
          ]}
        />
      )}
      {hasMore && (
        <Hint size="xs" mt="xs">
          Only the newest entries are listed. See Transactions for all entries.
        </Hint>
      )}
    </section>
  );
}

type Payment = StatementShape['payments'][number];

type Amount = (payment: Payment) => string | null;

interface PaymentFigure {
  name: string;
  label: string;
  usd: Amount;
}

const paymentFigures: readonly PaymentFigure[] = [
  { name: 'amount', label: 'Amount', usd: ({ amount }) => amount },
  { name: 'tax', label: 'Tax', usd: ({ tax }) => tax },
  { name: 'total', label: 'Paid', usd: ({ total }) => total },
  { name: 'refunded', label: 'Refunded', usd: ({ refunded }) => refunded },
  { name: 'disputed', label: 'Disputed', usd: ({ disputed }) => disputed },
  { name: 'fee', label: 'Fee', usd: ({ fee }) => fee },
];

/**
 * Taxes and fees are no part of the balance: only the credited amounts are entries. On phones, only what was paid has a
 * column.
 */
function Payments({ statement: { payments } }: { statement: StatementShape }) {
  if (payments.length === 0) return null;
  const amountsOf = (usd: Amount) => payments.map(usd).filter((one) => one !== null);
  const totalOf = (usd: Amount) => sumOf(amountsOf(usd));
  const column = ({ name, label, usd }: PaymentFigure): Column<Payment> => ({
    ...moneyColumn<Payment>(name, label, (payment) => usd(payment) ?? '0'),
    ...(name !== 'total' && { from: 'xs' }),
    total: <Money usd={totalOf(usd)} />,
  });
  const isNeeded = ({ name, usd }: PaymentFigure) =>
    name === 'amount' || name === 'total' || amountsOf(usd).some(isSome);
  const shown = paymentFigures.filter(isNeeded);
  const total = (
    <>
      Total
      <PhoneFigures figures={shown} of={totalOf} />
    </>
  );
  return (
    <section aria-labelledby="statement-payments">
      <PartTitle id="statement-payments">Payments</PartTitle>
      <PlainTable
        label="Payments"
        isPadded={false}
        rows={payments}
        keyOf={({ id }) => id}
        columns={[
          { name: 'at', label: 'Day', show: (payment) => <PaymentName payment={payment} figures={shown} />, total },
          ...shown.map(column),
        ]}
      />
      <Hint size="xs" mt="xs">
        Paid payments that were started in this month, with their current amounts. Taxes and fees are not part of the
        balance.
      </Hint>
    </section>
  );
}

function isSome(usd: string): boolean {
  return nanoOf(usd) !== 0n;
}

interface PaymentNameProps {
  payment: Payment;
  figures: readonly PaymentFigure[];
}

function PaymentName({ payment, figures }: PaymentNameProps) {
  const { created_at: at, kind, status, id, receipt_url: receipt } = payment;
  return (
    <>
      <span className="tabular">{formatUtcDate(at)}</span> {paymentKindLabels[kind]}
      {status !== 'paid' && ` (${paymentStatusLabels[status].toLowerCase()})`}
      <PhoneFigures figures={figures} of={(usd) => usd(payment)} />
      <Hint size="xs" className="wrap">
        {id}
        {receipt !== null && (
          <>
            {' · '}
            <ExternalLink href={receipt} size="xs" underline="always">
              Receipt
            </ExternalLink>
          </>
        )}
      </Hint>
    </>
  );
}

interface PhoneFiguresProps {
  figures: readonly PaymentFigure[];
  of: (usd: Amount) => string | null;
}

/** The amounts that have no column on phones. */
function PhoneFigures({ figures, of }: PhoneFiguresProps) {
  const shown = figures.flatMap(({ name, label, usd }) => {
    const amount = of(usd);
    return name === 'total' || amount === null || !isSome(amount) ? [] : [`${label} ${formatMoney(amount)}`];
  });
  return (
    <Hint size="xs" fw={400} hiddenFrom="xs">
      {shown.join(' · ')}
    </Hint>
  );
}

interface UsedRow {
  name: string;
  id?: string;
  used: Used;
}

interface UsedTableProps {
  title: string;
  head: string;
  rows: readonly UsedRow[];
  total: Used;
  /** The number of rows that are included in the total only. */
  moreCount: number;
}

function UsedTable({ title, head, rows, total, moreCount }: UsedTableProps) {
  if (rows.length === 0) return null;
  const figure = (label: string, print: (used: Used) => ReactNode, from?: 'xs'): Column<UsedRow> => ({
    name: label,
    label,
    align: 'right',
    ...(from !== undefined && { from }),
    show: ({ used }) => <span className="tabular">{print(used)}</span>,
    total: <span className="tabular">{print(total)}</span>,
  });
  return (
    <section>
      <PartTitle>{title}</PartTitle>
      <PlainTable
        label={title}
        isFolding
        isPadded={false}
        rows={rows}
        keyOf={({ name, id = name }) => id}
        {...(moreCount > 0 && { note: `${formatCount(moreCount)} more with lower cost` })}
        columns={[
          { name: 'name', label: head, show: ({ name }) => <span className="wrap">{name}</span>, total: 'Total' },
          figure('Requests', ({ messages }) => formatCount(messages)),
          ...tokenKinds.map(({ name, label }) => figure(label, (used) => formatCount(splitTokens(used)[name]), 'xs')),
          ...(unitsUsed(total.units).length === 0 ? [] : [unitsColumn(total)]),
          figure('Cost', (used) => <Money usd={paidOf(used)} />),
        ]}
      />
    </section>
  );
}

function unitsColumn(total: Used): Column<UsedRow> {
  const show = ({ units }: Used) => <UnitLines units={units} />;
  return {
    name: 'Units',
    label: 'Units',
    align: 'right',
    from: 'xs',
    show: ({ used }) => show(used),
    total: show(total),
  };
}

/** The cost without the amount written off. */
function sumOfBelow({ usage, usage_with_below: whole }: StatementShape): Used {
  const amount = (name: 'cost' | 'written_off') => usdOf(nanoOf(whole[name]) - nanoOf(usage[name]));
  return {
    messages: whole.messages - usage.messages,
    input_tokens: whole.input_tokens - usage.input_tokens,
    output_tokens: whole.output_tokens - usage.output_tokens,
    cache_read_input_tokens: whole.cache_read_input_tokens - usage.cache_read_input_tokens,
    cache_creation_input_tokens: whole.cache_creation_input_tokens - usage.cache_creation_input_tokens,
    units: unitsWithout(whole.units, usage.units),
    cost: amount('cost'),
    written_off: amount('written_off'),
  };
}

function paidOf({ cost, written_off: writtenOff }: Used): string {
  return usdOf(nanoOf(cost) - nanoOf(writtenOff));
}

function PartTitle({ id, children }: { id?: string; children: ReactNode }) {
  return (
    <Heading mb="sm" {...(id !== undefined && { id })}>
      {children}
    </Heading>
  );
}
