// The last requests of a key, as they come.

import { Anchor, Group, Text, Title } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { formatMs, formatShort } from '../../figures.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Money } from '../../parts/money.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { When } from '../../parts/when.tsx';
import { usePages } from '../../queries.ts';
import { words } from '../../words.ts';

const SHOWN_AT_FIRST = 10;
const LOOK_MS = 5_000;
const { request } = words.keys;

const columns: readonly Column<UsageShape>[] = [
  {
    name: 'at',
    label: request.at,
    show: ({ at, request_id: requestId }) => (
      <Text size="sm" renderRoot={(props) => <Link {...props} to="/usage/$requestId" params={{ requestId }} />}>
        <When at={at} isRelative />
      </Text>
    ),
  },
  { name: 'model', label: request.model, show: ({ model }) => model },
  {
    name: 'outcome',
    label: request.outcome,
    show: ({ outcome }) => <StatusBadge status={outcome} label={words.outcomes[outcome]} />,
    from: 'sm',
  },
  { name: 'tokens', label: request.tokens, align: 'right', from: 'md', show: (row) => tokensOf(row) },
  { name: 'latency', label: request.latency, align: 'right', from: 'md', show: (row) => formatMs(row.latency_ms) },
  { name: 'cost', label: request.cost, align: 'right', show: ({ cost }) => <Money usd={cost} /> },
];

export function KeyRequests({ keyId }: { keyId: string }) {
  const rows = usePages<UsageShape>('/usage', { key: keyId, limit: SHOWN_AT_FIRST }, { everyMs: LOOK_MS });
  const navigate = useNavigate();
  return (
    <section aria-labelledby="key-requests">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="key-requests">
          {words.keys.lastRequests}
        </Title>
        <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/usage" search={{ key: keyId } as never} />}>
          {words.keys.allRequests}
        </Anchor>
      </Group>
      <DataTable
        label={words.keys.lastRequests}
        columns={columns}
        rows={{ ...rows, showMore: null }}
        keyOf={(row) => row.request_id}
        onOpen={(row) => void navigate({ to: '/usage/$requestId', params: { requestId: row.request_id } })}
        empty={<EmptyState icon="list" title={words.keys.noRequestsTitle} text={words.keys.noRequestsText} />}
      />
    </section>
  );
}

function tokensOf(row: UsageShape): string {
  const input = row.input_tokens + row.cache_read_input_tokens + row.cache_creation_input_tokens;
  return words.keys.tokensOf(formatShort(input), formatShort(row.output_tokens));
}
