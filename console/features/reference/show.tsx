// The API reference: the public API in short, and every operation of the admin API. An operation has its own
// address, for example "#key-create".

import { Code, Group, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core';
import { useLocation } from '@tanstack/react-router';
import { useFilters } from '../../filters.ts';
import { useBaseUrl } from '../../me.tsx';
import { CodeBlock, CopyButton } from '../../parts/code-block.tsx';
import { PlainTable } from '../../parts/data-table.tsx';
import { Hint, PageHead, Section } from '../../parts/page.tsx';
import { curlOf, firstBody, KEY_VARIABLE, shellQuoted } from '../../snippets.ts';
import { AdminReference } from './admin.tsx';
import { RequestPath } from './operation.tsx';
import { publicErrors } from './public-errors.ts';
import { publicRoutes } from './public-routes.ts';

const headers = [
  ['x-api-key', 'The API key. "authorization: Bearer …" also works.'],
  [
    'idempotency-key',
    'A unique value per request. A retry with the same key within 24 hours returns the stored response and is charged once.',
  ],
  ['request-id', 'On every response. Identifies the request in the console.'],
  ['retry-after', 'On every 429. Seconds to wait before a retry.'],
  ['x-should-retry', '"false" if a retry cannot succeed.'],
] as readonly (readonly [string, string])[];

export function Reference() {
  const filters = useFilters();
  const { hash } = useLocation();
  const which = filters.values['api'] ?? (hash === '' && filters.values['search'] === undefined ? 'public' : 'admin');
  return (
    <>
      <PageHead
        title="API reference"
        text="Operations of the public API and of the admin API, with examples."
        actions={
          <SegmentedControl
            aria-label="API"
            style={{ whiteSpace: 'nowrap', flexShrink: 0 }}
            value={which}
            onChange={(api) => filters.set({ api, search: null })}
            data={[
              { value: 'public', label: 'Public API' },
              { value: 'admin', label: 'Admin API' },
            ]}
          />
        }
      />
      <Stack>{which === 'admin' ? <AdminReference openedId={hash} /> : <PublicReference />}</Stack>
    </>
  );
}

const MODEL = 'sandbox-echo';

function PublicReference() {
  const baseUrl = useBaseUrl();
  const body = firstBody(MODEL, 'Hello');
  const withKey = `  -H "x-api-key: $${KEY_VARIABLE}"`;
  const counted = [
    `curl ${shellQuoted(`${baseUrl}/v1/messages/count_tokens`)}`,
    withKey,
    "  -H 'content-type: application/json'",
    `  -d ${shellQuoted(JSON.stringify({ model: MODEL, messages: body['messages'] }))}`,
  ].join(' \\\n');
  return (
    <>
      <Section title="Public API" text="Clients need this base URL and a key. Clients of OpenAI append /v1.">
        <Group gap="xs">
          <Text size="sm">Base URL</Text>
          <Code fz="sm" className="wrap">
            {baseUrl}
          </Code>
          <CopyButton text={baseUrl} />
        </Group>
        {publicRoutes.map(([protocol, routes]) => (
          <Stack key={protocol} gap="xs" mt="md">
            <Hint>{protocol}</Hint>
            <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
              {routes.map(({ method, path, text }) => (
                <SimpleGrid key={path} component="li" cols={{ base: 1, sm: 2 }} spacing={4}>
                  <RequestPath method={method} path={path} />
                  <Text size="sm">{text}</Text>
                </SimpleGrid>
              ))}
            </Stack>
          </Stack>
        ))}
      </Section>
      <Section title="Send a message">
        <CodeBlock code={curlOf({ baseUrl, key: null, body })} />
      </Section>
      <Section title="Count tokens">
        <CodeBlock code={counted} />
      </Section>
      <Section title="List models">
        <CodeBlock code={`curl ${shellQuoted(`${baseUrl}/v1/models`)} \\\n${withKey}`} />
      </Section>
      <Section title="Headers">
        <PlainTable
          label="Headers"
          isPadded={false}
          rows={headers}
          keyOf={([name]) => name}
          columns={[
            { name: 'header', label: 'Header', show: ([name]) => <Code>{name}</Code> },
            { name: 'text', label: 'Description', show: ([, meaning]) => meaning },
          ]}
        />
      </Section>
      <ErrorTable />
    </>
  );
}

function ErrorTable() {
  return (
    <Section title="Errors" text="Branch on the code. Messages may change. In a stream, an error is the last event.">
      <PlainTable
        label="Errors"
        isPadded={false}
        rows={publicErrors}
        keyOf={([code]) => code}
        columns={[
          {
            name: 'code',
            label: 'Code',
            show: ([code, , , advice]) => (
              <>
                <Code className="wrap">{code}</Code>
                <Text size="sm" hiddenFrom="sm" mt={4}>
                  {advice}
                </Text>
              </>
            ),
          },
          { name: 'status', label: 'Status', show: ([, status]) => <span className="tabular">{status}</span> },
          { name: 'retry', label: 'Retry', show: ([, , mayRetry]) => (mayRetry ? 'Yes' : 'No') },
          { name: 'advice', label: 'What to do', from: 'sm', show: ([, , , advice]) => advice },
        ]}
      />
    </Section>
  );
}
