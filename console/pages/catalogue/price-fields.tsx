// The fields of a price, or of what a route costs: the rates of every message, and those of long prompts, of speed and of
// searches where there are any.

import { Group, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { type ModelFields, RATES, type RateName } from '../../model-form.ts';
import { words } from '../../words.ts';

type Form = UseFormReturnType<ModelFields>;
const NEEDED: readonly RateName[] = ['input', 'output'];

export function PriceFieldset({ form, path, hasExtras }: { form: Form; path: string; hasExtras: boolean }) {
  const price = form.getInputProps;
  const isOn = (name: string) => form.getInputProps(`${path}.${name}`, { type: 'checkbox' }).checked === true;
  return (
    <Stack gap="sm">
      <RateFieldset form={form} path={path} />
      {hasExtras && (
        <>
          <Switch label={words.modelForm.long} {...price(`${path}.hasLong`, { type: 'checkbox' })} />
          {isOn('hasLong') && (
            <Stack gap="sm" pl="md">
              <TextInput
                label={words.modelForm.above}
                inputMode="numeric"
                required
                maw={280}
                {...price(`${path}.long_context.above`)}
              />
              <RateFieldset form={form} path={`${path}.long_context`} />
            </Stack>
          )}
          <Switch label={words.modelForm.fast} {...price(`${path}.hasFast`, { type: 'checkbox' })} />
          {isOn('hasFast') && (
            <Group pl="md">
              <RateFieldset form={form} path={`${path}.fast`} />
            </Group>
          )}
          <TextInput
            label={words.modelForm.webSearch}
            description={words.modelForm.webSearchHint}
            inputMode="decimal"
            leftSection="$"
            maw={280}
            {...price(`${path}.web_search_per_thousand`)}
          />
        </>
      )}
    </Stack>
  );
}

function RateFieldset({ form, path }: { form: Form; path: string }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm" w="100%" style={{ alignItems: 'end' }}>
      {RATES.map((name) => (
        <TextInput
          key={name}
          label={words.models.parts[name]}
          inputMode="decimal"
          leftSection="$"
          required={NEEDED.includes(name)}
          {...(!NEEDED.includes(name) && { placeholder: words.modelForm.optional })}
          {...form.getInputProps(`${path}.${name}`)}
        />
      ))}
    </SimpleGrid>
  );
}
