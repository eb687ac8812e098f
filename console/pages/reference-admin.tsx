// Every operation of the admin API, by resource, out of the document that the service makes of its own checks.

import { Accordion, Anchor, Box, Group, Stack, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { type ApiDocument, byTag, findOperations, type Operation, operationsOf } from '../api-document.ts';
import { useFilters } from '../filters.ts';
import { useMe } from '../me.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { RequestPath } from '../parts/request-path.tsx';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { ReferenceOperation } from './reference-operation.tsx';

const { reference } = words;

export function AdminReference({ openedId }: { openedId: string }) {
  const { role } = useMe();
  const filters = useFilters();
  const { data, error, refetch } = useAsk<ApiDocument>('/openapi.json');
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  const search = filters.values['search'] ?? '';
  const groups = byTag(findOperations(operationsOf(data), search));
  return (
    <>
      <Text size="sm" maw={720}>
        {role === 'member' ? reference.adminTextMember : reference.adminText}{' '}
        <Anchor href="/api/v1/openapi.json" inherit>
          {reference.document}
        </Anchor>
      </Text>
      <TypedFilter
        label={reference.search}
        placeholder={reference.searchHint}
        leftSection={<Icon name="search" />}
        value={search}
        onChange={(text) => filters.set({ search: text, api: 'admin' })}
        maw={420}
      />
      {groups.length === 0 && (
        <EmptyState icon="search" title={reference.nothingFound} text={reference.nothingFoundText} />
      )}
      <Group align="flex-start" wrap="nowrap" gap="xl">
        <Contents tags={groups.map(([tag]) => tag)} />
        <Operations groups={groups} document={data} openedId={openedId} />
      </Group>
    </>
  );
}

/** Leads to the resources of the page. */
function Contents({ tags }: { tags: readonly string[] }) {
  return (
    <Box component="nav" aria-label={reference.contents} visibleFrom="lg" w={150} pos="sticky" top={72}>
      <Stack gap={4}>
        {tags.map((tag) => (
          <Anchor key={tag} component="button" type="button" ta="left" size="sm" onClick={() => scrollTo(idOfTag(tag))}>
            {tag}
          </Anchor>
        ))}
      </Stack>
    </Box>
  );
}

interface OperationsProps {
  groups: readonly [string, Operation[]][];
  document: ApiDocument;
  openedId: string;
}

function Operations({ groups, document, openedId }: OperationsProps) {
  const navigate = useNavigate();
  const [opened, setOpened] = useState<string[]>(openedId === '' ? [] : [openedId]);
  useEffect(() => {
    if (openedId === '') return;
    setOpened((before) => (before.includes(openedId) ? before : [...before, openedId]));
    scrollTo(openedId);
  }, [openedId]);
  const open = (ids: string[]) => {
    const added = ids.find((id) => !opened.includes(id));
    setOpened(ids);
    // The address names what was opened last, to be sent to somebody. The page stays where it is.
    if (added !== undefined)
      void navigate({ to: '.', search: true as never, hash: added, replace: true, hashScrollIntoView: false });
  };
  return (
    <Stack miw={0} flex={1} gap="lg">
      {groups.map(([tag, operations]) => (
        <Box component="section" key={tag} id={idOfTag(tag)} style={{ scrollMarginTop: 72 }}>
          <Title order={2} size="h4" mb="xs">
            {tag}
          </Title>
          <Accordion multiple variant="contained" order={3} value={opened} onChange={open} keepMounted={false}>
            {operations.map((operation) => (
              <OperationItem key={operation.id} operation={operation} document={document} />
            ))}
          </Accordion>
        </Box>
      ))}
    </Stack>
  );
}

function OperationItem({ operation, document }: { operation: Operation; document: ApiDocument }) {
  return (
    <Accordion.Item value={operation.id} id={operation.id} style={{ scrollMarginTop: 72 }}>
      <Accordion.Control>
        <Group justify="space-between" gap="xs" pr="sm">
          <RequestPath method={operation.method} path={operation.path} />
          <Text size="sm" c="dimmed">
            {operation.summary}
          </Text>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <ReferenceOperation operation={operation} document={document} />
      </Accordion.Panel>
    </Accordion.Item>
  );
}

function idOfTag(tag: string): string {
  return `resource-${tag}`;
}

function scrollTo(id: string): void {
  document.getElementById(id)?.scrollIntoView({ block: 'start' });
}
