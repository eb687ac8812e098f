// Gives an account a plan by hand, changes its end, or ends it. For operators.

import { Group, NativeSelect, Stack } from '@mantine/core';
import type { AccountPlanShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { ConfirmButton, DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { Icon } from '../../parts/link.tsx';
import { TimeField } from '../../parts/times.tsx';
import { useChange, useList } from '../../queries.ts';

const FIELDS = ['plan', 'ends_at'];

export function PlanGiveButton({ plan }: { plan: AccountPlanShape }) {
  const ending = useChange(() => call('PATCH /accounts/{id}/plan', { id: plan.account, body: { plan: null } }), {
    done: 'Plan ended.',
  });
  const hasPlan = plan.plan !== null;
  return (
    <Group gap="xs">
      {hasPlan && (
        <ConfirmButton
          size="xs"
          variant="default"
          label="End plan"
          title="End the plan now?"
          text="The balance pays for all further requests. The remaining allowance is lost."
          change={ending}
          input={undefined}
        />
      )}
      <DialogButton
        size="xs"
        leftSection={<Icon name={hasPlan ? 'pencil' : 'plus'} sizePx={16} />}
        label={hasPlan ? 'Edit' : 'Assign plan'}
        title={hasPlan ? 'Edit plan' : 'Assign plan'}
      >
        {(close) => <GiveForm plan={plan} onDone={close} />}
      </DialogButton>
    </Group>
  );
}

function GiveForm({ plan, onDone }: { plan: AccountPlanShape; onDone: () => void }) {
  const plans = useList('/plans', { query: { limit: 1000 } }).rows;
  const initialValues = { plan: plan.plan ?? '', ends_at: plan.ends_at ?? '' };
  const form = useForm({ initialValues });
  const change = useChange((body: object) => call('PATCH /accounts/{id}/plan', { id: plan.account, body }), {
    done: 'Plan saved.',
    onDone,
  });
  const submit = form.onSubmit(({ plan: name, ends_at: ends }) =>
    change.mutate(
      {
        ...(name !== initialValues.plan && { plan: name }),
        ...(ends !== initialValues.ends_at && { ends_at: ends === '' ? null : ends }),
      },
      { onError: (failure) => form.setErrors(fieldFaults(failure, FIELDS) ?? {}) },
    ),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <NativeSelect
          label="Plan"
          description="If you select another plan, usage in windows of the same length is kept."
          data={[
            ...(plan.plan === null ? [{ value: '', label: 'Choose a plan' }] : []),
            ...plans.map(({ name, title }) => ({ value: name, label: title })),
          ]}
          data-autofocus
          {...form.getInputProps('plan')}
        />
        <TimeField
          label="Ends"
          description="Leave empty for a plan without an end date."
          {...form.getInputProps('ends_at')}
        />
        <FormFailure failure={change.error} fields={FIELDS} />
        <FormActions
          label="Save"
          onCancel={onDone}
          isPending={change.isPending}
          isDisabled={!form.isDirty() || form.values.plan === ''}
        />
      </Stack>
    </form>
  );
}
