// The budget of a user: what is left, and for owners and operators its limits.

import { Group, NumberInput, SimpleGrid, Stack, Switch } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { PersonBudgetShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { BudgetBars, windowLabels } from '../../parts/budget.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Heading, Hint } from '../../parts/page.tsx';
import { useChange, useGet } from '../../queries.ts';

const WINDOWS = ['5h', 'day', 'week', 'month'] as const;

export function PersonBudget({ id, mayChange }: { id: string; mayChange: boolean }) {
  const { data, error, refetch } = useGet('/people/{id}/budget', { id });
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data === undefined || data.budgets.length === 0) return null;
  return (
    <Stack gap="sm">
      <Heading>Budget</Heading>
      <BudgetBars budget={data} />
      {mayChange && <BudgetForm key={JSON.stringify(termsOf(data))} budget={data} />}
    </Stack>
  );
}

/** Those that were set for the person at their account; empty: no limit. */
function termsOf({ budgets: [own] }: PersonBudgetShape) {
  const limitOf = (window: string) => own?.limits.find((limit) => limit.window === window)?.limit ?? '';
  return {
    ...(Object.fromEntries(WINDOWS.map((window) => [window, limitOf(window)])) as Record<string, string | number>),
    stops: own?.stops ?? true,
  } as Record<(typeof WINDOWS)[number], string | number> & { stops: boolean };
}

function BudgetForm({ budget }: { budget: PersonBudgetShape }) {
  const form = useForm({ initialValues: termsOf(budget) });
  const { person: id, budgets } = budget;
  const saving = useChange((body: object) => call('PATCH /people/{id}/budget', { id, body }), {
    done: 'Budget saved.',
  });
  const resetting = useChange(() => call('POST /people/{id}/budget/reset', { id, body: {} }), {
    done: 'The default of the account applies.',
  });
  const submit = form.onSubmit(({ stops, ...amounts }) => {
    const limits = WINDOWS.filter((window) => amounts[window] !== '').map((window) => ({
      window,
      limit: String(amounts[window]),
    }));
    saving.mutate(limits.length === 0 ? { limits: null } : { limits, stops });
  });
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Hint size="xs">For all keys of this user, in USD. Leave all empty for no limit.</Hint>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {WINDOWS.map((window) => (
            <NumberInput
              key={window}
              label={windowLabels[window]}
              min={0}
              placeholder="No limit"
              {...form.getInputProps(window)}
            />
          ))}
        </SimpleGrid>
        <Switch
          label="Reject requests beyond the budget"
          description="Otherwise events only warn."
          {...form.getInputProps('stops', { type: 'checkbox' })}
        />
        <FailureNotice failure={saving.error ?? resetting.error} />
        <Group gap="xs">
          <ActionButton label="Save budget" isPrimary type="submit" loading={saving.isPending} />
          {budgets[0]?.is_default === false && (
            <ActionButton
              label="Use the default"
              loading={resetting.isPending}
              onClick={() => resetting.mutate(undefined)}
            />
          )}
        </Group>
      </Stack>
    </form>
  );
}
