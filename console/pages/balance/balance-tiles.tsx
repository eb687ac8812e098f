// What an account has, holds and may spend.

import { Alert, Card, SimpleGrid, Stack, Text } from '@mantine/core';
import type { AccountShape, HoldShape } from '../../../src/admin-api/shapes.ts';
import { Icon } from '../../parts/icon.tsx';
import { Money, nanoOf } from '../../parts/money.tsx';
import { StatTile } from '../../parts/stat-tile.tsx';
import { UsedBar } from '../../parts/used-bar.tsx';
import type { Rows } from '../../queries.ts';
import { words } from '../../words.ts';

const its = words.balance;

export function BalanceTiles({ account, holds }: { account: AccountShape; holds: Rows<HoldShape> }) {
  const isEmpty = nanoOf(account.available) <= 0n;
  const hasLine = nanoOf(account.credit_line) > 0n;
  return (
    <Stack>
      {account.status === 'disabled' && <Notice text={its.disabled} />}
      {isEmpty && <Notice text={its.empty} />}
      <SimpleGrid cols={{ base: 2, lg: 4 }}>
        <StatTile
          label={its.available}
          value={<Money usd={account.available} />}
          note={its.availableNote}
          {...(isEmpty && { color: 'red' })}
        />
        <StatTile label={its.balance} value={<Money usd={account.balance} />} note={its.balanceNote} />
        <StatTile
          label={its.held}
          value={<Money usd={account.held} />}
          note={its.heldNote(holds.rows.length, holds.showMore !== null)}
        />
        <StatTile
          label={its.creditLine}
          value={<Money usd={account.credit_line} />}
          note={hasLine ? its.creditLineNote : its.noCreditLine}
        />
      </SimpleGrid>
      {account.allowance !== null && (
        <Card withBorder p="md">
          <Text size="sm" c="dimmed" mb={6}>
            {its.allowance}
          </Text>
          <UsedBar
            used={account.allowance_used}
            limit={account.allowance}
            label={its.allowance}
            period={its.allowancePeriods[account.allowance_period]}
          />
        </Card>
      )}
    </Stack>
  );
}

function Notice({ text }: { text: string }) {
  return (
    <Alert color="orange" variant="light" icon={<Icon name="warning" />} p="sm">
      {text}
    </Alert>
  );
}
