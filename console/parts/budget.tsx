// The budget of a person and how much of it remains.

import { Stack, Text } from '@mantine/core';
import type { PersonBudgetShape } from '../../src/admin-api/shapes.ts';
import { formatMoney } from '../money.ts';
import { useNames } from '../names.ts';
import { UsedBar } from './money.tsx';
import { Hint } from './page.tsx';
import { When } from './times.tsx';

export const windowLabels = { '5h': '5 hours', day: 'Day (UTC)', week: 'Week (Monday, UTC)', month: 'Month (UTC)' };

type AccountBudget = PersonBudgetShape['budgets'][number];

/** A bar for each limit of each account. */
export function BudgetBars({ budget }: { budget: PersonBudgetShape }) {
  const names = useNames(budget.budgets.flatMap(({ account }) => (account === null ? [] : [{ account, key: null }])));
  const limited = budget.budgets.filter(({ limits }) => limits.length > 0);
  if (limited.length === 0) return <Hint>No budget. Keys are limited by their quotas and by the balance.</Hint>;
  return (
    <Stack gap="md">
      {limited.map((one, at) => (
        <Stack key={one.account ?? at} gap="xs">
          <Hint size="xs">
            {one.account === null ? 'An account above' : names.account(one.account)}:{' '}
            {one.is_default ? 'default of the account' : 'set for this user'}
            {one.stops === false && ', warns only'}
          </Hint>
          {one.limits.map((limit) => (
            <LimitBar key={limit.window} limit={limit} />
          ))}
        </Stack>
      ))}
    </Stack>
  );
}

function LimitBar({ limit }: { limit: AccountBudget['limits'][number] }) {
  const label = windowLabels[limit.window];
  return (
    <Stack gap={2}>
      <Text size="sm">
        {label}: {formatMoney(limit.remaining)} left
      </Text>
      <UsedBar used={limit.used} limit={limit.limit} label={`Budget, ${label}`} />
      <Hint size="xs">
        {limit.resets_at === null ? (
          'Starts with the next request'
        ) : (
          <>
            {'Resets'} <When at={limit.resets_at} />
          </>
        )}
      </Hint>
    </Stack>
  );
}
