// The budget of a person and how much of it remains, and the fields of a budget.

import { SimpleGrid, Stack, Switch, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { PersonBudgetShape } from '../../src/admin-api/shapes.ts';
import { windowLabels } from '../budgets.ts';
import { windowLengths } from '../labels.ts';
import { useMe } from '../me.tsx';
import { formatMoney } from '../money.ts';
import { useNames } from '../names.ts';
import { useGet } from '../queries.ts';
import { AmountField } from './amount-field.tsx';
import { UsedBar } from './money.tsx';
import { FailureNotice, Hint, Section } from './page.tsx';
import { When } from './times.tsx';

export type AccountBudget = PersonBudgetShape['budgets'][number];

interface BudgetBarsProps {
  budget: PersonBudgetShape;
  /** Buttons of the budget at an account. Without them, accounts that have no limit are left out. */
  actions?: (of: AccountBudget, name: string) => ReactNode;
}

/** A bar for each limit of each account. */
export function BudgetBars({ budget, actions }: BudgetBarsProps) {
  const names = useNames(budget.budgets.flatMap(({ account }) => (account === null ? [] : [{ account, key: null }])));
  const shown = budget.budgets.filter(({ account, limits }) => limits.length > 0 || (actions && account !== null));
  if (shown.length === 0) return <Hint>No budget. Keys are limited by their quotas and by the balance.</Hint>;
  return (
    <Stack gap="md">
      {shown.map((one, at) => {
        const name = one.account === null ? 'A parent account' : names.account(one.account);
        return (
          <Stack key={one.account ?? at} gap="xs">
            <Hint size="xs">{`${name}: ${originOf(one)}`}</Hint>
            {one.limits.map((limit) => (
              <LimitBar key={limit.window} limit={limit} />
            ))}
            {actions?.(one, name)}
          </Stack>
        );
      })}
    </Stack>
  );
}

function originOf({ is_default: isDefault, stops, limits }: AccountBudget): string {
  if (limits.length === 0) return isDefault ? 'no default budget' : 'no limit for this user';
  return `${isDefault ? 'default of the account' : 'set for this user'}${stops === false ? ', warns only' : ''}`;
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

/** What is left to the signed-in user, if they belong to an account. `isOptional`: only if there is a limit. */
export function OwnBudget({ isOptional = false }: { isOptional?: boolean }) {
  const { id, kind, account } = useMe();
  const isOfAccount = kind === 'person' && account !== null;
  const { data, error, refetch } = useGet('/people/{id}/budget', { id, isEnabled: isOfAccount });
  if (!isOfAccount || (error === null && data === undefined)) return null;
  if (isOptional && data?.budgets.every(({ limits }) => limits.length === 0) === true) return null;
  return (
    <Section title="Your budget" text="For all of your API keys. Only owners can change it.">
      {data === undefined ? (
        <FailureNotice failure={error} onRetry={() => void refetch()} />
      ) : (
        <BudgetBars budget={data} />
      )}
    </Section>
  );
}

interface BudgetFieldsProps {
  form: { getInputProps: (name: string, options?: { type: 'checkbox' }) => object };
}

/** The fields below `budget` of a form. */
export function BudgetFields({ form }: BudgetFieldsProps) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        {windowLengths.map((window) => (
          <AmountField
            key={window}
            label={windowLabels[window]}
            placeholder="No limit"
            autoComplete="off"
            {...form.getInputProps(`budget.${window}`)}
          />
        ))}
      </SimpleGrid>
      <Switch
        label="Reject requests beyond the budget"
        description="Otherwise events only warn."
        {...form.getInputProps('budget.stops', { type: 'checkbox' })}
      />
    </>
  );
}
