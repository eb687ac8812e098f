// Gives an account a plan by hand, changes its end, or ends it. For operators.

import { Group, Stack } from '@mantine/core';
import type { AccountPlanShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { ConfirmButton, DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { FoundSelect } from '../../parts/fields.tsx';
import { foundPlans } from '../../parts/found.ts';
import { Icon } from '../../parts/link.tsx';
import { TimeField } from '../../parts/times.tsx';
import { useChange } from '../../queries.ts';

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
        <FoundSelect
          label="Plan"
          description="If you select another plan, usage in windows of the same length is kept."
          placeholder="Choose a plan"
          found={foundPlans}
          allowDeselect={false}
          data-autofocus
          value={form.values.plan || null}
          onChange={(name) => form.setFieldValue('plan', name ?? '')}
          error={form.errors['plan']}
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
