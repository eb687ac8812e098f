// Creates or edits a group. Shows which models its patterns match while they are typed.

import { Checkbox, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useEffect } from 'react';
import type { GroupShape } from '../../../src/admin-api/shapes.ts';
import { useForm } from '../../form.ts';
import { objectFaults } from '../../form-faults.ts';
import { TIERS, tierLabels } from '../../labels.ts';
import { FormActions } from '../../parts/dialog-button.tsx';
import { FoundTagsInput } from '../../parts/fields.tsx';
import { foundModels } from '../../parts/found.ts';
import { TagsInput } from '../../parts/later.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { countOrNull } from '../models/form-values.ts';
import { limitLabels, limitNames } from './limits.ts';

const NAMES_SHOWN_MAX = 6;

interface GroupFormProps {
  /** Null: a new group. */
  group: GroupShape | null;
  onDone: () => void;
}

export function GroupForm({ group, onDone }: GroupFormProps) {
  const form = useForm({ initialValues: fieldsOf(group) });
  const name = form.values.name.trim();
  const apply = useReview({ done: 'Group saved.', onDone });
  const faults = objectFaults(apply.failure, ['groups', name], (field) => field in form.values);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per failure
  useEffect(() => form.setErrors(faults ?? {}), [apply.failure]);
  return (
    <form
      onSubmit={form.onSubmit((values) =>
        apply.preview(() => ({ document: { groups: { [values.name.trim()]: documentOf(values) } } })),
      )}
      noValidate
    >
      <Stack>
        <TextInput
          label="Name"
          required
          readOnly={group !== null}
          {...(group === null ? { 'data-autofocus': true } : { variant: 'filled' })}
          {...form.getInputProps('name')}
        />
        <FoundTagsInput
          label="Models"
          description="Model names, or patterns with * as a wildcard. Press Enter to add one."
          first={['*']}
          found={allModels}
          acceptValueOnBlur
          required
          {...form.getInputProps('models')}
        />
        <MatchedModels patterns={form.values.models} />
        <TextInput
          label="Price multiplier"
          description="1 is the list price, 0.8 is a 20% discount."
          inputMode="decimal"
          leftSection="×"
          maw={240}
          {...form.getInputProps('multiplier')}
        />
        <TagsInput
          label="Data residency"
          description="Use only providers in these regions, such as eu. Leave empty to use all providers."
          acceptValueOnBlur
          {...form.getInputProps('residency')}
        />
        <TierBoxes form={form} />
        <Text size="sm" fw={600}>
          Limits per account
        </Text>
        <SimpleGrid cols={2} spacing="sm">
          {limitNames.map((limit) => (
            <TextInput
              key={limit}
              label={limitLabels[limit]}
              inputMode="numeric"
              placeholder="No limit"
              {...form.getInputProps(limit)}
            />
          ))}
        </SimpleGrid>
        {faults === null && <FailureNotice failure={apply.failure} />}
        <FormActions onCancel={onDone} label="Review changes" isPending={apply.isAsking} isDisabled={name === ''} />
      </Stack>
      <ReviewDialog apply={apply} />
    </form>
  );
}

function TierBoxes({ form }: { form: UseFormReturnType<Fields> }) {
  return (
    <Checkbox.Group
      label="Service tiers"
      description="Requests can ask for these tiers if the model has a price for them."
      {...form.getInputProps('tiers')}
    >
      <Group mt="xs">
        {TIERS.map((tier) => (
          <Checkbox key={tier} value={tier} label={tierLabels[tier]} />
        ))}
      </Group>
    </Checkbox.Group>
  );
}

function MatchedModels({ patterns }: { patterns: readonly string[] }) {
  const isEnabled = patterns.length > 0;
  const query = { limit: NAMES_SHOWN_MAX + 1, patterns: patterns.join() };
  const { data } = useGet('/models', { query, isEnabled });
  const names = isEnabled ? data?.data.map(({ name }) => name) : [];
  const shown = names?.slice(0, NAMES_SHOWN_MAX).join(', ');
  const more = (names?.length ?? 0) > NAMES_SHOWN_MAX ? ' and others' : '';
  return (
    <Hint size="xs" aria-live="polite">
      {names !== undefined && (names.length === 0 ? 'Matches no existing model.' : `Matches ${shown}${more}.`)}
    </Hint>
  );
}

const allModels = foundModels(null);

type Fields = ReturnType<typeof fieldsOf>;

function fieldsOf(group: GroupShape | null) {
  const text = (limit: number | null = null) => (limit === null ? '' : String(limit));
  return {
    name: group?.name ?? '',
    models: [...(group?.models ?? [])],
    multiplier: group?.multiplier ?? '1',
    residency: [...(group?.residency ?? [])],
    tiers: [...(group?.tiers ?? TIERS)] as string[],
    rpm: text(group?.rpm),
    input_tpm: text(group?.input_tpm),
    output_tpm: text(group?.output_tpm),
    concurrency: text(group?.concurrency),
  };
}

function documentOf({ name: _, models, multiplier, residency, tiers, ...limits }: Fields): object {
  return {
    models,
    multiplier: multiplier.trim(),
    ...(residency.length > 0 && { residency }),
    ...(tiers.length < TIERS.length && { tiers }),
    ...Object.fromEntries(limitNames.map((limit) => [limit, countOrNull(limits[limit])])),
  };
}
