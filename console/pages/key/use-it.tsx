// How a key is used: code for each kind of client, filled in, and its first request as it arrives.

import { Button, Card, Group, Loader, NativeSelect, Stack, Tabs, Text, Title } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyShape, PageShape, UsageShape } from '../../../src/admin-api/shapes.ts';
import { useBaseUrl } from '../../base-url.ts';
import { formatMs } from '../../figures.ts';
import { firstToTry, fitsPattern } from '../../key-terms.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Icon } from '../../parts/icon.tsx';
import { formatMoney } from '../../parts/money.tsx';
import { usePlaygroundKey } from '../../playground-key.ts';
import { useAsk } from '../../queries.ts';
import { claudeCodeOf, curlOf, firstBody, pythonOf, typescriptOf } from '../../snippets.ts';
import { words } from '../../words.ts';
import { useModelNames } from './key-fields.tsx';

const LOOK_MS = 2_000;

export function UseIt({ made, secret }: { made: KeyShape; secret: string }) {
  const names = useModelNames(made.groups).filter(
    (name) => made.models === null || made.models.some((pattern) => fitsPattern(name, pattern)),
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const model = chosen ?? firstToTry(names);
  const [, setKey] = usePlaygroundKey();
  const navigate = useNavigate();
  const tryIt = () => {
    setKey({ secret, id: made.id, account: made.account });
    void navigate({ to: '/playground', search: { model } as never });
  };
  return (
    <Stack>
      <Card withBorder>
        <Group justify="space-between" align="flex-end" mb="sm">
          <Stack gap={0}>
            <Title order={2} size="h4">
              {words.keys.snippetsTitle}
            </Title>
            <Text size="sm" c="dimmed">
              {words.keys.snippetsText}
            </Text>
          </Stack>
          <Group gap="xs" align="flex-end">
            {names.length > 1 && (
              <NativeSelect
                aria-label={words.playground.model}
                data={names}
                value={model}
                onChange={({ currentTarget }) => setChosen(currentTarget.value)}
              />
            )}
            <Button onClick={tryIt} leftSection={<Icon name="play" />}>
              {words.keys.tryIt}
            </Button>
          </Group>
        </Group>
        <Snippets secret={secret} model={model} />
      </Card>
      <FirstRequest keyId={made.id} />
    </Stack>
  );
}

function Snippets({ secret, model }: { secret: string; model: string }) {
  const baseUrl = useBaseUrl();
  const request = { baseUrl, key: secret, body: firstBody(model, words.keys.firstWords) };
  const snippets = {
    curl: curlOf(request),
    TypeScript: typescriptOf(request),
    Python: pythonOf(request),
    'Claude Code': claudeCodeOf({ baseUrl, key: secret, model }),
  };
  return (
    <Tabs defaultValue="curl">
      <Tabs.List mb="sm">
        {Object.keys(snippets).map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(snippets).map(([name, code]) => (
        <Tabs.Panel key={name} value={name}>
          <CodeBlock code={code} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** Looks for it until it is there. */
function FirstRequest({ keyId }: { keyId: string }) {
  const [hasCome, setHasCome] = useState(false);
  const usage = useAsk<PageShape<UsageShape>>('/usage', { key: keyId, limit: 1 }, hasCome ? {} : { everyMs: LOOK_MS });
  const first = usage.data?.data[0];
  if (first !== undefined && !hasCome) setHasCome(true);
  return (
    <Card withBorder aria-live="polite">
      <Title order={2} size="h4" mb="xs">
        {words.keys.arrivalTitle}
      </Title>
      {first === undefined ? (
        <Group gap="sm" wrap="nowrap">
          <Loader size="sm" />
          <Text size="sm" c="dimmed">
            {words.keys.arrivalWaiting}
          </Text>
        </Group>
      ) : (
        <Group justify="space-between">
          <Stack gap={0}>
            <Group gap="xs">
              <Icon name="check" />
              <Text fw={600}>{words.keys.arrivalCame}</Text>
            </Group>
            <Text size="sm" c="dimmed">
              {words.keys.arrivalLine(first.model, formatMoney(first.cost), formatMs(first.latency_ms))}
            </Text>
          </Stack>
          <Button
            variant="default"
            renderRoot={(props) => <Link {...props} to="/usage/$requestId" params={{ requestId: first.request_id }} />}
          >
            {words.keys.arrivalShow}
          </Button>
        </Group>
      )}
    </Card>
  );
}
