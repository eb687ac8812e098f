// Adds a provider in four steps: type, connection, test, models.

import { Alert, Card, Checkbox, Group, NativeSelect, ScrollArea, Stack, Stepper, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { CatalogShape, ListedModelShape } from '../../../src/admin-api/shapes.ts';
import { countOf } from '../../figures.ts';
import { ActionButton, ButtonLink, pathOf, useGoTo } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, Hint, Loading, PageHead } from '../../parts/page.tsx';
import { useGet, useList } from '../../queries.ts';
import type { CatalogDocument, CatalogEdit } from '../catalog/changes.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { isOfVendor } from '../models/form-values.ts';
import {
  type Connection,
  ConnectionForm,
  newKeyElsewhere,
  TestResult,
  testingText,
  useProviderTest,
} from './connection.tsx';
import { credentialValues } from './credential-fields.tsx';
import { kindName } from './list.tsx';

const kindTexts = {
  anthropic: 'Anthropic, or any provider that implements the Messages API.',
  openai: 'Any provider or server that implements Chat Completions. Needs an address.',
  'openai-responses': 'OpenAI, through the Responses API.',
  gemini: 'Google, through the Gemini API.',
  bedrock: 'Claude and other models at Amazon Bedrock. Needs a region.',
  vertex: 'Claude and Gemini in a Google Cloud project, through Vertex AI. Needs a project and a region.',
  foundry: 'Claude and OpenAI models deployed in Microsoft Foundry on Azure. Needs the address of your resource.',
  sandbox: 'Simulated responses inside this service. Needs no API key.',
} as Record<string, string>;

/** Most requested kinds first. */
const ORDER = ['anthropic', 'openai-responses', 'gemini', 'openai', 'bedrock', 'vertex', 'foundry', 'sandbox'];

export function ProviderCreate() {
  const catalog = useGet('/catalogue');
  const [step, setStep] = useState(0);
  const [connection, setConnection] = useState<Connection | null>(null);
  const [saved, setSaved] = useState<Connection | null>(null);
  const choose = ({ kind, base_url: address, needs, auth_types }: Kind) => {
    const names = Object.keys(catalog.data?.document.providers ?? {});
    setConnection({
      kind,
      name: unusedName(kind, names),
      base_url: address ?? '',
      needs,
      auth_types,
      region: '',
      project: '',
      ...credentialValues(),
      private_network: false,
    });
    setStep(1);
  };
  return (
    <>
      <PageHead title="Create provider" text="You can edit everything later." />
      <FailureNotice failure={catalog.error} onRetry={() => void catalog.refetch()} />
      {catalog.data === undefined && catalog.error === null && <Loading />}
      {catalog.data !== undefined && (
        <Stepper active={step} allowNextStepsSelect={false} size="sm" wrap>
          <Stepper.Step label="Type">
            <Kinds kinds={catalog.data.provider_kinds} onChoose={choose} />
          </Stepper.Step>
          <Stepper.Step label="Connection">
            {connection !== null && (
              <ConnectionForm
                connection={connection}
                saved={saved}
                onBack={saved === null ? () => setStep(0) : null}
                onSaved={(connection) => {
                  setConnection({ ...connection, api_key: '' }); // stored by the service; not kept here
                  setSaved(connection);
                  setStep(2);
                }}
              />
            )}
          </Stepper.Step>
          <Stepper.Step label="Test">
            {saved !== null && <TestStep name={saved.name} onBack={() => setStep(1)} onNext={() => setStep(3)} />}
          </Stepper.Step>
          <Stepper.Step label="Models">
            {saved !== null && <ModelChoice provider={saved.name} kind={saved.kind} />}
          </Stepper.Step>
        </Stepper>
      )}
    </>
  );
}

/** "anthropic", or "anthropic-2" if that name exists. */
function unusedName(kind: string, names: readonly string[]): string {
  let name = kind;
  for (let number = 2; names.includes(name); number++) name = `${kind}-${number}`;
  return name;
}

type Kind = CatalogShape['provider_kinds'][number];

interface KindsProps {
  kinds: readonly Kind[];
  onChoose: (kind: Kind) => void;
}

function Kinds({ kinds, onChoose }: KindsProps) {
  const placeOf = (kind: string) => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length);
  const inOrder = kinds.toSorted((one, other) => placeOf(one.kind) - placeOf(other.kind));
  return (
    <Stack gap="sm" mt="md" maw={720}>
      {inOrder.map((one) => (
        <Card key={one.kind} padding="md">
          <Group justify="space-between" wrap="nowrap">
            <div>
              <Text fw={600}>{kindName(one.kind)}</Text>
              <Hint>{kindTexts[one.kind]}</Hint>
            </div>
            <ActionButton
              label="Next"
              style={{ flex: 'none' }}
              onClick={() => onChoose(one)}
              aria-label={`Next: ${kindName(one.kind)}`}
            />
          </Group>
        </Card>
      ))}
    </Stack>
  );
}

interface TestStepProps {
  name: string;
  onBack: () => void;
  onNext: () => void;
}

