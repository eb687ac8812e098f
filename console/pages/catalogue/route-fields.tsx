// The fields of a model's routes: over which providers it is sold, in which order, and what each costs.

import { Button, Card, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { blankRoute, type ModelFields } from '../../model-form.ts';
import { Icon } from '../../parts/icon.tsx';
import { words } from '../../words.ts';
import { PriceFieldset } from './price-fields.tsx';

type Form = UseFormReturnType<ModelFields>;

export function RouteFieldset({ form, providers }: { form: Form; providers: readonly string[] }) {
  const { routes } = form.getValues();
  return (
    <Stack>
      <div>
        <Title order={2} size="h4">
          {words.modelForm.routesTitle}
        </Title>
        <Text size="sm" c="dimmed">
          {words.modelForm.routesHint}
        </Text>
      </div>
      {providers.length === 0 && <Text c="orange.8">{words.modelForm.noProviders}</Text>}
      {routes.map(({ key }, at) => (
        <RouteCard key={key} form={form} at={at} providers={providers} isOnly={routes.length === 1} />
      ))}
      {form.errors['routes'] !== undefined && (
        <Text size="sm" c="red" role="alert">
          {form.errors['routes']}
        </Text>
      )}
      <Group>
        <Button
          variant="default"
          leftSection={<Icon name="plus" />}
          onClick={() => form.insertListItem('routes', blankRoute(providers[0]))}
        >
          {words.modelForm.addRoute}
        </Button>
      </Group>
    </Stack>
  );
}

interface RouteCardProps {
  form: Form;
  at: number;
  providers: readonly string[];
  isOnly: boolean;
}

function RouteCard({ form, at, providers, isOnly }: RouteCardProps) {
  const path = `routes.${at}`;
  const { costMode, cost } = form.getValues().routes[at] ?? blankRoute();
  const field = (name: string) => form.getInputProps(`${path}.${name}`);
  return (
    <Card withBorder component="fieldset" style={{ minInlineSize: 0 }} m={0}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Text fw={600}>{words.modelForm.routeTitle(at + 1)}</Text>
          {!isOnly && (
            <Button
              size="xs"
              variant="subtle"
              color="red"
              leftSection={<Icon name="trash" sizePx={16} />}
              onClick={() => form.removeListItem('routes', at)}
            >
              {words.modelForm.removeRoute}
            </Button>
          )}
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
          <NativeSelect
            label={words.modelForm.provider}
            data={[{ value: '', label: words.modelForm.chooseProvider }, ...providers]}
            required
            {...field('provider')}
          />
          <TextInput label={words.modelForm.upstream} description={words.modelForm.upstreamHint} {...field('model')} />
        </SimpleGrid>
        <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm">
          <TextInput label={words.modelForm.priority} inputMode="numeric" {...field('priority')} />
          <TextInput label={words.modelForm.weight} inputMode="numeric" {...field('weight')} />
          <TextInput
            label={words.modelForm.concurrency}
            inputMode="numeric"
            placeholder={words.modelForm.noLimit}
            {...field('concurrency')}
          />
          <NativeSelect
            label={words.modelForm.cost}
            data={Object.entries(words.modelForm.costModes).map(([value, label]) => ({ value, label }))}
            {...field('costMode')}
            error={field('cost').error}
          />
        </SimpleGrid>
        {costMode === 'stated' && <PriceFieldset form={form} path={`${path}.cost`} hasExtras={false} />}
        {costMode === 'stated' && (cost.hasLong || cost.hasFast || cost.web_search_per_thousand !== '') && (
          <Text size="xs" c="dimmed">
            {words.modelForm.costMore}
          </Text>
        )}
      </Stack>
    </Card>
  );
}
