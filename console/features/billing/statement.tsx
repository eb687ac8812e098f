// The monthly statement of an account, printable on A4, and as CSV.

import { Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { AccountShape, StatementShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { useNames } from '../../names.ts';
import { csvLine, saveFile } from '../../parts/csv-button.tsx';
import { Autocomplete } from '../../parts/later.tsx';
import { ActionButton, ButtonLink } from '../../parts/link.tsx';
import { FailureNotice, Hint, Loading, PageHead } from '../../parts/page.tsx';
import { useMonth } from '../../parts/range.tsx';
import { useGet } from '../../queries.ts';
import { formatUtcMonth } from '../../times.ts';
import { UNITS, unitsUsed } from '../../units.ts';
import { MonthSelect, usePathOfBilling } from './page.tsx';
import { StatementPaper } from './statement-paper.tsx';

export function StatementShow() {
  const { accountId = '' } = useParams({ strict: false });
  const { values } = useFilters();
  const account = useGet('/accounts/{id}', { id: accountId });
  const [month] = useMonth();
  const query = { month, tag_name: values['tag_name'] };
  const statement = useGet('/accounts/{id}/statement', { id: accountId, query });
  const failure = account.error ?? statement.error;
  return (
    <div className="paper">
      <PageHead
        title={`${formatUtcMonth(month)} statement`}
        text={account.data?.name}
        actions={
          account.data !== undefined && (
            <Actions account={account.data} {...(statement.data !== undefined && { statement: statement.data })} />
          )
        }
      />
      {failure !== null ? (
        <FailureNotice failure={failure} onRetry={() => void statement.refetch()} />
      ) : account.data === undefined || statement.data === undefined || statement.isPlaceholderData ? (
        <Loading rowCount={12} />
      ) : (
        <StatementBody account={account.data} statement={statement.data} tagName={values['tag_name'] ?? ''} />
      )}
    </div>
  );
}

function Actions({ account, statement }: { account: AccountShape; statement?: StatementShape }) {
  const pathOfBilling = usePathOfBilling();
  const { values } = useFilters();
  const save = (of: StatementShape) =>
    saveFile(`statement-${of.account}-${of.month}.csv`, [statementCsv(of, account.name, values['tag_name'])]);
  return (
    <>
      <ButtonLink variant="default" label="Billing" to={pathOfBilling(account.id)} />
      <MonthSelect account={account} aria-label="Month" />
      <TagChoice account={account} />
      {statement !== undefined && (
        <>
          <ActionButton label="Export CSV" icon="download" onClick={() => save(statement)} />
          <ActionButton label="Print or save as PDF" isPrimary icon="print" onClick={() => window.print()} />
        </>
      )}
    </>
  );
}

/** The name of a tag by which usage is grouped. */
function TagChoice({ account }: { account: AccountShape }) {
  const { values, set } = useFilters();
  const asked = values['tag_name'] ?? '';
  const [text, setText] = useState(asked);
  const names = [...Object.keys(account.tags), ...account.tags_required, ...account.tags_pinned];
  const apply = (name: string) => name.trim() !== asked && set({ tag_name: name.trim() });
  return (
    <Autocomplete
      aria-label="Tag"
      placeholder="By tag"
      clearable
      w={160}
      data={[...new Set(names)].sort()}
      value={text}
      onChange={setText}
      onOptionSubmit={apply}
      onClear={() => apply('')}
      onBlur={() => apply(text)}
      onKeyDown={(event) => event.key === 'Enter' && apply(text)}
    />
  );
}

interface StatementBodyProps {
  account: AccountShape;
  statement: StatementShape;
  tagName: string;
}

function StatementBody({ account, statement, tagName }: StatementBodyProps) {
  const names = useNames(statement.by_key.map(({ key }) => ({ key, account: null })));
  return (
    <Stack gap="lg">
      {!statement.is_over && <Hint>This month is in progress. The closing balance is the current balance.</Hint>}
      <StatementPaper account={account} statement={statement} tagName={tagName} nameOfKey={names.key} />
    </Stack>
  );
}

const COLUMNS = [
  'part',
  'name',
  'at',
  'messages',
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
  'cost',
  'written_off',
  'amount',
  'tax',
  'total',
  'refunded',
  'disputed',
  'fee',
  'reference',
  'note',
  ...UNITS,
] as const;

type Line = Partial<Record<(typeof COLUMNS)[number], string | number | null>>;

/** With a column for the quantity of each unit. */
function figuresOf({ units, ...used }: StatementShape['usage']): Line {
  const quantities = unitsUsed(units).map(({ unit, quantity }) => [unit, quantity]);
  return { ...used, ...Object.fromEntries(quantities) };
}

export function statementCsv(statement: StatementShape, accountName: string, tagName = ''): string {
  const sums = ['opening_balance', 'credited', 'bonus', 'used', 'refunded', 'corrected', 'closing_balance'] as const;
  const lines: Line[] = [
    { part: 'account', name: accountName, reference: statement.account, at: statement.month },
    ...sums.map((name) => ({ part: 'summary', name, amount: statement[name] })),
    ...statement.entries.map(({ at, kind, change, reference, note }) => ({
      part: 'entry',
      name: kind,
      at,
      amount: change,
      reference,
      note,
    })),
    ...statement.payments.map(({ created_at: at, kind, amount, tax, total, refunded, disputed, fee, id }) => ({
      part: 'payment',
      name: kind,
      at,
      amount,
      tax,
      total,
      refunded,
      disputed,
      fee,
      reference: id,
    })),
    ...statement.by_model.map(({ model, ...used }) => ({ part: 'model', name: model, ...figuresOf(used) })),
    ...statement.by_key.map(({ key, ...used }) => ({ part: 'key', name: key, ...figuresOf(used) })),
    ...statement.by_day.map(({ day, ...used }) => ({ part: 'day', name: day, ...figuresOf(used) })),
    { part: 'total', ...figuresOf(statement.usage) },
    ...statement.below.map(({ account, name, ...used }) => ({
      part: 'below',
      name,
      ...figuresOf(used),
      reference: account,
    })),
    ...statement.by_tag.map(({ tag, ...used }) => ({ part: 'tag', name: tag, ...figuresOf(used), reference: tagName })),
    { part: 'total_with_below', ...figuresOf(statement.usage_with_below) },
  ];
  return [csvLine(COLUMNS), ...lines.map((line) => csvLine(COLUMNS.map((column) => line[column])))].join('');
}
