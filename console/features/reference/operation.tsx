// One operation: roles, parameters, body, responses, errors, and an example.

import { Anchor, Badge, Box, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { roleLabels } from '../../labels.ts';
import { type Role, useBaseUrl } from '../../me.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { PlainTable } from '../../parts/data-table.tsx';
import { Hint } from '../../parts/page.tsx';
import {
  type ApiDocument,
  boundsOf,
  curlOfOperation,
  innerOf,
  type Operation,
  resolve,
  type Schema,
  typeOf,
} from './api-document.ts';

const placeLabels = { path: 'path', query: 'query', header: 'header' } as Readonly<Record<string, string>>;

interface ReferenceOperationProps {
  operation: Operation;
  document: ApiDocument;
}

export function ReferenceOperation({ operation, document }: ReferenceOperationProps) {
  const baseUrl = useBaseUrl();
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Text size="sm">{'Roles'}:</Text>
        {operation.roles === null ? (
          <Text size="sm">No authentication</Text>
        ) : (
          operation.roles.map((role) => (
            <Badge key={role} color="gray">
              {roleLabels[role as Role] ?? role}
            </Badge>
          ))
        )}
        <Code>{operation.id}</Code>
      </Group>
      <Part title="Example">
        <CodeBlock code={curlOfOperation(operation, baseUrl, document)} />
      </Part>
      {operation.parameters.length > 0 && (
        <Part title="Parameters">
          {operation.parameters.map(({ name, in: place, required, description, schema }) => (
            <Member
              key={`${place} ${name}`}
              name={name}
              place={placeLabels[place] ?? place}
              isNeeded={required === true}
              schema={{ ...schema, ...(description !== undefined && { description }) }}
              document={document}
            />
          ))}
        </Part>
      )}
      {operation.body !== null && (
        <Part title="Request body" text={operation.isBodyRequired ? null : 'Optional.'}>
          <Members schema={operation.body} document={document} />
        </Part>
      )}
      {operation.answers.map(({ status, description, schema }) => (
        <Part key={status} title={`Response ${status}`} text={description}>
          {schema !== null && <Members schema={schema} document={document} />}
        </Part>
      ))}
      <Errors operation={operation} />
    </Stack>
  );
}

function Part({ title, text, children }: { title: string; text?: string | null; children: ReactNode }) {
  return (
    <Stack gap={6}>
      <Title order={4} size="sm">
        {title}
      </Title>
      {text && <Hint>{text}</Hint>}
      {children}
    </Stack>
  );
}

function Members({ schema, document }: { schema: Schema; document: ApiDocument }) {
  const inner = innerOf(schema, document);
  const members = Object.entries(inner?.properties ?? {});
  if (inner === null || members.length === 0) return <Hint>{typeOf(schema, document)}</Hint>;
  return (
    <Box style={{ borderLeft: '2px solid var(--mantine-color-default-border)' }} pl="sm">
      {members.map(([name, member]) => (
        <Member
          key={name}
          name={name}
          isNeeded={inner.required?.includes(name) === true}
          schema={member}
          document={document}
        />
      ))}
    </Box>
  );
}

interface MemberProps {
  name: string;
  place?: string;
  isNeeded: boolean;
  schema: Schema;
  document: ApiDocument;
}

/** Nested fields are collapsed, because some schemas are recursive. */
function Member({ name, place, isNeeded, schema, document }: MemberProps) {
  const [isOpen, inner] = useDisclosure(false);
  const resolved = resolve(schema, document);
  const bounds = boundsOf(resolved);
  const description = schema.description ?? resolved.description;
  return (
    <Box py={4}>
      <Group gap={8}>
        <Code className="wrap">{name}</Code>
        <Hint size="xs">
          {[typeOf(schema, document), place, isNeeded ? 'required' : null].filter(Boolean).join(', ')}
        </Hint>
        {innerOf(schema, document) !== null && (
          <Anchor component="button" type="button" size="xs" onClick={inner.toggle} aria-expanded={isOpen}>
            {isOpen ? 'Hide fields' : 'Show fields'}
          </Anchor>
        )}
      </Group>
      {description !== undefined && <Text size="sm">{description}</Text>}
      {bounds.length > 0 && (
        <Hint size="xs" className="wrap">
          {bounds.join('; ')}
        </Hint>
      )}
      {isOpen && <Members schema={schema} document={document} />}
    </Box>
  );
}

function Errors({ operation }: { operation: Operation }) {
  return (
    <Part title="Errors">
      <PlainTable
        label="Errors"
        isPadded={false}
        hasHead={false}
        rows={operation.errors}
        keyOf={({ status }) => String(status)}
        columns={[
          { name: 'status', label: 'Status', show: ({ status }) => <span className="tabular">{status}</span> },
          { name: 'text', label: 'Description', show: ({ description }) => description },
        ]}
      />
    </Part>
  );
}

export function RequestPath({ method, path }: { method: string; path: string }) {
  return (
    <Group gap={8} wrap="nowrap" miw={0}>
      <Badge color={method === 'GET' ? 'blue' : 'teal'} radius="sm" style={{ flexShrink: 0 }}>
        {method}
      </Badge>
      <Text span ff="monospace" fz="sm" className="wrap">
        {path}
      </Text>
    </Group>
  );
}
