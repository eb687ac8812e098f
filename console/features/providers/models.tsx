// The models that a provider offers, with their known prices: chosen, named, marked up, and sold in one change.

import { Badge, Card, Checkbox, Group, ScrollArea, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { OfferedModelsShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, call } from '../../api.ts';
import { countOf, formatCount } from '../../figures.ts';
import { formatRate, RATE_DIGITS } from '../../money.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { FoundMultiSelect } from '../../parts/fields.tsx';
import { foundGroups } from '../../parts/found.ts';
import { TagsInput } from '../../parts/later.tsx';
import { ActionButton, ButtonLink, pathOf } from '../../parts/link.tsx';
import { FailureNotice, Heading, Hint, Loading, PageHead } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { TestMessage } from './test-message.tsx';

type Offered = OfferedModelsShape['data'][number];

/** What the operator enters for a chosen model. The rates are of a model without a known price. */
interface Choice {
  name: string;
  aliases: string[];
  input: string;
  output: string;
}

type Choices = ReadonlyMap<string, Choice>;

const SHOWN_MAX = 100;

/** The page of an existing provider. */
export function ProviderModels() {
  const { providerName: provider } = useParams({ strict: false }) as { providerName: string };
  const [sold, setSold] = useState<readonly string[] | null>(null);
  return (
    <>
      <PageHead title={`Add models of ${provider}`} text="Choose models, their markup and their groups." />
      {sold === null ? (
        <ModelChoice provider={provider} onSold={setSold} />
      ) : (
        <TestMessage provider={provider} models={sold} />
      )}
    </>
  );
}

interface ModelChoiceProps {
  provider: string;
  /** Called with the names of the models that are sold now. */
  onSold: (names: readonly string[]) => void;
}

export function ModelChoice({ provider, onSold }: ModelChoiceProps) {
  const offers = useGet('/providers/{name}/models', { id: provider });
  const [choices, setChoices] = useState<Choices>(new Map());
  const [markUp, setMarkUp] = useState('0');
  const [groups, setGroups] = useState<string[]>([]);
  const apply = useReview({
    done: 'Models saved.',
    onDone: () => onSold([...choices].map(([model, { name }]) => name.trim() || model)),
  });
  const listed = offers.data?.data ?? [];
  const toggle = ({ model }: Offered) => {
    const next = new Map(choices);
    if (!next.delete(model)) next.set(model, { name: model, aliases: [], input: '', output: '' });
    setChoices(next);
  };
  const sell = () => apply.preview(() => plannedSale(provider, listed, choices, markUp, groups));
  return (
    <Stack mt="md" maw={860}>
      <FailureNotice failure={offers.error} onRetry={() => void offers.refetch()} />
      {offers.data === undefined && offers.error === null && <Loading />}
      {offers.data !== undefined && (
        <OfferedList offers={offers.data} isChosen={(model) => choices.has(model)} onToggle={toggle} />
      )}
      {choices.size > 0 && (
        <>
          <Terms markUp={markUp} onMarkUp={setMarkUp} groups={groups} onGroups={setGroups} />
          <Heading>{`${countOf(choices.size, 'model')} chosen`}</Heading>
          {listed.map((offer) => {
            const choice = choices.get(offer.model);
            return (
              choice !== undefined && (
                <ChosenModel
                  key={offer.model}
                  offer={offer}
                  choice={choice}
                  onChange={(part) => setChoices(new Map([...choices, [offer.model, { ...choice, ...part }]]))}
                />
              )
            );
          })}
        </>
      )}
      <FailureNotice failure={apply.failure} />
      <Group>
        <ActionButton
          label="Review changes"
          isPrimary
          onClick={sell}
          disabled={choices.size === 0}
          loading={apply.isAsking}
        />
        <ButtonLink label="Create model manually" variant="default" to="/models/new" search={{ provider }} />
        <ButtonLink label="Later" variant="subtle" to={pathOf.provider(provider)} />
      </Group>
      <ReviewDialog apply={apply} />
    </Stack>
  );
}

interface OfferedListProps {
  offers: OfferedModelsShape;
  isChosen: (model: string) => boolean;
  onToggle: (offer: Offered) => void;
}

function OfferedList({
  offers: { provider, read_from: readFrom, data: listed },
  isChosen,
  onToggle,
}: OfferedListProps) {
  const [search, setSearch] = useState('');
  const found = listed.filter(({ model, display_name: shown }) =>
    `${model} ${shown ?? ''}`.toLowerCase().includes(search.trim().toLowerCase()),
  );
  return (
    <>
      <Hint>
        {readFrom === 'provider'
          ? `${provider} lists ${countOf(listed.length, 'model')} for this credential.`
          : 'This type of provider has no list of models. These are the models that the price list has for it.'}
      </Hint>
      <TextInput
        label="Search models"
        value={search}
        onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        maw={360}
      />
      <ScrollArea.Autosize
        mah={420}
        type="auto"
        viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': 'Models of the provider' }}
      >
        <Stack gap={6}>
          {found.slice(0, SHOWN_MAX).map((offer) => (
            <OfferedChoice
              key={offer.model}
              offer={offer}
              isChosen={isChosen(offer.model)}
              onToggle={() => onToggle(offer)}
            />
          ))}
        </Stack>
      </ScrollArea.Autosize>
      {found.length > SHOWN_MAX && <Hint>{`${formatCount(found.length - SHOWN_MAX)} more. Search to find them.`}</Hint>}
      {found.length === 0 && <Hint>No models found.</Hint>}
    </>
  );
}

interface TermsProps {
  markUp: string;
  onMarkUp: (percent: string) => void;
  groups: string[];
  onGroups: (names: string[]) => void;
}

/** For all chosen models. */
function Terms({ markUp, onMarkUp, groups, onGroups }: TermsProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
      <TextInput
        label="Markup (%)"
        description="Added to what the provider charges."
        inputMode="decimal"
        value={markUp}
        onChange={({ currentTarget }) => onMarkUp(currentTarget.value)}
      />
      <FoundMultiSelect
        label="Groups"
        description="Groups with a matching pattern offer the models already."
        found={foundGroups}
        value={groups}
        onChange={onGroups}
      />
    </SimpleGrid>
  );
}

