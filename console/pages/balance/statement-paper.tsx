// The statement itself: its head, its sums, and tables that show all of their figures on paper, too.

import { Box, Divider, Group, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { AccountShape, StatementShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { digitsOf, formatExactMoney, nanoOf, usdOf } from '../../parts/money.tsx';
import { When } from '../../parts/when.tsx';
import { words } from '../../words.ts';

const its = words.statement;
type Used = StatementShape['usage'];

interface StatementPaperProps {
  account: AccountShape;
  statement: StatementShape;
  nameOfKey: (id: string) => string;
}

export function StatementPaper({ account, statement, nameOfKey }: StatementPaperProps) {
  const { by_model: byModel, by_key: byKey, by_day: byDay, usage } = statement;
  return (
    <Stack gap="xl" w="100%" maw={860}>
      <Head account={account} statement={statement} />
      <Sums statement={statement} />
      <Entries statement={statement} />
      <UsedTable
        title={its.byModel}
        head={its.model}
        rows={byModel.map(({ model, ...used }) => ({ name: model, used }))}
        total={usage}
        moreCount={statement.models - byModel.length}
      />
      <UsedTable
        title={its.byKey}
        head={its.key}
        rows={byKey.map(({ key, ...used }) => ({ name: nameOfKey(key), id: key, used }))}
        total={usage}
        moreCount={statement.keys - byKey.length}
      />
      <UsedTable
        title={its.byDay}
        head={its.day}
        rows={byDay.map(({ day, ...used }) => ({ name: day, used }))}
        total={usage}
        moreCount={0}
      />
      <Text size="xs" c="dimmed">
        {its.usageText} {its.tokensNote} {its.monthHint}
      </Text>
    </Stack>
  );
}

function Head({ account, statement }: Omit<StatementPaperProps, 'nameOfKey'>) {
  const lastMoment = new Date(Date.parse(statement.until) - 1).toISOString().slice(0, 10);
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="md">
      <Fact label={its.account}>
        <Text fw={600}>{account.name}</Text>
        <Text size="xs" c="dimmed">
          {account.id}
        </Text>
      </Fact>
      <Fact label={its.from}>
        {statement.since.slice(0, 10)} – {lastMoment}
      </Fact>
      <Fact label={its.made}>
        <When at={new Date().toISOString()} />
      </Fact>
    </SimpleGrid>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Box fz="sm">{children}</Box>
    </div>
  );
}

/** What lies between the balances is shown with its sign; what there was none of is left out. */
function Sums({ statement }: { statement: StatementShape }) {
  const { opening_balance: opening, closing_balance: closing, credited, used, refunded, corrected } = statement;
  const moves: [string, string][] = [
    [its.credited, credited],
    [its.used, usdOf(-nanoOf(used))],
    [its.refunded, refunded],
    [its.corrected, corrected],
  ];
  const digits = digitsOf([opening, closing, ...moves.map(([, usd]) => usd)]);
  return (
    <section aria-labelledby="statement-summary">
      <PartTitle id="statement-summary">{its.summary}</PartTitle>
      <Stack gap={6} maw={460}>
        <Sum label={its.opening} usd={opening} digits={digits} isStrong />
        {moves.map(([label, usd], place) =>
          place > 1 && nanoOf(usd) === 0n ? null : <Sum key={label} label={label} usd={usd} digits={digits} isSigned />,
        )}
        <Divider />
        <Sum label={statement.is_over ? its.closing : its.closingNow} usd={closing} digits={digits} isStrong />
      </Stack>
    </section>
  );
}

interface SumProps {
  label: string;
  usd: string;
  digits: number;
  isStrong?: boolean;
  isSigned?: boolean;
}

function Sum({ label, usd, digits, isStrong = false, isSigned = false }: SumProps) {
  const weight = isStrong ? 650 : 400;
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text fw={weight}>{label}</Text>
      <Text fw={weight} className="tabular">
        {isSigned && nanoOf(usd) > 0n ? '+' : ''}
        {formatExactMoney(usd, digits)}
      </Text>
    </Group>
  );
}

