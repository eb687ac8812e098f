// A new provider in four steps: its kind, how it is reached, whether it answers, which of its models are sold.

import { Alert, Button, Card, Group, Stack, Stepper, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { CatalogueShape } from '../../src/admin-api/shapes.ts';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { type Connection, ConnectionForm } from './catalogue/provider-connection.tsx';
import { ModelChoice } from './catalogue/provider-models.tsx';
import { TestResult, useProviderTest } from './catalogue/provider-test.tsx';
import { kindName } from './provider-list.tsx';

/** The kinds in the order in which they are asked for most. */
const ORDER = ['anthropic', 'openai-responses', 'gemini', 'openai', 'sandbox'];

export function ProviderCreate() {
  const catalogue = useAsk<CatalogueShape>('/catalogue');
  const [step, setStep] = useState(0);
  const [connection, setConnection] = useState<Connection | null>(null);
  const [saved, setSaved] = useState<Connection | null>(null);
  const { steps } = words.providerForm;
  const choose = (kind: string, address: string | null) => {
    const names = Object.keys(catalogue.data?.document.providers ?? {});
    setConnection({ kind, name: freeName(kind, names), base_url: address ?? '', api_key: '', private_network: false });
    setStep(1);
  };
  return (
    <>
      <PageHead title={words.providerForm.title} text={words.providerForm.text} />
      <FailureNotice failure={catalogue.error} onRetry={() => void catalogue.refetch()} />
      {catalogue.data === undefined && catalogue.error === null && <Waiting />}
      {catalogue.data !== undefined && (
        <Stepper active={step} allowNextStepsSelect={false} size="sm" wrap>
          <Stepper.Step label={steps.kind}>
            <Kinds kinds={catalogue.data.provider_kinds} onChoose={choose} />
          </Stepper.Step>
          <Stepper.Step label={steps.connection}>
            {connection !== null && (
              <ConnectionForm
                connection={connection}
                saved={saved?.name ?? null}
                onBack={saved === null ? () => setStep(0) : null}
                onSaved={(made) => {
                  setConnection({ ...made, api_key: '' }); // stored: it need not stay here, too
                  setSaved(made);
                  setStep(2);
                }}
              />
            )}
          </Stepper.Step>
          <Stepper.Step label={steps.test}>
            {saved !== null && <TestStep name={saved.name} onBack={() => setStep(1)} onNext={() => setStep(3)} />}
          </Stepper.Step>
          <Stepper.Step label={steps.models}>
            {saved !== null && <ModelChoice provider={saved.name} kind={saved.kind} />}
          </Stepper.Step>
        </Stepper>
      )}
    </>
  );
}

/** "anthropic", or "anthropic-2" where that is taken. */
function freeName(kind: string, names: readonly string[]): string {
  let name = kind;
  for (let number = 2; names.includes(name); number++) name = `${kind}-${number}`;
  return name;
}

interface KindsProps {
  kinds: CatalogueShape['provider_kinds'];
  onChoose: (kind: string, address: string | null) => void;
}

function Kinds({ kinds, onChoose }: KindsProps) {
  const placeOf = (kind: string) => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length);
  const inOrder = kinds.toSorted((one, other) => placeOf(one.kind) - placeOf(other.kind));
  return (
    <Stack gap="sm" mt="md" maw={720}>
      {inOrder.map(({ kind, base_url: address }) => (
        <Card key={kind} withBorder padding="md">
          <Group justify="space-between" wrap="nowrap">
            <div>
              <Text fw={600}>{kindName(kind)}</Text>
              <Text size="sm" c="dimmed">
                {words.providers.kindTexts[kind]}
              </Text>
            </div>
            <Button
              variant="default"
              style={{ flex: 'none' }}
              onClick={() => onChoose(kind, address)}
              aria-label={`${words.providerForm.next}: ${kindName(kind)}`}
            >
              {words.providerForm.next}
            </Button>
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

/** Tests as soon as it is shown. */
function TestStep({ name, onBack, onNext }: TestStepProps) {
  const test = useProviderTest();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is shown
  useEffect(() => test.mutate(name), []);
  const isWell = test.data?.ok === true;
  return (
    <Stack mt="md" maw={720}>
      <Text size="sm" c="dimmed">
        {words.providers.testing}
      </Text>
      {test.isPending && <Waiting rowCount={2} />}
      <FailureNotice failure={test.error} />
      {test.data !== undefined && !test.isPending && <TestResult result={test.data} />}
      {test.data?.ok === false && <Alert color="gray">{words.providers.newKeyElsewhere}</Alert>}
      <Group>
        <Button variant="default" onClick={onBack}>
          {words.providerForm.otherKey}
        </Button>
        <Button variant="default" onClick={() => test.mutate(name)} loading={test.isPending}>
          {words.providerForm.testAgain}
        </Button>
        <Button onClick={onNext} {...(!isWell && { variant: 'default' })}>
          {isWell ? words.providerForm.goOn : words.providerForm.goOnAnyway}
        </Button>
        <Button variant="subtle" component={Link} to="/providers">
          {words.providerForm.later}
        </Button>
      </Group>
    </Stack>
  );
}
