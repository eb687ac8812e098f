// The price and route fields of the model form.

import { Card, Group, NativeSelect, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { Fragment } from 'react';
import { optionsOf, TIERS, tierLabels } from '../../labels.ts';
import { RATE_DIGITS } from '../../money.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { FoundSelect } from '../../parts/fields.tsx';
import { foundProviders } from '../../parts/found.ts';
import { ActionButton } from '../../parts/link.tsx';
import { Heading, Hint } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { blankRoute, type ModelFields, RATES, type RateName, rateLabels } from './form-values.ts';

const costModeLabels = { unknown: 'Unknown', listed: 'List price', stated: 'Custom' };

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
          <Switch label="Long-context price" {...price(`${path}.hasLong`, { type: 'checkbox' })} />
          {isOn('hasLong') && (
            <Stack gap="sm" pl="md">
              <TextInput
                label="Applies above (prompt tokens)"
                inputMode="numeric"
                required
                maw={280}
                {...price(`${path}.long_context.above`)}
              />
              <RateFieldset form={form} path={`${path}.long_context`} />
            </Stack>
          )}
          {TIERS.map((tier) => (
            <Fragment key={tier}>
              <Switch label={`${tierLabels[tier]} price`} {...price(`${path}.hasTier.${tier}`, { type: 'checkbox' })} />
              {isOn(`hasTier.${tier}`) && (
                <Group pl="md">
                  <RateFieldset form={form} path={`${path}.${tier}`} />
                </Group>
              )}
            </Fragment>
          ))}
          <AmountField
            digitsMax={RATE_DIGITS}
            label="Web search, per thousand"
            description="Leave empty to reject requests with web search."
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
        <AmountField
          digitsMax={RATE_DIGITS}
          key={name}
          label={rateLabels[name]}
          leftSection="$"
          required={NEEDED.includes(name)}
          {...(!NEEDED.includes(name) && { placeholder: 'same as input' })}
          {...form.getInputProps(`${path}.${name}`)}
        />
      ))}
    </SimpleGrid>
  );
}

export function RouteFieldset({ form }: { form: Form }) {
  const { routes } = form.getValues();
  const providers = useGet('/providers', { query: { limit: 1 } }).data?.data;
  return (
    <Stack>
      <div>
        <Heading>Routes</Heading>
        <Hint>Providers that serve this model.</Hint>
      </div>
      {providers?.length === 0 && <Text c="orange.8">There are no providers yet. Add one first.</Text>}
      {routes.map(({ key }, at) => (
        <RouteCard key={key} form={form} at={at} isOnly={routes.length === 1} />
      ))}
      {form.errors['routes'] !== undefined && (
        <Text size="sm" c="red" role="alert">
          {form.errors['routes']}
        </Text>
      )}
      {routes.length > 1 && (
        <Switch
          label="Prefer faster routes of equal priority"
          description="By the time to first token of recent streams. Otherwise by weight."
          {...form.getInputProps('prefersLatency', { type: 'checkbox' })}
        />
      )}
      <Group>
        <ActionButton
          label="Add route"
          icon="plus"
          onClick={() => form.insertListItem('routes', blankRoute(providers?.[0]?.name))}
        />
      </Group>
    </Stack>
  );
}

interface RouteCardProps {
  form: Form;
  at: number;
  isOnly: boolean;
}

function RouteCard({ form, at, isOnly }: RouteCardProps) {
  const path = `routes.${at}`;
  const { costMode, cost } = form.getValues().routes[at] ?? blankRoute();
  const field = (name: string) => form.getInputProps(`${path}.${name}`);
  return (
    <Card component="fieldset" style={{ minInlineSize: 0 }} m={0}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Text fw={600}>{`Route ${at + 1}`}</Text>
          {!isOnly && (
            <ActionButton
              label="Remove route"
              size="xs"
              variant="subtle"
              color="red"
              icon="trash"
              onClick={() => form.removeListItem('routes', at)}
            />
          )}
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <FoundSelect
            label="Provider"
            placeholder="Choose a provider…"
            required
            allowDeselect={false}
            found={foundProviders}
            value={form.getValues().routes[at]?.provider || null}
            onChange={(name) => form.setFieldValue(`${path}.provider`, name ?? '')}
            error={field('provider').error}
          />
          <TextInput label="Upstream model" description="Leave empty to use the model name." {...field('model')} />
        </SimpleGrid>
        <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm" style={{ alignItems: 'end' }}>
          <TextInput label="Priority" inputMode="numeric" {...field('priority')} />
          <TextInput label="Weight" inputMode="numeric" {...field('weight')} />
          <TextInput label="Concurrent requests" inputMode="numeric" placeholder="No limit" {...field('concurrency')} />
          <NativeSelect
            label="Provider cost"
            data={optionsOf(costModeLabels)}
            {...field('costMode')}
            error={field('cost').error}
          />
        </SimpleGrid>
        {costMode === 'stated' && <PriceFieldset form={form} path={`${path}.cost`} hasExtras={false} />}
        {costMode === 'stated' &&
          (cost.hasLong || TIERS.some((tier) => cost.hasTier[tier]) || cost.web_search_per_thousand !== '') && (
            <Hint size="xs">Long-context, service tier and web search costs of this route do not change.</Hint>
          )}
      </Stack>
    </Card>
  );
}
