// Adds a provider in five steps: a preset, the connection, its test, the models to sell, and a test message.

import { Alert, Card, Group, SimpleGrid, Stack, Stepper, Text, TextInput } from '@mantine/core';
import { Fragment, useEffect, useState } from 'react';
import type { CatalogShape, ProviderPresetShape } from '../../../src/admin-api/shapes.ts';
import { ActionButton, ButtonLink, pathOf } from '../../parts/link.tsx';
import { FailureNotice, Heading, Hint, Loading, PageHead } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import {
  type Connection,
  ConnectionForm,
  newConnection,
  newKeyElsewhere,
  TestResult,
  testingText,
  useProviderTest,
} from './connection.tsx';
import { kindName } from './list.tsx';
import { ModelChoice } from './models.tsx';
import { TestMessage } from './test-message.tsx';

export function ProviderCreate() {
  const catalog = useGet('/catalogue');
  const presets = useGet('/provider-presets');
  const [step, setStep] = useState(0);
  const [connection, setConnection] = useState<Connection | null>(null);
  const [saved, setSaved] = useState<Connection | null>(null);
  const [sold, setSold] = useState<readonly string[]>([]);
  const isLoaded = catalog.data !== undefined && presets.data !== undefined;
  const failed = [catalog, presets].find(({ error }) => error !== null);
  const choose = (preset: ProviderPresetShape) => {
    const names = Object.keys(catalog.data?.document.providers ?? {});
    const found = catalog.data?.provider_kinds.find(({ kind }) => kind === preset.kind);
    const { auth_types: types = [], batches: batchNeeds = null } = found ?? {};
    setConnection(newConnection(preset, unusedName(preset.id, names), types, batchNeeds));
    setStep(1);
  };
  return (
    <>
      <PageHead title="Create provider" text="You can edit everything later." />
      {failed !== undefined && <FailureNotice failure={failed.error} onRetry={() => void failed.refetch()} />}
      {!isLoaded && failed === undefined && <Loading />}
      {isLoaded && (
        <Stepper active={step} allowNextStepsSelect={false} size="sm" wrap>
          <Stepper.Step label="Provider">
            <Presets presets={presets.data.data} kinds={catalog.data.provider_kinds} onChoose={choose} />
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
            {saved !== null && (
              <ModelChoice
                provider={saved.name}
                onSold={(names) => {
                  setSold(names);
                  setStep(4);
                }}
              />
            )}
          </Stepper.Step>
          <Stepper.Step label="Test message">
            {saved !== null && <TestMessage provider={saved.name} models={sold} />}
          </Stepper.Step>
        </Stepper>
      )}
    </>
  );
}

/** "anthropic", or "anthropic-2" if that name exists. */
function unusedName(base: string, names: readonly string[]): string {
  let name = base;
  for (let number = 2; names.includes(name); number++) name = `${base}-${number}`;
  return name;
}

interface PresetsProps {
  presets: readonly ProviderPresetShape[];
  kinds: CatalogShape['provider_kinds'];
  onChoose: (preset: ProviderPresetShape) => void;
}

const SECTIONS = ['Providers', 'Your own servers', 'Other'] as const;

function sectionOf({ private_network: isPrivate, kind, fields }: ProviderPresetShape): (typeof SECTIONS)[number] {
  if (isPrivate) return 'Your own servers';
  return kind === 'sandbox' || fields.some(({ name }) => name === 'url') ? 'Other' : 'Providers';
}

function Presets({ presets, kinds, onChoose }: PresetsProps) {
  const [search, setSearch] = useState('');
  const isKnown = ({ kind }: ProviderPresetShape) => kinds.some((one) => one.kind === kind);
  const shown = presets.filter(
    (one) => isKnown(one) && `${one.title} ${kindName(one.kind)}`.toLowerCase().includes(search.trim().toLowerCase()),
  );
  return (
    <Stack gap="lg" mt="md" maw={960}>
      <TextInput
        label="Search providers"
        value={search}
        onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        maw={360}
      />
      {SECTIONS.map((section) => {
        const inSection = shown.filter((one) => sectionOf(one) === section);
        return (
          inSection.length > 0 && (
            <Stack gap="sm" key={section}>
              <Heading>{section}</Heading>
              <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} spacing="sm">
                {inSection.map((preset) => (
                  <PresetCard key={preset.id} preset={preset} onChoose={() => onChoose(preset)} />
                ))}
              </SimpleGrid>
            </Stack>
          )
        );
      })}
      {shown.length === 0 && <Hint>No preset has this name. Clear the search and choose a card under Other.</Hint>}
    </Stack>
  );
}

function PresetCard({ preset, onChoose }: { preset: ProviderPresetShape; onChoose: () => void }) {
  return (
    <Card padding="sm">
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <div style={{ minWidth: 0 }}>
          <Text fw={600}>{preset.title}</Text>
          <Hint size="xs" className="wrap">
            {placeOf(preset)
              .split(/(?=\.)/)
              .map((part) => (
                <Fragment key={part}>
                  <wbr />
                  {part}
                </Fragment>
              ))}
          </Hint>
        </div>
        <ActionButton
          label="Next"
          size="xs"
          style={{ flex: 'none' }}
          onClick={onChoose}
          aria-label={`Next: ${preset.title}`}
        />
      </Group>
    </Card>
  );
}

function placeOf(preset: ProviderPresetShape): string {
  if (sectionOf(preset) === 'Other') return preset.kind === 'sandbox' ? 'Built in' : 'Any address';
  const isFixed = preset.base_url !== null && preset.fields.length === 0;
  return isFixed ? (URL.parse(preset.base_url ?? '')?.host ?? '') : kindName(preset.kind);
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
        <ButtonLink label="Later" variant="subtle" to={pathOf.provider(name)} />
      </Group>
    </Stack>
  );
}
