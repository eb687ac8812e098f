// An account's month on paper: what it had, what came in, what its messages used, what is left. Prints on A4, black on
// white, without what stands around it.

import { Button, NativeSelect, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import type { AccountShape, StatementShape } from '../../src/admin-api/shapes.ts';
import { monthsSince } from '../balance-course.ts';
import { useFilters } from '../filters.ts';
import { useMe } from '../me.tsx';
import { useNames } from '../names.ts';
import { saveFile } from '../parts/csv-button.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk } from '../queries.ts';
import { statementCsv } from '../statement-csv.ts';
import { words } from '../words.ts';
import { StatementPaper } from './balance/statement-paper.tsx';

const MONTHS_MAX = 36;
const its = words.statement;

export function StatementShow() {
  const { accountId = '' } = useParams({ strict: false });
  const { values } = useFilters();
  const path = `/accounts/${accountId}`;
  const account = useAsk<AccountShape>(path);
  const statement = useAsk<StatementShape>(`${path}/statement`, { month: values['month'] });
  const failure = account.error ?? statement.error;
  const isWanted = values['month'] === undefined || statement.data?.month === values['month'];
  return (
    <div className="paper">
      <PageHead
        title={its.titleOf(statement.data?.month ?? values['month'] ?? '')}
        text={account.data?.name}
        actions={
          account.data !== undefined && (
            <Actions account={account.data} {...(statement.data !== undefined && { statement: statement.data })} />
          )
        }
      />
      {failure !== null ? (
        <FailureNotice failure={failure} onRetry={() => void statement.refetch()} />
      ) : account.data === undefined || statement.data === undefined || !isWanted ? (
        <Waiting rowCount={12} />
      ) : (
        <Shown account={account.data} statement={statement.data} />
      )}
    </div>
  );
}

function Actions({ account, statement }: { account: AccountShape; statement?: StatementShape }) {
  const me = useMe();
  const { set } = useFilters();
  const months = monthsSince(account.created_at, Date.now(), MONTHS_MAX);
  const shown = statement?.month ?? months[0] ?? '';
  const save = (of: StatementShape) =>
    saveFile(`statement-${of.account}-${of.month}.csv`, [statementCsv(of, account.name)]);
  return (
    <>
      <Button
        variant="default"
        renderRoot={(props) =>
          me.account?.id === account.id ? (
            <Link {...props} to="/balance" />
          ) : (
            <Link {...props} to="/accounts/$accountId/balance" params={{ accountId: account.id }} />
          )
        }
      >
        {its.back}
      </Button>
      <NativeSelect
        aria-label={its.month}
        data={months.includes(shown) ? months : [shown, ...months]}
        value={shown}
        onChange={({ currentTarget }) => set({ month: currentTarget.value })}
      />
      {statement !== undefined && (
        <>
          <Button variant="default" leftSection={<Icon name="download" />} onClick={() => save(statement)}>
            {its.csv}
          </Button>
          <Button leftSection={<Icon name="print" />} onClick={() => window.print()}>
            {its.print}
          </Button>
        </>
      )}
    </>
  );
}

function Shown({ account, statement }: { account: AccountShape; statement: StatementShape }) {
  const names = useNames(statement.by_key.map(({ key }) => ({ key, account: null })));
  return (
    <Stack gap="lg">
      {!statement.is_over && (
        <Text size="sm" c="dimmed">
          {its.running}
        </Text>
      )}
      <StatementPaper account={account} statement={statement} nameOfKey={names.key} />
    </Stack>
  );
}
