// Creates or edits a plan of the catalog.

import { SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useEffect } from 'react';
import type { PlanShape } from '../../../src/admin-api/shapes.ts';
import { useForm } from '../../form.ts';
import { objectFaults } from '../../form-faults.ts';
import { windowLengths } from '../../labels.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { FormActions } from '../../parts/dialog-button.tsx';
import { FoundMultiSelect } from '../../parts/fields.tsx';
import { foundGroups } from '../../parts/found.ts';
import { FailureNotice } from '../../parts/page.tsx';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { limitLabels, limitNames } from '../groups/limits.ts';
import { countOrNull, textOrNull } from '../models/form-values.ts';
import { windowLabels } from './windows.ts';

const FIELDS = [
  ...['name', 'title', 'price', 'groups', 'stripe_price', 'is_offered'],
  ...windowLengths.map((length) => `windows.${length}`),
  ...limitNames.map((limit) => `limits.${limit}`),
];

interface PlanFormProps {
  /** Null: a new plan. */
  plan: PlanShape | null;
  onDone: () => void;
}

export function PlanForm({ plan, onDone }: PlanFormProps) {
  const form = useForm({ initialValues: fieldsOf(plan) });
  const name = form.values.name.trim();
  const apply = useReview({ done: 'Plan saved.', onDone });
  const faults = objectFaults(apply.failure, ['plans', name], (field) => FIELDS.includes(field));
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per failure
  useEffect(() => form.setErrors(faults ?? {}), [apply.failure]);
  return (
    <form
      onSubmit={form.onSubmit((values) =>
        apply.preview(() => ({ document: { plans: { [values.name.trim()]: documentOf(values) } } })),
      )}
      noValidate
    >
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <TextInput
            label="Name"
            description="For the API and configuration files."
            required
            readOnly={plan !== null}
            {...(plan === null ? { 'data-autofocus': true } : { variant: 'filled' })}
            {...form.getInputProps('name')}
          />
          <TextInput label="Title" description="For account holders." required {...form.getInputProps('title')} />
        </SimpleGrid>
        <AmountFields form={form} />
        <FoundMultiSelect
          label="Groups"
          description="The plan adds these groups to the account, and pays for their requests only. Leave empty to include all groups of the account."
          found={foundGroups}
          {...form.getInputProps('groups')}
        />
        <Text size="sm" fw={600}>
          Limits per account, instead of those of the groups
        </Text>
        <SimpleGrid cols={2} spacing="sm">
          {limitNames.map((limit) => (
            <TextInput
              key={limit}
              label={limitLabels[limit]}
              inputMode="numeric"
              placeholder="Group limit"
              {...form.getInputProps(`limits.${limit}`)}
            />
          ))}
        </SimpleGrid>
        <TextInput
          label="Stripe price ID"
          description="The ID of a monthly price. Without it, only operators can assign the plan."
          placeholder="price_…"
          {...form.getInputProps('stripe_price')}
        />
        <Switch
          label="Offered"
          description="Account holders see the plan, and can buy it if it has a Stripe price."
          {...form.getInputProps('is_offered', { type: 'checkbox' })}
        />
        {faults === null && <FailureNotice failure={apply.failure} />}
        <FormActions onCancel={onDone} label="Review changes" isPending={apply.isAsking} isDisabled={name === ''} />
      </Stack>
      <ReviewDialog apply={apply} />
    </form>
  );
}

interface AmountFieldsProps {
  form: { getInputProps: (name: string) => object };
}

function AmountFields({ form }: AmountFieldsProps) {
  return (
    <>
      <AmountField
        label="Price per month (USD)"
        description="Must equal the Stripe price, or the plan cannot be bought."
        maw={320}
        {...form.getInputProps('price')}
      />
      <Text size="sm" fw={600}>
        Allowance per window (USD)
      </Text>
      <SimpleGrid cols={{ base: 2, xs: 4 }} spacing="sm">
        {windowLengths.map((length) => (
          <AmountField
            key={length}
            label={windowLabels[length]}
            placeholder="None"
            {...form.getInputProps(`windows.${length}`)}
          />
        ))}
      </SimpleGrid>
    </>
  );
}

type Fields = ReturnType<typeof fieldsOf>;

function fieldsOf(plan: PlanShape | null) {
  const limit = (name: (typeof limitNames)[number]) => String(plan?.limits[name] ?? '');
  const window = (length: (typeof windowLengths)[number]) => plan?.windows[length] ?? '';
  return {
    name: plan?.name ?? '',
    title: plan?.title ?? '',
    price: plan?.price ?? '',
    windows: { '5h': window('5h'), day: window('day'), week: window('week'), month: window('month') },
    groups: [...(plan?.groups ?? [])],
    limits: {
      rpm: limit('rpm'),
      input_tpm: limit('input_tpm'),
      output_tpm: limit('output_tpm'),
      concurrency: limit('concurrency'),
    },
    stripe_price: plan?.stripe_price ?? '',
    is_offered: plan?.offered ?? false,
  };
}

function documentOf({ name: _, title, price, windows, groups, limits, stripe_price, is_offered }: Fields): object {
  return {
    title: title.trim(),
    ...(price.trim() !== '' && { price: price.trim() }),
    windows: Object.fromEntries(windowLengths.map((length) => [length, textOrNull(windows[length])])),
    groups,
    limits: Object.fromEntries(limitNames.map((limit) => [limit, countOrNull(limits[limit])])),
    stripe_price: textOrNull(stripe_price),
    is_offered,
  };
}
