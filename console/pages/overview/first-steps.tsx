// Before the first request: how to send one, step by step, and what comes after.

import { Button, Card, Group, Loader, SimpleGrid, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { KeyShape, ModelShape, PageShape } from '../../../src/admin-api/shapes.ts';
import { useBaseUrl } from '../../base-url.ts';
import { useMe } from '../../me.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { useAsk } from '../../queries.ts';
import { curlOf, firstBody } from '../../snippets.ts';
import { words } from '../../words.ts';
import { useLastRequests } from './use-last-requests.ts';

const { first: its } = words.overview;

const ASKED_EVERY_MS = 2_500;
const MODELS_MAX = 1_000;

export function FirstSteps() {
  const { role } = useMe();
  useLastRequests(ASKED_EVERY_MS);
  return (
    <Stack gap="md">
      <Title order={2} size="h4">
        {its.title}
      </Title>
      <TakeKey />
      <SendMessage />
      <Step number={3} title={its.lookTitle}>
        <Group gap="sm" role="status" wrap="nowrap">
          <Loader size="sm" aria-hidden="true" />
          <Text size="sm">{its.lookText}</Text>
        </Group>
      </Step>
      {role === 'operator' && <AndThen />}
    </Stack>
  );
}

function TakeKey() {
  const { role } = useMe();
  const { data } = useAsk<PageShape<KeyShape>>('/keys', { limit: 1 });
  const key = data?.data[0];
  return (
    <Step number={1} title={its.keyTitle}>
      <Text size="sm">{key === undefined ? its.keyText : its.keyThere(key.name || key.prefix)}</Text>
      {key !== undefined && role === 'operator' && <Text size="sm">{its.keyFirst}</Text>}
      {role === 'viewer' ? (
        <Text size="sm">{its.keyViewer}</Text>
      ) : (
        <Group>
          <Button component={Link} to="/keys/new">
            {its.keyAction}
          </Button>
        </Group>
      )}
    </Step>
  );
}

function SendMessage() {
  const baseUrl = useBaseUrl();
  const { data } = useAsk<PageShape<ModelShape>>('/models', { limit: MODELS_MAX });
  const model = data === undefined ? undefined : modelToTry(data.data);
  return (
    <Step number={2} title={its.sendTitle}>
      {data !== undefined && model === undefined && <Text size="sm">{its.sendNoModel}</Text>}
      {model !== undefined && (
        <>
          <Text size="sm">{its.sendText}</Text>
          <CodeBlock code={curlOf({ baseUrl, key: null, body: firstBody(model.name, its.sendWords) })} />
          <Text size="sm">
            <TextLink to="/playground">{its.playground}</TextLink>
          </Text>
        </>
      )}
    </Step>
  );
}

/** One of a real provider; else the one of the sandbox that answers well: others misbehave on purpose. */
function modelToTry(models: readonly ModelShape[]): ModelShape | undefined {
  const real = models.find(({ name }) => !name.startsWith('sandbox-'));
  return real ?? models.find(({ name }) => name === 'sandbox-echo') ?? models[0];
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Card withBorder component="section">
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

function AndThen() {
  return (
    <>
      <Title order={2} size="h4" mt="sm">
        {its.beyond}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
        <Next icon="plug" to="/providers" title={its.provider} text={its.providerText} />
        <Next icon="people" to="/people" title={its.invite} text={its.inviteText} />
      </SimpleGrid>
    </>
  );
}

function Next({ icon, to, title, text }: { icon: IconName; to: string; title: string; text: string }) {
  return (
    <Card withBorder>
      <Group align="flex-start" wrap="nowrap" gap="md">
        <ThemeIcon variant="light" radius="xl" size={36}>
          <Icon name={icon} />
        </ThemeIcon>
        <Stack gap={4}>
          <Text fw={600}>
            <TextLink to={to}>{title}</TextLink>
          </Text>
          <Text size="sm" c="dimmed">
            {text}
          </Text>
        </Stack>
      </Group>
    </Card>
  );
}