/** Starts the test immediately. */
function TestStep({ name, onBack, onNext }: TestStepProps) {
  const test = useProviderTest();
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once on mount
  useEffect(() => test.mutate(name), []);
  const isOk = test.data?.ok === true;
  return (
    <Stack mt="md" maw={720}>
      <Hint>{testingText}</Hint>
      {test.isPending && <Loading rowCount={2} />}
      <FailureNotice failure={test.error} />
      {test.data !== undefined && !test.isPending && <TestResult result={test.data} />}
      {test.data?.ok === false && <Alert color="gray">{newKeyElsewhere}</Alert>}
      <Group>
        <ActionButton label="Edit connection" onClick={onBack} />
        <ActionButton label="Test again" onClick={() => test.mutate(name)} loading={test.isPending} />
        <ActionButton
          label={isOk ? 'Choose models' : 'Continue anyway'}
          onClick={onNext}
          {...(!isOk && { variant: 'default' })}
        />
        <ButtonLink label="Later" variant="subtle" to="/providers" />
      </Group>
    </Stack>
  );
}

/** The vendor of each kind; other kinds serve models of any vendor. */
const familyOfKind: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  gemini: 'gemini',
  'openai-responses': 'openai',
};

function ModelChoice({ provider, kind }: { provider: string; kind: string }) {
  const goTo = useGoTo();
  const prices = useGet('/prices');
  const models = useList('/models', { query: { limit: 1000 } });
  const [family, setFamily] = useState(familyOfKind[kind] ?? '');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const apply = useReview({
    done: 'Models saved.',
    onDone: () => goTo('/models', { provider }),
  });
  const listed = (prices.data?.data ?? []).filter(isOfVendor);
  const families = [...new Set(listed.map((model) => model.family))];
  const shown = listed.filter((model) => model.family === family);
  const sold = new Map(models.rows.map((model) => [model.name, model]));
  if (prices.data === undefined) return <Loading />;
  const sell = () => {
    const wanted = listed.filter(({ name }) => chosen.has(name));
    apply.preview((current) => addModels(current, provider, wanted));
  };
  return (
    <Stack mt="md" maw={720}>
      <Hint>Models of the price list at their list prices. You can edit prices and add models later.</Hint>
      <Group align="flex-end">
        <NativeSelect
          label="Vendor"
          data={['', ...families]}
          value={family}
          onChange={({ currentTarget }) => setFamily(currentTarget.value)}
        />
        <SelectionButtons shown={shown} chosen={chosen} onChange={setChosen} />
      </Group>
      <ScrollArea.Autosize mah={460} type="auto">
        <Stack gap={6}>
          {shown.map((model) => (
            <ListedChoice
              key={model.name}
              model={model}
              isSold={sold.has(model.name)}
              isChosen={chosen.has(model.name)}
              onToggle={() => setChosen(toggled(chosen, model.name))}
            />
          ))}
        </Stack>
      </ScrollArea.Autosize>
      {shown.length === 0 && family !== '' && (
        <EmptyState
          icon="cube"
          title="Not on the price list"
          text="The price list has no models of this vendor. Create models with your own prices."
        />
      )}
      <FailureNotice failure={apply.failure} />
      <Group>
        <ActionButton
          label={`Add ${countOf(chosen.size, 'model')}`}
          isPrimary
          onClick={sell}
          disabled={chosen.size === 0}
          loading={apply.isAsking}
        />
        <ButtonLink label="Create model manually" variant="default" to="/models/new" search={{ provider }} />
        <ButtonLink label="Later" variant="subtle" to={pathOf.provider(provider)} />
      </Group>
      <ReviewDialog apply={apply} />
    </Stack>
  );
}

interface SelectionButtonsProps {
  shown: readonly ListedModelShape[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}

function SelectionButtons({ shown, chosen, onChange }: SelectionButtonsProps) {
  return (
    <>
      <ActionButton
        label="Select all"
        onClick={() => onChange(new Set([...chosen, ...shown.map(({ name }) => name)]))}
      />
      <ActionButton label="Clear selection" onClick={() => onChange(new Set())} />
    </>
  );
}

interface ListedChoiceProps {
  model: ListedModelShape;
  isSold: boolean;
  isChosen: boolean;
  onToggle: () => void;
}

function ListedChoice({ model, isSold, isChosen, onToggle }: ListedChoiceProps) {
  const notes = [
    `$${model.price.input} input · $${model.price.output} output`,
    ...(isSold ? ['exists: adds a route'] : []),
    ...(model.retires_on === null ? [] : [`retires ${model.retires_on}`]),
  ];
  return <Checkbox checked={isChosen} onChange={onToggle} label={model.name} description={notes.join(' · ')} />;
}

function toggled(chosen: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(chosen);
  if (!next.delete(name)) next.add(name);
  return next;
}

/** Creates new models from the price list, and adds a route to existing models that have none to this provider. */
export function addModels(
  { models }: Pick<CatalogDocument, 'models'>,
  provider: string,
  wanted: readonly Pick<ListedModelShape, 'name' | 'aliases'>[],
): CatalogEdit {
  const entries = wanted.map(({ name, aliases }): [string, object] => {
    const current = models[name];
    if (current === undefined) return [name, { aliases, catalogue: true, routes: [{ provider, cost: 'catalogue' }] }];
    const hasRoute = current.routes.some((route) => route.provider === provider);
    const more = hasRoute ? [] : [{ provider, cost: 'catalogue' }];
    return [name, { ...current, routes: [...current.routes, ...more] }];
  });
  return { document: { models: Object.fromEntries(entries) } };
}
