// One operation of the admin API: who may, what it takes and answers, and a request to paste.

import { Anchor, Badge, Box, Code, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import {
  type ApiDocument,
  boundsOf,
  curlOfOperation,
  innerOf,
  type Operation,
  resolve,
  type Schema,
  typeOf,
} from '../api-document.ts';
import { useBaseUrl } from '../base-url.ts';
import type { Role } from '../me.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { words } from '../words.ts';

const { reference } = words;

interface ReferenceOperationProps {
  operation: Operation;
  document: ApiDocument;
}

export function ReferenceOperation({ operation, document }: ReferenceOperationProps) {
  const baseUrl = useBaseUrl();
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Text size="sm">{reference.roles}:</Text>
        {operation.roles === null ? (
          <Text size="sm">{reference.anyone}</Text>
        ) : (
          operation.roles.map((role) => (
            <Badge key={role} variant="light" color="gray" tt="none">
              {words.roles[role as Role] ?? role}
            </Badge>
          ))
        )}
        <Code>{operation.id}</Code>
      </Group>
      <Part title={reference.request}>
        <CodeBlock code={curlOfOperation(operation, baseUrl, document)} />
      </Part>
      {operation.parameters.length > 0 && (
        <Part title={reference.parameters}>
          {operation.parameters.map(({ name, in: place, required, description, schema }) => (
            <Member
              key={`${place} ${name}`}
              name={name}
              place={reference.inPlace[place] ?? place}
              isNeeded={required === true}
              schema={{ ...schema, ...(description !== undefined && { description }) }}
              document={document}
            />
          ))}
        </Part>
      )}
      {operation.body !== null && (
        <Part title={reference.body} text={operation.isBodyRequired ? null : reference.bodyOptional}>
          <Members schema={operation.body} document={document} />
        </Part>
      )}
      {operation.answers.map(({ status, description, schema }) => (
        <Part key={status} title={reference.answer(status)} text={description}>
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
      {text && (
        <Text size="sm" c="dimmed">
          {text}
        </Text>
      )}
      {children}
    </Stack>
  );
}

function Members({ schema, document }: { schema: Schema; document: ApiDocument }) {
  const inner = innerOf(schema, document);
  const members = Object.entries(inner?.properties ?? {});
  if (inner === null || members.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {typeOf(schema, document)}
      </Text>
    );
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

/** Its own members are folded away: some descriptions lead to themselves. */
function Member({ name, place, isNeeded, schema, document }: MemberProps) {
  const [isOpen, inner] = useDisclosure(false);
  const resolved = resolve(schema, document);
  const bounds = boundsOf(resolved);
  const description = schema.description ?? resolved.description;
  return (
    <Box py={4}>
      <Group gap={8}>
        <Code style={{ overflowWrap: 'anywhere' }}>{name}</Code>
        <Text size="xs" c="dimmed">
          {[typeOf(schema, document), place, isNeeded ? reference.needed : null].filter(Boolean).join(', ')}
        </Text>
        {innerOf(schema, document) !== null && (
          <Anchor component="button" type="button" size="xs" onClick={inner.toggle} aria-expanded={isOpen}>
            {isOpen ? reference.hideMembers : reference.showMembers}
          </Anchor>
        )}
      </Group>
      {description !== undefined && <Text size="sm">{description}</Text>}
      {bounds.length > 0 && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {bounds.join('; ')}
        </Text>
      )}
      {isOpen && <Members schema={schema} document={document} />}
    </Box>
  );
}

function Errors({ operation }: { operation: Operation }) {
  return (
    <Part title={reference.errors}>
      <Table aria-label={reference.errors} verticalSpacing={4} withRowBorders={false}>
        <Table.Tbody>
          {operation.errors.map(({ status, description }) => (
            <Table.Tr key={status}>
              <Table.Td w={60} className="tabular" style={{ verticalAlign: 'top' }}>
                {status}
              </Table.Td>
              <Table.Td>
                <Text size="sm">{description}</Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Part>
  );
}
