// The budget of a user: what is left at each account, and for owners and operators its limits.

import { Group, Stack } from '@mantine/core';
import { call } from '../../api.ts';
import { budgetFaultNames, budgetFields, budgetOf, budgetValues } from '../../budgets.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { type AccountBudget, BudgetBars, BudgetFields } from '../../parts/budget.tsx';
import { DialogButton, FormActions } from '../../parts/dialog-button.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Heading, Hint } from '../../parts/page.tsx';
import { useChange, useGet } from '../../queries.ts';

export function PersonBudget({ id, mayChange }: { id: string; mayChange: boolean }) {
  const { data, error, refetch } = useGet('/people/{id}/budget', { id });
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data === undefined || data.budgets.length === 0) return null;
  return (
    <Stack gap="sm">
      <Heading>Budget</Heading>
      <BudgetBars
        budget={data}
        {...(mayChange && { actions: (of, name) => <Actions person={id} budget={of} account={name} /> })}
      />
    </Stack>
  );
}

interface ActionsProps {
  person: string;
  budget: AccountBudget;
  /** The name of the account. */
  account: string;
}

function Actions({ person, budget, account }: ActionsProps) {
  const resetting = useChange(
    () => call('POST /people/{id}/budget/reset', { id: person, body: { account: budget.account } }),
    { done: 'The default of the account applies.' },
  );
  if (budget.account === null) return null;
  return (
    <>
      <Group gap="xs">
        <DialogButton
          size="xs"
          label={budget.limits.length > 0 ? 'Edit budget' : 'Set budget'}
          title={`Budget at ${account}`}
        >
          {(close) => <BudgetForm person={person} budget={budget} onDone={close} />}
        </DialogButton>
        {!budget.is_default && (
          <ActionButton
            size="xs"
            label="Use the default"
            loading={resetting.isPending}
            onClick={() => resetting.mutate(undefined)}
          />
        )}
      </Group>
      <FailureNotice failure={resetting.error} />
    </>
  );
}

interface BudgetFormProps extends Omit<ActionsProps, 'account'> {
  onDone: () => void;
}

function BudgetForm({ person: id, budget, onDone }: BudgetFormProps) {
  const form = useForm({ initialValues: { budget: budgetValues(budget) } });
  const saving = useChange((body: object) => call('PATCH /people/{id}/budget', { id, body }), {
    done: 'Budget saved.',
    onDone,
  });
  const faultsOf = (failure: unknown) => fieldFaults(failure, budgetFields, budgetFaultNames(form.getValues().budget));
  const submit = form.onSubmit((values) =>
    saving.mutate(
      { account: budget.account, ...(budgetOf(values.budget) ?? { limits: null }) },
      { onError: (failure) => form.setErrors(faultsOf(failure) ?? {}) },
    ),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <Hint>For all keys of this user, in USD. Leave all empty for no limit.</Hint>
        <BudgetFields form={form} />
        {faultsOf(saving.error) === null && <FailureNotice failure={saving.error} />}
        <FormActions label="Save" onCancel={onDone} isPending={saving.isPending} />
      </Stack>
    </form>
  );
}
