// What an account has to spend: now, over the month, and every change of it.

import { Button, Group, NativeSelect, Stack } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { AccountShape, HoldShape } from '../../src/admin-api/shapes.ts';
import { monthsSince } from '../balance-course.ts';
import { useMe } from '../me.tsx';
import { CreditButton } from '../parts/credit-form.tsx';
import { PageFailure } from '../parts/page-failure.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk, usePages } from '../queries.ts';
import { words } from '../words.ts';
import { BalanceChart } from './balance/balance-chart.tsx';
import { BalanceTiles } from './balance/balance-tiles.tsx';
import { HoldTable } from './balance/hold-table.tsx';
import { Journal } from './balance/journal.tsx';

const LOOK_MS = 5_000;
const MONTHS_MAX = 36;

export function OwnBalanceShow() {
  const { account } = useMe();
  return account === null ? null : <Balance accountId={account.id} />;
}

export function BalanceShow() {
  const { accountId = '' } = useParams({ strict: false });
  return <Balance accountId={accountId} />;
}

function Balance({ accountId }: { accountId: string }) {
  const me = useMe();
  const { data: account, error, refetch } = useAsk<AccountShape>(`/accounts/${accountId}`, {}, { everyMs: LOOK_MS });
  const holds = usePages<HoldShape>(`/accounts/${accountId}/holds`, {}, { everyMs: LOOK_MS });
  if (account === undefined || account.id !== accountId)
    return error === null ? <Waiting /> : <PageFailure failure={error} onRetry={() => void refetch()} />;
  const isOwn = me.account?.id === accountId;
  return (
    <Stack gap="lg">
      <div>
        <PageHead
          title={isOwn ? words.balance.title : words.balance.titleOf(account.name)}
          text={words.balance.text}
          actions={
            <>
              <StatementChoice account={account} />
              {me.role === 'operator' && <CreditButton account={account} />}
            </>
          }
        />
        <BalanceTiles account={account} holds={holds} />
      </div>
      <BalanceChart accountId={accountId} />
      <HoldTable holds={holds} />
      <Journal accountId={accountId} />
    </Stack>
  );
}

function StatementChoice({ account }: { account: AccountShape }) {
  const months = monthsSince(account.created_at, Date.now(), MONTHS_MAX);
  const [chosen, setChosen] = useState<string | null>(null);
  const navigate = useNavigate();
  const month = chosen ?? months[0] ?? '';
  const open = () =>
    void navigate({
      to: '/accounts/$accountId/statement',
      params: { accountId: account.id },
      search: { month } as never,
    });
  return (
    <Group gap={4} wrap="nowrap">
      <NativeSelect
        aria-label={words.balance.statementMonth}
        data={months}
        value={month}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
      />
      <Button variant="default" onClick={open}>
        {words.balance.openStatement}
      </Button>
    </Group>
  );
}
