// Edits the name, groups, place, allowance and credit line of an account.

import { MultiSelect, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { optionsOf } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { Icon } from '../../parts/link.tsx';
import { useChange, useList } from '../../queries.ts';
import { PlaceFields } from './tree.tsx';

const allowancePeriodLabels = { total: 'Never', day: 'Daily', week: 'Weekly', month: 'Monthly' };

export function AccountEditButton({ account }: { account: AccountShape }) {
  return (
    <DialogButton
      size="xs"
      leftSection={<Icon name="pencil" sizePx={16} />}
      label="Edit"
      title={`Edit ${account.name}`}
      dialogSize="lg"
    >
      {(close) => <AccountEditForm account={account} onDone={close} />}
    </DialogButton>
  );
}

function AccountEditForm({ account, onDone }: { account: AccountShape; onDone: () => void }) {
  const initialValues = fieldsOf(account);
  const form = useForm({ initialValues });
  const fields = Object.keys(initialValues);
  const groups = useList('/groups', { query: { limit: 1000 } }).rows.map(({ name }) => name);
  const change = useChange((body: object) => call('PATCH /accounts/{id}', { id: account.id, body }), {
    done: 'Account updated.',
    onDone,
  });
  const submit = form.onSubmit((values) =>
    change.mutate(changesOf(initialValues, values), {
      onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}),
    }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
        <MultiSelect
          label="Groups"
          description="Groups set model access and prices. The first group that offers a model sets its price."
          data={[...new Set([...groups, ...account.groups])]}
          searchable
          {...form.getInputProps('groups')}
        />
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <PlaceFields form={form} />
        </SimpleGrid>
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
          <TermFields form={form} />
        </SimpleGrid>
        <FormFailure failure={change.error} fields={fields} />
        <FormActions onCancel={onDone} label="Save" isPending={change.isPending} isDisabled={!form.isDirty()} />
      </Stack>
    </form>
  );
}

interface TermFieldsProps {
  form: { getInputProps: (name: string) => object };
}

export function TermFields({ form }: TermFieldsProps) {
  const { role } = useMe();
  return (
    <>
      <TextInput
        label="Allowance (USD)"
        description="Maximum spend per period. Empty: limited only by the balance."
        inputMode="decimal"
        {...form.getInputProps('allowance')}
      />
      <NativeSelect
        label="Allowance resets"
        data={optionsOf(allowancePeriodLabels)}
        {...form.getInputProps('allowance_period')}
      />
      {role === 'operator' && (
        <TextInput
          label="Credit line (USD)"
          description="How far the balance can go below zero."
          inputMode="decimal"
          {...form.getInputProps('credit_line')}
        />
      )}
    </>
  );
}

type Fields = ReturnType<typeof fieldsOf>;

function fieldsOf(account: AccountShape) {
  return {
    name: account.name,
    groups: account.groups,
    allowance: account.allowance ?? '',
    allowance_period: account.allowance_period as string,
    credit_line: account.credit_line,
    parent: account.parent ?? '',
    pays_from: account.pays_from as string,
  };
}

/** Only the changed fields, so that concurrent changes of others are kept. */
function changesOf(before: Fields, after: Fields): object {
  return {
    ...(after.name !== before.name && { name: after.name.trim() }),
    ...(after.groups.join() !== before.groups.join() && { groups: after.groups }),
    ...(after.allowance !== before.allowance && {
      allowance: after.allowance.trim() === '' ? null : after.allowance.trim(),
    }),
    ...(after.allowance_period !== before.allowance_period && { allowance_period: after.allowance_period }),
    ...(after.parent !== before.parent && { parent: after.parent === '' ? null : after.parent }),
    ...(after.pays_from !== before.pays_from && { pays_from: after.pays_from }),
    ...(after.credit_line !== before.credit_line && {
      credit_line: after.credit_line.trim() === '' ? '0' : after.credit_line.trim(),
    }),
  };
}
