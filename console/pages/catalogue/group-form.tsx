// The form of a group, new or standing. Says which models its patterns sell while they are typed.

import { Button, Group, SimpleGrid, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useEffect } from 'react';
import type { GroupShape } from '../../../src/admin-api/shapes.ts';
import { objectFaults } from '../../catalogue-faults.ts';
import { countOrNull } from '../../model-form.ts';
import { ApplyDialogue, useApply } from '../../parts/apply-dialogue.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { coversName } from '../../patterns.ts';
import { words } from '../../words.ts';

const LIMITS = ['rpm', 'input_tpm', 'output_tpm', 'concurrency'] as const;
const NAMES_SHOWN_MAX = 6;

interface GroupFormProps {
  /** Null: a new one. */
  group: GroupShape | null;
  modelNames: readonly string[];
  onDone: () => void;
}

export function GroupForm({ group, modelNames, onDone }: GroupFormProps) {
  const form = useForm({ initialValues: fieldsOf(group) });
  const name = form.values.name.trim();
  const apply = useApply({ done: words.groups.saved, onDone });
  const faults = objectFaults(apply.failure, ['groups', name], (field) => field in form.values);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the faults of an answer are shown when it comes
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
          label={words.groups.name}
          required
          readOnly={group !== null}
          {...(group === null ? { 'data-autofocus': true } : { variant: 'filled' })}
          {...form.getInputProps('name')}
        />
        <TagsInput
          label={words.groups.patterns}
          description={words.groups.patternsHint}
          data={['*', ...modelNames]}
          acceptValueOnBlur
          required
          {...form.getInputProps('models')}
        />
        <Covered patterns={form.values.models} modelNames={modelNames} />
        <TextInput
          label={words.groups.multiplier}
          description={words.groups.multiplierHint}
          inputMode="decimal"
          leftSection="×"
          maw={240}
          {...form.getInputProps('multiplier')}
        />
        <Text size="sm" fw={600}>
          {words.groups.limits}
        </Text>
        <SimpleGrid cols={2} spacing="sm">
          {LIMITS.map((limit) => (
            <TextInput
              key={limit}
              label={words.groups.limit[limit]}
              inputMode="numeric"
              placeholder={words.groups.noLimit}
              {...form.getInputProps(limit)}
            />
          ))}
        </SimpleGrid>
        {faults === null && <FailureNotice failure={apply.failure} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={apply.isAsking} disabled={name === ''}>
            {words.groups.preview}
          </Button>
        </Group>
      </Stack>
      <ApplyDialogue apply={apply} />
    </form>
  );
}

function Covered({ patterns, modelNames }: { patterns: readonly string[]; modelNames: readonly string[] }) {
  const covered = modelNames.filter((name) => patterns.some((pattern) => coversName(pattern, name)));
  const shown = covered.slice(0, NAMES_SHOWN_MAX);
  return (
    <Text size="xs" c="dimmed" aria-live="polite">
      {covered.length === 0
        ? words.groups.coveredNone
        : words.groups.covered(shown.join(', '), covered.length - shown.length)}
    </Text>
  );
}

type Fields = ReturnType<typeof fieldsOf>;

function fieldsOf(group: GroupShape | null) {
  const text = (limit: number | null = null) => (limit === null ? '' : String(limit));
  return {
    name: group?.name ?? '',
    models: [...(group?.models ?? [])],
    multiplier: group?.multiplier ?? '1',
    rpm: text(group?.rpm),
    input_tpm: text(group?.input_tpm),
    output_tpm: text(group?.output_tpm),
    concurrency: text(group?.concurrency),
  };
}

function documentOf({ name: _, models, multiplier, ...limits }: Fields): object {
  return {
    models,
    multiplier: multiplier.trim(),
    ...Object.fromEntries(LIMITS.map((limit) => [limit, countOrNull(limits[limit])])),
  };
}