function Entries({ statement: { entries, has_more_entries: hasMore } }: { statement: StatementShape }) {
  const digits = digitsOf(entries.map(({ change }) => change));
  return (
    <section aria-labelledby="statement-entries">
      <PartTitle id="statement-entries">{its.credits}</PartTitle>
      {entries.length === 0 ? (
        <Text size="sm" c="dimmed">
          {its.creditsNone}
        </Text>
      ) : (
        <Table verticalSpacing={6} aria-labelledby="statement-entries">
          <Table.Tbody>
            {entries.map(({ seq, at, kind, reference, note, change }) => (
              <Table.Tr key={seq}>
                <Table.Td className="tabular">{at.slice(0, 10)}</Table.Td>
                <Table.Td>
                  {words.entryKinds[kind]}
                  <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {[reference, note].filter((text) => text !== null).join(' · ')}
                  </Text>
                </Table.Td>
                <Table.Td ta="right" className="tabular">
                  {formatExactMoney(change, digits)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {hasMore && (
        <Text size="xs" c="dimmed" mt="xs">
          {its.creditsMore}
        </Text>
      )}
    </section>
  );
}

interface UsedTableProps {
  title: string;
  head: string;
  rows: readonly { name: string; id?: string; used: Used }[];
  total: Used;
  /** Groups that are in the total only. */
  moreCount: number;
}

function UsedTable({ title, head, rows, total, moreCount }: UsedTableProps) {
  if (rows.length === 0) return null;
  const digits = digitsOf([total, ...rows.map(({ used }) => used)].map(paidOf));
  return (
    <section>
      <PartTitle>{title}</PartTitle>
      <Table verticalSpacing={6} horizontalSpacing="xs" aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{head}</Table.Th>
            <Table.Th ta="right">{its.messages}</Table.Th>
            {[its.input, its.cached, its.output].map((label) => (
              <Table.Th key={label} ta="right" visibleFrom="xs">
                {label}
              </Table.Th>
            ))}
            <Table.Th ta="right">{its.cost}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ name, id = name, used }) => (
            <UsedRow key={id} name={name} used={used} digits={digits} />
          ))}
          {moreCount > 0 && (
            <Table.Tr>
              <Table.Td colSpan={6} c="dimmed">
                {its.others(moreCount)}
              </Table.Td>
            </Table.Tr>
          )}
        </Table.Tbody>
        <Table.Tfoot>
          <UsedRow name={its.total} used={total} digits={digits} isStrong />
        </Table.Tfoot>
      </Table>
    </section>
  );
}

/** What was given up is taken off. */
function paidOf({ cost, written_off: writtenOff }: Used): string {
  return usdOf(nanoOf(cost) - nanoOf(writtenOff));
}

interface UsedRowProps {
  name: string;
  used: Used;
  digits: number;
  isStrong?: boolean;
}

function UsedRow({ name, used, digits, isStrong = false }: UsedRowProps) {
  const cached = used.cache_read_input_tokens + used.cache_creation_input_tokens;
  return (
    <Table.Tr {...(isStrong && { fw: 650 })}>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{name}</Table.Td>
      <Table.Td ta="right" className="tabular">
        {formatCount(used.messages)}
      </Table.Td>
      {[used.input_tokens, cached, used.output_tokens].map((count, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: columns keep their places
        <Table.Td key={place} ta="right" className="tabular" visibleFrom="xs">
          {formatCount(count)}
        </Table.Td>
      ))}
      <Table.Td ta="right" className="tabular">
        {formatExactMoney(paidOf(used), digits)}
      </Table.Td>
    </Table.Tr>
  );
}

function PartTitle({ id, children }: { id?: string; children: ReactNode }) {
  return (
    <Title order={2} size="h4" mb="sm" {...(id !== undefined && { id })}>
      {children}
    </Title>
  );
}
