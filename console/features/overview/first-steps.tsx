// A guide to the first request, shown until one exists.

import { Card, Group, Loader, SimpleGrid, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useBaseUrl, useMe } from '../../me.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { ButtonLink, Icon, type IconName, TextLink } from '../../parts/link.tsx';
import { Heading, Hint } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { curlOf, firstBody } from '../../snippets.ts';
import { useDefaultModel } from '../keys/default-model.ts';
import { useRecentRequests } from '../requests/recent.tsx';

const REFRESH_MS = 2_500;
const MODELS_MAX = 1_000;

export function FirstSteps() {
  const { role } = useMe();
  useRecentRequests({}, REFRESH_MS);
  return (
    <Stack gap="md">
      <Heading>Send your first request</Heading>
      <GetKey />
      <SendRequest />
      <Step number={3} title="View the result">
        <Group gap="sm" role="status" wrap="nowrap">
          <Loader size="sm" aria-hidden="true" />
          <Text size="sm">Waiting for the first request. This page shows your usage when it completes.</Text>
        </Group>
      </Step>
      {role === 'operator' && <NextSteps />}
    </Stack>
  );
}

function GetKey() {
  const { role } = useMe();
  const { data } = useGet('/keys', { query: { limit: 1 } });
  const key = data?.data[0];
  return (
    <Step number={1} title="Get an API key">
      <Text size="sm">
        {key === undefined
          ? 'An API key authenticates each request. Its secret is shown once, when you create it.'
          : `A key named ${key.name || key.prefix} exists. If you do not have its secret, create another key.`}
      </Text>
      {key !== undefined && role === 'operator' && (
        <Text size="sm">The secret of the first key is in the file first-key.txt of the data directory.</Text>
      )}
      {role === 'viewer' ? (
        <Text size="sm">Ask an operator or an account owner for a key.</Text>
      ) : (
        <Group>
          <ButtonLink label="Create API key" to="/keys/new" />
        </Group>
      )}
    </Step>
  );
}

function SendRequest() {
  const baseUrl = useBaseUrl();
  const { data } = useGet('/models', { query: { limit: MODELS_MAX } });
  const usual = useDefaultModel(data?.data.map(({ name }) => name) ?? []);
  const model = data === undefined || (usual === '' && data.data.length > 0) ? undefined : usual;
  return (
    <Step number={2} title="Send a request">
      {model === '' && <Text size="sm">There are no models yet. Add a provider and a model first.</Text>}
      {model !== undefined && model !== '' && (
        <>
          <Text size="sm">Set the variable ANTHROPIC_API_KEY to your key, or replace it in the command.</Text>
          <CodeBlock code={curlOf({ baseUrl, key: null, body: firstBody(model, 'Hello! Who are you?') })} />
          <Text size="sm">
            <TextLink to="/playground">Try a model in the playground</TextLink>
          </Text>
        </>
      )}
    </Step>
  );
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Card component="section">
      <Group align="flex-start" wrap="nowrap" gap="md">
        <ThemeIcon variant="light" radius="xl" size={36}>
          <Text fw={700}>{number}</Text>
        </ThemeIcon>
        <Stack gap="sm" miw={0} style={{ flex: 1 }}>
          <Title order={3} size="h5" mt={6}>
            {title}
          </Title>
          {children}
        </Stack>
      </Group>
    </Card>
  );
}

function NextSteps() {
  return (
    <>
      <Heading mt="sm">Next steps</Heading>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
        <NextStep
          icon="plug"
          to="/providers"
          title="Add a provider"
          text="Connect Anthropic, OpenAI, Gemini or your own server, and choose its models and prices."
        />
        <NextStep
          icon="people"
          to="/people"
          title="Invite users"
          text="Operators and viewers manage the installation. Owners and members belong to one account."
        />
      </SimpleGrid>
    </>
  );
}

function NextStep({ icon, to, title, text }: { icon: IconName; to: string; title: string; text: string }) {
  return (
    <Card>
      <Group align="flex-start" wrap="nowrap" gap="md">
        <ThemeIcon variant="light" radius="xl" size={36}>
          <Icon name={icon} />
        </ThemeIcon>
        <Stack gap={4}>
          <Text fw={600}>
            <TextLink to={to}>{title}</TextLink>
          </Text>
          <Hint>{text}</Hint>
        </Stack>
      </Group>
    </Card>
  );
}