/** The change of the catalog, which the service works out from the provider's present list. */
async function plannedSale(
  provider: string,
  listed: readonly Offered[],
  choices: Choices,
  markUp: string,
  groups: readonly string[],
) {
  const models = [...choices].map(([model, { name, aliases, input, output }]) => {
    const isKnown = listed.some((offer) => offer.model === model && offer.cost !== null);
    const stated =
      input.trim() === '' && output.trim() === '' ? undefined : { input: input.trim(), output: output.trim() };
    return { model, name: name.trim() || model, aliases, ...(!isKnown && stated !== undefined && { price: stated }) };
  });
  try {
    const body = { models, markup_percent: markUp.trim(), groups, dry_run: true };
    const { document } = await call('POST /providers/{name}/models', { id: provider, body });
    return { document };
  } catch (failure) {
    throw failure instanceof ApiFailure ? named(failure, models) : failure;
  }
}

/** The fault of an entry with its model in place of its number. */
function named(failure: ApiFailure, models: readonly { model: string }[]): ApiFailure {
  const faults = failure.faults.map(({ path: [section, at, ...rest], message }) => {
    const model = section === 'models' && typeof at === 'number' ? models[at]?.model : undefined;
    return {
      path: model === undefined ? [section ?? '', ...(at === undefined ? [] : [at]), ...rest] : [model, ...rest],
      message,
    };
  });
  return new ApiFailure(failure.status, failure.code, failure.message, faults, failure.requestId);
}

interface OfferedChoiceProps {
  offer: Offered;
  isChosen: boolean;
  onToggle: () => void;
}

function OfferedChoice({ offer, isChosen, onToggle }: OfferedChoiceProps) {
  const { model, display_name: shown, sold_as: soldAs } = offer;
  const notes = [
    ...(shown !== null && shown !== model ? [shown] : []),
    priceText(offer),
    ...(soldAs.length > 0 ? [`sold as ${soldAs.join(', ')}`] : []),
  ];
  return <Checkbox checked={isChosen} onChange={onToggle} label={model} description={notes.join(' · ')} />;
}

function priceText({ cost, cost_source: source }: Offered): string {
  if (cost === null) return 'No known price';
  const from = source?.kind === 'provider' ? 'provider’s price' : `price list of ${source?.as_of}`;
  return `${formatRate(cost.input)} input · ${formatRate(cost.output)} output · ${from}`;
}

interface ChosenModelProps {
  offer: Offered;
  choice: Choice;
  onChange: (part: Partial<Choice>) => void;
}

function ChosenModel({ offer, choice, onChange }: ChosenModelProps) {
  const { model, cost } = offer;
  return (
    <Card padding="sm" component="section" aria-label={model}>
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <Text size="sm" fw={600} className="wrap">
            {model}
          </Text>
          {cost === null && <Badge color="yellow">No known price</Badge>}
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          <TextInput
            label="Sold as"
            value={choice.name}
            onChange={({ currentTarget }) => onChange({ name: currentTarget.value })}
          />
          <TagsInput
            label="Aliases"
            acceptValueOnBlur
            value={choice.aliases}
            onChange={(aliases) => onChange({ aliases })}
          />
        </SimpleGrid>
        {cost === null && (
          <>
            <Hint size="xs">A model without a price is not sold. Enter the price that customers pay.</Hint>
            <SimpleGrid cols={2} spacing="sm">
              {(['input', 'output'] as const).map((member) => (
                <AmountField
                  key={member}
                  label={member === 'input' ? 'Input (USD per million)' : 'Output (USD per million)'}
                  digitsMax={RATE_DIGITS}
                  value={choice[member]}
                  onChange={(usd) => onChange({ [member]: usd })}
                />
              ))}
            </SimpleGrid>
          </>
        )}
      </Stack>
    </Card>
  );
}
