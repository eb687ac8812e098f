// Edits the members of an account that the user may change: its name, place, groups, limits, budgets of users and tags.

import { Fieldset, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { budgetFaultNames, budgetFields, budgetOf, budgetValues } from '../../budgets.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { optionsOf } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { AmountField } from '../../parts/amount-field.tsx';
import { BudgetFields } from '../../parts/budget.tsx';
import { DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { FoundMultiSelect, TagsField } from '../../parts/fields.tsx';
import { foundGroups } from '../../parts/found.ts';
import { TagsInput } from '../../parts/later.tsx';
import { Icon } from '../../parts/link.tsx';
import { useChange } from '../../queries.ts';
import { tagsOf, tagTexts } from '../../tags.ts';
import { countOrNull } from '../models/form-values.ts';
import { PlaceFields, useMayChange } from './tree.tsx';

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
  const { hidden } = useMe();
  const mayChange = useMayChange(account);
  const fields = [...Object.keys(initialValues), ...budgetFields];
  const change = useChange((body: object) => call('PATCH /accounts/{id}', { id: account.id, body }), {
    done: 'Account saved.',
    onDone,
  });
  const faultsOf = (failure: unknown) =>
    fieldFaults(failure, fields, budgetFaultNames(form.getValues().budget, 'person_budget.'));
  const submit = form.onSubmit((values) =>
    change.mutate(changesOf(initialValues, values), {
      onError: (failure) => form.setErrors(faultsOf(failure) ?? {}),
    }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {mayChange('name') && <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />}
        {mayChange('groups') && !hidden.includes('group') && <GroupsField form={form} />}
        {mayChange('parent') && (
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
            <PlaceFields form={form} />
          </SimpleGrid>
        )}
        {mayChange('allowance') && (
          <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
            <TermFields form={form} />
          </SimpleGrid>
        )}
        <Fieldset legend="Budget per user (USD)">
          <Stack gap="sm">
            <BudgetFields form={form} />
          </Stack>
        </Fieldset>
        <TagsInput
          label="Warn at (%)"
          description="Send an event when this share of an allowance, quota or budget is used. Press Enter to add a percentage."
          acceptValueOnBlur
          {...form.getInputProps('warns_at')}
        />
        {mayChange('tags') && <TagRuleFields form={form} />}
        <FormFailure failure={faultsOf(change.error) === null ? change.error : null} fields={fields} />
        <FormActions onCancel={onDone} label="Save" isPending={change.isPending} isDisabled={!form.isDirty()} />
      </Stack>
    </form>
  );
}

interface FieldsProps {
  form: { getInputProps: (name: string) => object };
}

export function GroupsField({ form }: FieldsProps) {
  return (
    <FoundMultiSelect
      label="Groups"
      description="Groups set model access and prices. The first group that offers a model sets its price."
      found={foundGroups}
      {...form.getInputProps('groups')}
    />
  );
}

export function TermFields({ form }: FieldsProps) {
  const { role } = useMe();
  return (
    <>
      <AmountField
        label="Allowance (USD)"
        description="Maximum spend per period. Leave empty to limit spend by the balance only."
        {...form.getInputProps('allowance')}
      />
      <NativeSelect
        label="Allowance resets"
        data={optionsOf(allowancePeriodLabels)}
        {...form.getInputProps('allowance_period')}
      />
      {role === 'operator' && (
        <AmountField
          label="Credit line (USD)"
          description="How far the balance can go below zero."
          {...form.getInputProps('credit_line')}
        />
      )}
    </>
  );
}

function TagRuleFields({ form }: FieldsProps) {
  return (
    <>
      <TagsField {...form.getInputProps('tags')} />
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
        <TagsInput
          label="Required tags"
          description="Requests that lack one of these tags are rejected."
          acceptValueOnBlur
          {...form.getInputProps('tags_required')}
        />
        <TagsInput
          label="Pinned tags"
          description="Clients cannot set these tags."
          acceptValueOnBlur
          {...form.getInputProps('tags_pinned')}
        />
      </SimpleGrid>
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
    budget: budgetValues(account.person_budget),
    warns_at: account.warns_at.map(String),
    tags: tagTexts(account.tags),
    tags_required: account.tags_required,
    tags_pinned: account.tags_pinned,
  };
}

/** Only the changed members, so that concurrent changes of others are kept. */
function changesOf(before: Fields, after: Fields): object {
  const [was, is] = [membersOf(before), membersOf(after)];
  return Object.fromEntries(
    Object.entries(is).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(was[name])),
  );
}

function membersOf({ budget, ...values }: Fields): Record<string, unknown> {
  const { name, allowance, credit_line: creditLine, parent, warns_at: percents, tags } = values;
  return {
    ...values,
    name: name.trim(),
    allowance: allowance.trim() || null,
    credit_line: creditLine.trim() || '0',
    parent: parent || null,
    person_budget: budgetOf(budget),
    warns_at: ascending(percents),
    tags: tagsOf(tags),
  };
}

/** The API reports what is no number. */
function ascending(texts: readonly string[]): (number | string)[] {
  return [...new Set(texts.map((text) => countOrNull(text.replace(/%$/, '')) ?? text))].sort(
    (one, other) => Number(one) - Number(other),
  );
}
