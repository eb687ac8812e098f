// Integrations of the installation: the state of each, the settings that connect it, and a test.

import { Alert, Badge, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { IntegrationShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { CopyButton } from '../../parts/code-block.tsx';
import { ActionButton, ButtonLink } from '../../parts/link.tsx';
import { FailureNotice, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet } from '../../queries.ts';
import { type IntegrationId, integrationStates, integrationWords } from './words.ts';

export function IntegrationList() {
  const { data, error, refetch } = useGet('/integrations');
  if (error !== null && data === undefined) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  return (
    <>
      <PageHead
        title="Integrations"
        text="Services that this installation is connected to. Their settings are read when the service starts."
      />
      {data === undefined ? (
        <Loading />
      ) : (
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          {data.data.map((integration) => (
            <Integration key={integration.id} integration={integration} />
          ))}
        </SimpleGrid>
      )}
    </>
  );
}

function Integration({ integration }: { integration: IntegrationShape }) {
  const { id, state, place, since, error, settings } = integration;
  const isOperator = useMe().role === 'operator';
  const { title, text } = integrationWords[id];
  const { label, color } = integrationStates[state];
  return (
    <Section title={title} text={text} aside={<Badge color={color}>{label}</Badge>}>
      {place !== null && (
        <Text size="sm" className="wrap">
          {place}
        </Text>
      )}
      {since !== null && (
        <Hint component="div">
          {`${label} since `}
          <When at={since} />
        </Hint>
      )}
      {error !== null && (
        <Alert color="red" title="The last test failed">
          <Text size="sm" className="wrap">
            {error}
          </Text>
        </Alert>
      )}
      {id === 'storage' ? (
        <Group>
          <ButtonLink label="View exports" variant="default" to="/exports" />
        </Group>
      ) : (
        <Settings names={settings} />
      )}
      {isOperator && state !== 'not_set' && <Test id={id} />}
    </Section>
  );
}

function Settings({ names }: { names: readonly string[] }) {
  return (
    <Stack gap={4}>
      <Hint size="xs">Environment variables of the service:</Hint>
      {names.map((name) => (
        <Group key={name} gap="xs" justify="space-between">
          <Code className="wrap">{name}</Code>
          <CopyButton text={name} size="compact-xs" aria-label={`Copy ${name}`} />
        </Group>
      ))}
    </Stack>
  );
}

function Test({ id }: { id: IntegrationId }) {
  const [to, setTo] = useState('');
  const test = useChange(() => {
    const body = id === 'mail' ? { to: to.trim() } : {};
    return call('POST /integrations/{id}/test', { id, body });
  });
  const faults = fieldFaults(test.error, ['to']);
  return (
    <Stack gap="xs">
      {id === 'mail' && (
        <TextInput
          label="Send to"
          type="email"
          value={to}
          onChange={({ currentTarget }) => setTo(currentTarget.value)}
          error={faults?.['to']}
        />
      )}
      {faults === null && <FailureNotice failure={test.error} />}
      <Group gap="sm">
        <ActionButton
          label={integrationWords[id].test}
          loading={test.isPending}
          disabled={id === 'mail' && to.trim() === ''}
          onClick={() => test.mutate(undefined)}
        />
        {test.data?.ok === true && !test.isPending && <Hint role="status">The test succeeded.</Hint>}
      </Group>
    </Stack>
  );
}
