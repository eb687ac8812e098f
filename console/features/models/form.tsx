// Creates or edits a model: names, price, limits and routes.

import { Card, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import type { ModelShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { useForm } from '../../form.ts';
import { objectFaults } from '../../form-faults.ts';
import { FormActions } from '../../parts/dialog-button.tsx';
import { Select, TagsInput } from '../../parts/later.tsx';
import { pathOf, useGoTo } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, Heading, Hint, Loading, PageHead } from '../../parts/page.tsx';
import { useGet, useList } from '../../queries.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { PriceFieldset, RouteFieldset } from './form-fields.tsx';
import {
  blankModel,
  documentOfModel,
  fieldsOfListed,
  fieldsOfModel,
  isOfVendor,
  type ModelFields,
} from './form-values.ts';

export function ModelCreate() {
  const { values } = useFilters();
  return (
    <>
      <PageHead title="Create model" text="You review all changes before they are saved." />
      <ModelForm fields={blankModel(values['provider'])} isNew head={(form) => <FromList form={form} />} />
    </>
  );
}

/** The models of the price list that do not exist yet, by vendor. */
function FromList({ form }: { form: UseFormReturnType<ModelFields> }) {
  const listed = (useGet('/prices').data?.data ?? []).filter(isOfVendor);
  const sold = useGet('/catalogue').data?.document.models ?? {};
  const free = listed.filter(({ name }) => !Object.hasOwn(sold, name));
  const families = [...new Set(free.map(({ family }) => family))];
  const take = (name: string | null) => {
    const found = free.find((model) => model.name === name);
    if (found === undefined) return;
    form.setErrors({});
    form.setValues(fieldsOfListed(found, form.values.routes[0]?.provider ?? ''));
  };
  return (
    <Card>
      <Select
        label="Start from the price list"
        description="Fills in the names, limits and prices of a known model."
        placeholder="Choose a model…"
        searchable
        clearable
        maw={480}
        data={families.map((family) => ({
          group: family,
          items: free.filter((model) => model.family === family).map(({ name }) => name),
        }))}
        onChange={take}
        renderOption={({ option }) => <Text size="sm">{option.value}</Text>}
      />
    </Card>
  );
}

export function ModelEdit() {
  const { modelName: name } = useParams({ strict: false }) as { modelName: string };
  const catalog = useGet('/catalogue');
  const models = useList('/models', { query: { patterns: name } });
  const written = catalog.data?.document.models[name];
  const inForce = models.rows.find((model) => model.name === name);
  return (
    <>
      <PageHead title={`Edit ${name}`} text="You review all changes before they are saved." />
      <FailureNotice failure={catalog.error ?? models.failure} onRetry={() => void catalog.refetch()} />
      {(catalog.isLoading || models.isLoading) && <Loading />}
      {catalog.data !== undefined && written === undefined && (
        <EmptyState
          icon="cube"
          title="Page not found"
          text={`The model "${name}" does not exist, or you do not have access to it.`}
        />
      )}
      {written !== undefined && !models.isLoading && (
        <ModelForm
          fields={fieldsOfModel(name, written, inForce === undefined ? null : writtenPrice(inForce))}
          isNew={false}
        />
      )}
    </>
  );
}

/** The current price in the form of the catalog document. */
function writtenPrice({ price }: ModelShape) {
  const { long_context, fast, web_search_per_thousand, ...rates } = price;
  return {
    ...rates,
    long_context: long_context ?? null,
    fast: fast ?? null,
    web_search_per_thousand: web_search_per_thousand ?? null,
  };
}

type Form = UseFormReturnType<ModelFields>;

interface ModelFormProps {
  fields: ModelFields;
  isNew: boolean;
  /** Renders content above the fields. */
  head?: (form: Form) => ReactNode;
}

function ModelForm({ fields, isNew, head }: ModelFormProps) {
  const goTo = useGoTo();
  const form = useForm<ModelFields>({ initialValues: fields });
  const name = form.values.name.trim();
  const toModel = pathOf.model(name);
  const apply = useReview({ done: 'Model saved.', onDone: () => goTo(toModel) });
  const faults = objectFaults(apply.failure, ['models', name], isFieldOf(form.values));
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per failure
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
        <RouteFieldset form={form} />
        {faults === null && <FailureNotice failure={apply.failure} />}
        <FormActions
          label="Review changes"
          cancelTo={isNew ? '/models' : toModel}
          isPending={apply.isAsking}
          isDisabled={name === ''}
        />
      </Stack>
      <ReviewDialog apply={apply} />
    </form>
  );
}

function NameFieldset({ form, isNew }: { form: Form; isNew: boolean }) {
  return (
    <Card>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <TextInput
            label="Name"
            description={
              isNew ? 'Clients send this name in their requests.' : 'The name cannot be edited. Add an alias instead.'
            }
            required
            readOnly={!isNew}
            {...(!isNew && { variant: 'filled' })}
            {...form.getInputProps('name')}
          />
          <TextInput label="Display name" placeholder={form.values.name} {...form.getInputProps('display_name')} />
        </SimpleGrid>
        <TagsInput
          label="Aliases"
          description="Additional names for this model. Press Enter to add one."
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
  const prices = useGet('/prices').data?.data;
  const isNamed = names.some((one) => one !== '');
  const isKnown = isNamed
    ? prices?.some((listed) => [listed.name, ...listed.aliases].some((one) => names.includes(one)))
    : false;
  return (
    <Card>
      <Stack gap="sm">
        <div>
          <Heading>Price</Heading>
          <Hint>USD per million tokens</Hint>
        </div>
        <Switch
          label="Use the list price"
          description={
            isKnown === false
              ? 'This model is not on the price list.'
              : 'The current list price is stored. A newer list does not change it.'
          }
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
    <Card>
      <Heading mb="sm">Limits</Heading>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
        <TextInput
          label="Max input tokens"
          inputMode="numeric"
          placeholder="No limit"
          {...form.getInputProps('max_input_tokens')}
        />
        <TextInput
          label="Max output tokens"
          inputMode="numeric"
          placeholder="No limit"
          {...form.getInputProps('max_output_tokens')}
        />
        <TextInput
          label="Default max tokens"
          inputMode="numeric"
          placeholder="4096"
          {...form.getInputProps('default_max_tokens')}
        />
      </SimpleGrid>
    </Card>
  );
}

/** Whether a fault at this path of the document belongs to a field. */
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
