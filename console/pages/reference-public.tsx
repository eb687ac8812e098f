// What a key can ask, in short: routes, requests to paste, headers, and errors with what to do.

import { Code, Group, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useBaseUrl } from '../base-url.ts';
import { CodeBlock } from '../parts/code-block.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { RequestPath } from '../parts/request-path.tsx';
import { Section } from '../parts/section.tsx';
import { publicErrors } from '../public-errors.ts';
import { curlOf, firstBody, KEY_VARIABLE, shellQuoted } from '../snippets.ts';
import { words } from '../words.ts';

const { reference } = words;
const MODEL = 'sandbox-echo';

export function PublicReference() {
  const baseUrl = useBaseUrl();
  const body = firstBody(MODEL, reference.firstMessage);
  const withKey = `  -H "x-api-key: $${KEY_VARIABLE}"`;
  const counted = [
    `curl ${shellQuoted(`${baseUrl}/v1/messages/count_tokens`)}`,
    withKey,
    "  -H 'content-type: application/json'",
    `  -d ${shellQuoted(JSON.stringify({ model: MODEL, messages: body['messages'] }))}`,
  ].join(' \\\n');
  return (
    <>
      <Section title={reference.publicTitle} text={reference.publicText}>
        <Group gap="xs">
          <Text size="sm">{reference.baseUrl}</Text>
          <Code fz="sm" style={{ overflowWrap: 'anywhere' }}>
            {baseUrl}
          </Code>
          <CopyButton text={baseUrl} />
        </Group>
        <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
          {reference.routes.map(([method, path, what]) => (
            <SimpleGrid key={path} component="li" cols={{ base: 1, sm: 2 }} spacing={4}>
              <RequestPath method={method} path={path} />
              <Text size="sm">{what}</Text>
            </SimpleGrid>
          ))}
        </Stack>
      </Section>
      <Section title={reference.first}>
        <CodeBlock code={curlOf({ baseUrl, key: null, body })} />
      </Section>
      <Section title={reference.count}>
        <CodeBlock code={counted} />
      </Section>
      <Section title={reference.models}>
        <CodeBlock code={`curl ${shellQuoted(`${baseUrl}/v1/models`)} \\\n${withKey}`} />
      </Section>
      <Section title={reference.headersTitle}>
        <Rows label={reference.headersTitle} head={[reference.header, reference.meaning]}>
          {reference.headers.map(([name, meaning]) => (
            <Row key={name} first={<Code>{name}</Code>}>
              {meaning}
            </Row>
          ))}
        </Rows>
      </Section>
      <ErrorTable />
    </>
  );
}

interface RowsProps {
  label: string;
  head: readonly string[];
  /** Of a last column that phones leave out. */
  headOfWide?: string;
  children: ReactNode;
}

function Rows({ label, head, headOfWide, children }: RowsProps) {
  return (
    <Table.ScrollContainer minWidth={0} type="native">
      <Table aria-label={label} verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            {head.map((name) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
            {headOfWide !== undefined && <Table.Th visibleFrom="sm">{headOfWide}</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Row({ first, children }: { first: ReactNode; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Td style={{ verticalAlign: 'top' }}>{first}</Table.Td>
      <Table.Td>
        <Text size="sm">{children}</Text>
      </Table.Td>
    </Table.Tr>
  );
}

function ErrorTable() {
  return (
    <Section title={reference.errorsTitle} text={reference.errorsText}>
      <Rows
        label={reference.errorsTitle}
        head={[reference.errorCode, reference.errorStatus, reference.errorAgain]}
        headOfWide={reference.errorDo}
      >
        {publicErrors.map(([code, status, mayRetry]) => (
          <Table.Tr key={code}>
            <Table.Td>
              <Code style={{ overflowWrap: 'anywhere' }}>{code}</Code>
              <Text size="sm" hiddenFrom="sm" mt={4}>
                {reference.errorActions[code]}
              </Text>
            </Table.Td>
            <Table.Td className="tabular">{status}</Table.Td>
            <Table.Td>{mayRetry ? reference.again : reference.notAgain}</Table.Td>
            <Table.Td visibleFrom="sm">
              <Text size="sm">{reference.errorActions[code]}</Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </Rows>
    </Section>
  );
}
