// The form of a model, new or standing: its names, price, limits and routes. What would change is shown before it is saved.

import { Button, Card, Group, SimpleGrid, Stack, Switch, TagsInput, Text, TextInput, Title } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import type { ListedModelShape, ProviderShape } from '../../../src/admin-api/shapes.ts';
import { objectFaults } from '../../catalogue-faults.ts';
import { documentOfModel, type ModelFields } from '../../model-form.ts';
import { ApplyDialogue, useApply } from '../../parts/apply-dialogue.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { useAsk, usePages } from '../../queries.ts';
import { words } from '../../words.ts';
import { PriceFieldset } from './price-fields.tsx';
import { RouteFieldset } from './route-fields.tsx';

type Form = UseFormReturnType<ModelFields>;

interface ModelFormProps {
  fields: ModelFields;
  isNew: boolean;
  /** Above the fields. */
  head?: (form: Form) => ReactNode;
}

export function ModelForm({ fields, isNew, head }: ModelFormProps) {
  const navigate = useNavigate();
  const form = useForm<ModelFields>({ initialValues: fields });
  const name = form.values.name.trim();
  const toModel = { to: '/models/$modelName', params: { modelName: name } as never } as const;
  const apply = useApply({ done: words.models.saved, onDone: () => navigate(toModel) });
  const faults = objectFaults(apply.failure, ['models', name], isFieldOf(form.values));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the faults of an answer are shown when it comes
  useEffect(() => form.setErrors(faults ?? {}), [apply.failure]);
  return (
    <form
      onSubmit={form.onSubmit((values) =>
        apply.preview(() => ({ document: { models: { [values.name.trim()]: documentOfModel(values) } } })),
      )}
      noValidate
    >
      <Stack>
        {head?.(form)}
        <NameFieldset form={form} isNew={isNew} />
        <PriceCard form={form} />
        <LimitsCard form={form} />
        <RouteFieldset form={form} providers={useProviderNames()} />
        {faults === null && <FailureNotice failure={apply.failure} />}
        <Group justify="flex-end">
          <Button variant="default" component={Link} {...(isNew ? { to: '/models' } : toModel)}>
            {words.parts.cancel}
          </Button>
          <Button type="submit" loading={apply.isAsking} disabled={name === ''}>
            {words.modelForm.preview}
          </Button>
        </Group>
      </Stack>
      <ApplyDialogue apply={apply} />
    </form>
  );
}

export function useProviderNames(): string[] {
  return usePages<ProviderShape>('/providers', { limit: 1000 }).rows.map(({ name }) => name);
}

function NameFieldset({ form, isNew }: { form: Form; isNew: boolean }) {
  return (
    <Card withBorder>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <TextInput
            label={words.modelForm.name}
            description={isNew ? words.modelForm.nameHint : words.modelForm.nameFixed}
            required
            readOnly={!isNew}
            {...(!isNew && { variant: 'filled' })}
            {...form.getInputProps('name')}
          />
          <TextInput
            label={words.modelForm.displayName}
            placeholder={form.values.name}
            {...form.getInputProps('display_name')}
          />
        </SimpleGrid>
        <TagsInput
          label={words.modelForm.aliases}
          description={words.modelForm.aliasesHint}
          acceptValueOnBlur
          {...form.getInputProps('aliases')}
        />
      </Stack>
    </Card>
  );
}

function PriceCard({ form }: { form: Form }) {
  const { name, aliases, isListed, routes } = form.values;
  const names = [name, ...aliases, routes[0]?.model ?? ''];
  const isKnown = useAsk<{ data: ListedModelShape[] }>('/prices').data?.data.some((listed) =>
    [listed.name, ...listed.aliases].some((one) => names.includes(one)),
  );
  return (
    <Card withBorder>
      <Stack gap="sm">
        <div>
          <Title order={2} size="h4">
            {words.modelForm.priceTitle}
          </Title>
          <Text size="sm" c="dimmed">
            {words.modelForm.priceHint}
          </Text>
        </div>
        <Switch
          label={words.modelForm.listed}
          description={isKnown === false ? words.modelForm.listedUnknown : words.modelForm.listedHint}
          disabled={isKnown === false && !isListed}
          {...form.getInputProps('isListed', { type: 'checkbox' })}
          error={form.errors['catalogue']}
        />
        {!isListed && <PriceFieldset form={form} path="price" hasExtras />}
      </Stack>
    </Card>
  );
}

function LimitsCard({ form }: { form: Form }) {
  return (
    <Card withBorder>
      <Title order={2} size="h4" mb="sm">
        {words.modelForm.limitsTitle}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
        <TextInput
          label={words.modelForm.maxInput}
          inputMode="numeric"
          placeholder={words.modelForm.noLimit}
          {...form.getInputProps('max_input_tokens')}
        />
        <TextInput
          label={words.modelForm.maxOutput}
          inputMode="numeric"
          placeholder={words.modelForm.noLimit}
          {...form.getInputProps('max_output_tokens')}
        />
        <TextInput
          label={words.modelForm.defaultMax}
          inputMode="numeric"
          placeholder="4096"
          {...form.getInputProps('default_max_tokens')}
        />
      </SimpleGrid>
    </Card>
  );
}

/** Whether a fault at this place of the document has a field to stand beside. */
function isFieldOf(fields: ModelFields): (field: string) => boolean {
  return (field) => {
    if (['name', 'catalogue', 'aliases', 'routes'].includes(field)) return true;
    if (field === 'price') return false;
    if (/^routes\.\d+$/.test(field)) return false;
    const found = field
      .split('.')
      .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], fields);
    return typeof found === 'string' || /^routes\.\d+\.cost$/.test(field);
  };
}
