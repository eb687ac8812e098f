// Scheduled prices of a model: a version is planned with its effect on the requests of the last seven days, and canceled before its
// time.

import { Alert, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useEffect } from 'react';
import type { ModelShape, PlannedPriceShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { countOf } from '../../figures.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { formatMoney, formatRate, nanoOf } from '../../money.ts';
import { type Column, moneyColumn, PlainTable } from '../../parts/data-table.tsx';
import { ConfirmButton, DialogButton, FormActions } from '../../parts/dialog-button.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Hint, Section } from '../../parts/page.tsx';
import { TimeField, When } from '../../parts/times.tsx';
import { useChange } from '../../queries.ts';
import { RATES, type RateName, rateLabels } from './form-values.ts';

type Planned = Record<RateName, string> & { from: string };

export function ScheduledPrices({ model }: { model: ModelShape }) {
  const isOperator = useMe().role === 'operator';
  const cancel = useChange(
    (from: string) => call('POST /price-changes/cancel', { body: { model: model.name, from } }),
    { done: 'Scheduled price canceled.' },
  );
  return (
    <Section
      title="Scheduled prices"
      text="A price takes effect at its time on all nodes. A request pays the price in force when it is accepted."
      aside={
        isOperator && (
          <DialogButton label="Schedule price" title="Schedule price" dialogSize="lg" size="xs">
            {(close) => <ScheduleForm model={model} onDone={close} />}
          </DialogButton>
        )
      }
    >
      {model.price_changes.length === 0 && <Hint>No price is scheduled.</Hint>}
      {model.price_changes.map(({ from, input, output }) => (
        <Group key={from} justify="space-between">
          <Text size="sm" component="div">
            <When at={from} isPrecise />
            {`: ${formatRate(input)} input · ${formatRate(output)} output`}
          </Text>
          {isOperator && (
            <ConfirmButton
              size="xs"
              label="Cancel price"
              title="Cancel this scheduled price?"
              text="The price before it stays in force."
              change={cancel}
              input={from}
            />
          )}
        </Group>
      ))}
    </Section>
  );
}

function ScheduleForm({ model, onDone }: { model: ModelShape; onDone: () => void }) {
  const { price } = model;
  const rates = Object.fromEntries(RATES.map((name) => [name, price[name]])) as Record<RateName, string>;
  const form = useForm<Planned>({ initialValues: { from: '', ...rates } });
  const preview = useChange((planned: Planned) => plan(model, planned, true));
  const save = useChange((planned: Planned) => plan(model, planned, false), { done: 'Price scheduled.', onDone });
  const failure = save.error ?? preview.error;
  const faults = fieldFaults(
    failure,
    ['from', ...RATES],
    Object.fromEntries(RATES.map((name) => [`price.${name}`, name])),
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per failure
  useEffect(() => form.setErrors(faults ?? {}), [failure]);
  const hasOthers = Object.keys(price).some((name) => !RATES.some((rate) => rate === name));
  return (
    <form onSubmit={form.onSubmit((planned) => save.mutate(planned))} noValidate>
      <Stack>
        <TimeField label="Takes effect" required {...form.getInputProps('from')} />
        <Hint size="xs">Prices are in USD per million tokens.</Hint>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          {RATES.map((name) => (
            <TextInput key={name} label={rateLabels[name]} inputMode="decimal" {...form.getInputProps(name)} />
          ))}
        </SimpleGrid>
        {hasOthers && (
          <Hint size="xs">
            Rates for long contexts, service tiers and web searches stay as they are. To schedule them, use a
            configuration file.
          </Hint>
        )}
        {model.price_source !== null && (
          <Alert color="yellow">
            The price of this model comes from the price list. After this change, newer price lists no longer change it.
          </Alert>
        )}
        {faults === null && <FailureNotice failure={failure} />}
        <Group>
          <ActionButton
            label="Show effect on the last 7 days"
            onClick={() => preview.mutate(form.values)}
            loading={preview.isPending}
          />
        </Group>
        {preview.data?.effect != null && <Effect effect={preview.data.effect} />}
        <FormActions onCancel={onDone} label="Schedule price" isPending={save.isPending} />
      </Stack>
    </form>
  );
}

function plan({ name, price }: ModelShape, { from, ...rates }: Planned, isDry: boolean) {
  const trimmed = Object.fromEntries(Object.entries(rates).map(([rate, text]) => [rate, text.trim()]));
  const body = { model: name, from, price: { ...price, ...trimmed }, dry_run: isDry };
  return call('POST /price-changes', { body });
}

type EffectShape = NonNullable<PlannedPriceShape['effect']>;
type GroupEffect = EffectShape['groups'][number];

const columns: Column<GroupEffect>[] = [
  {
    name: 'group',
    label: 'Group',
    show: ({ group, multiplier }) => (multiplier === '' ? group : `${group} (× ${multiplier})`),
  },
  { name: 'messages', label: 'Requests', align: 'right', show: ({ messages }) => messages },
  moneyColumn('before', 'Billed', ({ billed }) => billed),
  moneyColumn('after', 'At this price', ({ billed_then: then }) => then),
  {
    name: 'change',
    label: 'Change',
    align: 'right',
    show: ({ billed, billed_then: then }) => changeText(billed, then),
  },
];

function Effect({ effect }: { effect: EffectShape }) {
  const { messages, billed, billed_then: then, counted_since: countedSince, not_sold: notSold, groups } = effect;
  const { all_messages: all, all_billed: allBilled } = effect;
  if (messages === 0) return <Hint role="status">No requests in the last 7 days.</Hint>;
  return (
    <Stack gap="xs" role="status">
      <PlainTable
        label="Effect"
        rows={[...groups, ...(groups.length > 1 ? [{ ...effect, group: 'All groups', multiplier: '' }] : [])]}
        keyOf={({ group, multiplier }) => `${group} ${multiplier}`}
        columns={columns}
      />
      <Hint size="xs">
        {`${countOf(messages, 'request')} priced again with their own tokens: ${changeText(billed, then)}.`}
        {countedSince !== null && (
          <>
            {` This is a sample: the newest of ${countOf(all, 'request')}, billed ${formatMoney(allBilled)}, since `}
            <When at={countedSince} />.
          </>
        )}
        {notSold > 0 && ` ${countOf(notSold, 'request')} used a service tier that this price does not have.`}
      </Hint>
    </Stack>
  );
}

/** "+12.5%". */
function changeText(before: string, after: string): string {
  const [old, now] = [nanoOf(before), nanoOf(after)];
  if (old === 0n) return now === 0n ? '0%' : 'new';
  const tenths = Number(((now - old) * 1_000n) / old) / 10;
  return `${tenths > 0 ? '+' : ''}${tenths}%`;
}
