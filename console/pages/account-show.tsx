// One account: what it can spend, its use, its terms, keys, people and last requests. Operators change it here.

import { Alert, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import type { AccountShape, UsageTotalShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { formatCount } from '../figures.ts';
import { useMe } from '../me.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { CreditButton } from '../parts/credit-form.tsx';
import { Facts } from '../parts/facts.tsx';
import { Icon } from '../parts/icon.tsx';
import { formatMoney, Money, nanoOf } from '../parts/money.tsx';
import { PageFailure } from '../parts/page-failure.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Section } from '../parts/section.tsx';
import { StatTile } from '../parts/stat-tile.tsx';
import { UseOverTime } from '../parts/use-over-time.tsx';
import { UsedBar } from '../parts/used-bar.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { useAsk, useChange } from '../queries.ts';
import { words } from '../words.ts';
import { AccountEditButton } from './account/account-edit.tsx';
import { AccountKeys, AccountPeople, AccountRequests } from './account/account-lists.tsx';

const MONEY_EVERY_MS = 10_000;
const DAYS = 30;
const DAY_MS = 86_400_000;

export function AccountShow() {
  const { accountId } = useParams({ strict: false }) as { accountId: string };
  const { role } = useMe();
  const { data, error, refetch } = useAsk<AccountShape>(`/accounts/${accountId}`, {}, { everyMs: MONEY_EVERY_MS });
  if (error !== null && data === undefined) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  return (
    <>
      <PageHead title={data.name} actions={<Actions account={data} />} />
      <Stack>
        <Notices account={data} />
        <Tiles account={data} />
        <UseOverTime name={data.name} of={{ account: data.id }} />
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Terms account={data} />
          <AccountPeople account={data} mayInvite={role === 'operator' || role === 'owner'} />
        </SimpleGrid>
        <AccountKeys account={data} />
        <AccountRequests account={data} />
      </Stack>
    </>
  );
}

function Actions({ account }: { account: AccountShape }) {
  const { role } = useMe();
  return (
    <>
      <Button
        variant="default"
        component={Link}
        to={`/accounts/${account.id}/balance`}
        leftSection={<Icon name="wallet" />}
      >
        {words.accounts.toBalance}
      </Button>
      <Button
        variant="default"
        component={Link}
        to={`/accounts/${account.id}/statement`}
        leftSection={<Icon name="print" />}
      >
        {words.accounts.toStatement}
      </Button>
      {role === 'operator' && (
        <>
          <StatusButton account={account} />
          <CreditButton account={account} />
        </>
      )}
    </>
  );
}

/** Disabling asks once more; enabling gives back what there was. */
function StatusButton({ account }: { account: AccountShape }) {
  const isEnabled = account.status === 'enabled';
  const change = useChange(
    (status: 'enabled' | 'disabled') =>
      ask<AccountShape>(`/accounts/${account.id}`, { method: 'PATCH', body: { status } }),
    { done: isEnabled ? words.accounts.disabled : words.accounts.enabled },
  );
  if (!isEnabled)
    return (
      <Button variant="default" onClick={() => change.mutate('enabled')} loading={change.isPending}>
        {words.accounts.enable}
      </Button>
    );
  return (
    <ConfirmButton
      label={words.accounts.disable}
      title={words.accounts.disableTitle(account.name)}
      text={words.accounts.disableText}
      onConfirm={() => change.mutateAsync('disabled')}
      isPending={change.isPending}
      failure={change.error}
    />
  );
}

function Notices({ account }: { account: AccountShape }) {
  if (account.status === 'disabled')
    return (
      <Alert color="gray" icon={<Icon name="stop" />}>
        {words.accounts.isDisabled}
      </Alert>
    );
  if (nanoOf(account.available) > 0n) return null;
  return (
    <Alert color="orange" icon={<Icon name="warning" />}>
      {words.accounts.isDry}
    </Alert>
  );
}

function Tiles({ account }: { account: AccountShape }) {
  const since = new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const { data } = useAsk<{ total: UsageTotalShape }>('/usage/totals', { account: account.id, since, limit: 1 });
  const { tiles } = words.accounts;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <StatTile
        label={tiles.available}
        value={<Money usd={account.available} />}
        note={tiles.availableNote}
        {...(nanoOf(account.available) <= 0n && { color: 'red' })}
      />
      <StatTile
        label={tiles.balance}
        value={<Money usd={account.balance} />}
        note={tiles.heldNote(formatMoney(account.held))}
      />
      <StatTile
        label={tiles.cost}
        value={<Money usd={data?.total.cost} />}
        {...(data !== undefined && { note: tiles.messages(formatCount(data.total.messages)) })}
      />
      <StatTile label={tiles.credit} value={<Money usd={account.credit_line} />} note={tiles.creditNote} />
    </SimpleGrid>
  );
}

function Terms({ account }: { account: AccountShape }) {
  const { role } = useMe();
  return (
    <Section title={words.accounts.terms} aside={role === 'operator' && <AccountEditButton account={account} />}>
      <Facts
        facts={[
          { name: words.accounts.groups, value: account.groups.join(', ') },
          { name: words.accounts.allowance, value: <Allowance account={account} /> },
          { name: words.accounts.tiles.credit, value: <Money usd={account.credit_line} /> },
          { name: words.accounts.since, value: <When at={account.created_at} /> },
          {
            name: words.accounts.id,
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
  if (account.allowance === null) return words.accounts.noAllowance;
  return (
    <UsedBar
      used={account.allowance_used}
      limit={account.allowance}
      label={words.accounts.allowance}
      period={words.accounts.periods[account.allowance_period]}
      widthPx={240}
    />
  );
}
