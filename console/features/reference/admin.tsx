// All operations of the admin API by resource, from its OpenAPI document.

import { Accordion, Anchor, Box, Group, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useFilters } from '../../filters.ts';
import { useMe } from '../../me.tsx';
import { FilterBar, SearchFilter } from '../../parts/fields.tsx';
import { EmptyState, FailureNotice, Heading, Hint, Loading } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { type ApiDocument, byTag, findOperations, type Operation, operationsOf } from './api-document.ts';
import { ReferenceOperation, RequestPath } from './operation.tsx';

export function AdminReference({ openedId }: { openedId: string }) {
  const { role } = useMe();
  const filters = useFilters();
  const { data, error, refetch } = useGet('/openapi.json');
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const search = filters.values['search'] ?? '';
  const groups = byTag(findOperations(operationsOf(data), search));
  return (
    <>
      <Text size="sm" maw={720}>
        {role === 'member'
          ? 'Manages keys and usage. Authenticate with a token that the owner of your account creates.'
          : 'Manages keys, accounts, models and billing. Authenticate with a token from Admin tokens.'}{' '}
        <Anchor href="/api/v1/openapi.json" inherit underline="always">
          OpenAPI document
        </Anchor>
      </Text>
      <FilterBar mb={0}>
        <SearchFilter
          name="search"
          also={{ api: 'admin' }}
          label="Search operations"
          placeholder="key create, /usage, refund…"
          w={420}
          maw="100%"
        />
      </FilterBar>
      {groups.length === 0 && (
        <EmptyState
          icon="search"
          title="No matching operations"
          text="Search for a resource such as “key”, a method, or part of a path."
        />
      )}
      <Group align="flex-start" wrap="nowrap" gap="xl">
        <Contents tags={groups.map(([tag]) => tag)} />
        <Operations groups={groups} document={data} openedId={openedId} />
      </Group>
    </>
  );
}

/** Links to the resources on the page. */
function Contents({ tags }: { tags: readonly string[] }) {
  return (
    <Box component="nav" aria-label="Resources" visibleFrom="lg" w={150} pos="sticky" top={72}>
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
    // The address contains the last opened operation, so that it can be shared. The page does not scroll.
    if (added !== undefined)
      void navigate({ to: '.', search: true, hash: added, replace: true, hashScrollIntoView: false });
  };
  return (
    <Stack miw={0} flex={1} gap="lg">
      {groups.map(([tag, operations]) => (
        <Box component="section" key={tag} id={idOfTag(tag)} style={{ scrollMarginTop: 72 }}>
          <Heading mb="xs">{tag}</Heading>
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
          <Hint>{operation.summary}</Hint>
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
