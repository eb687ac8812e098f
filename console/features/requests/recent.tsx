// The newest requests of the installation, an account or a key, updated live.

import { Group, Switch } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { PageShape, UsageShape } from '../../../src/admin-api/shapes.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { useNames } from '../../names.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { pathOf, TextLink } from '../../parts/link.tsx';
import { EmptyState, Heading } from '../../parts/page.tsx';
import { useRange } from '../../parts/range.tsx';
import { rowsOf, useGet } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';
import { usageColumns } from './columns.tsx';

const REQUESTS_MAX = 8;
const LIVE_MS = 2_500;

interface RequestsOf {
  account?: string;
  key?: string;
  since?: string;
  until?: string;
}

export function useRecentRequests(of: RequestsOf = {}, everyMs?: number): UseQueryResult<PageShape<UsageShape>> {
  return useGet('/usage', { query: { limit: REQUESTS_MAX, ...of }, everyMs });
}

interface RecentRequestsProps {
  of?: Pick<RequestsOf, 'account' | 'key'>;
  /** Only those of the time range. */
  isOfRange?: boolean;
}

export function RecentRequests({ of = {}, isOfRange = false }: RecentRequestsProps) {
  const [isLive, setLive] = useState(true);
  const isInstallation = seesInstallation(useMe());
  const times = rangeQuery(useRange());
  const rows = rowsOf(useRecentRequests({ ...of, ...(isOfRange && times) }, isLive ? LIVE_MS : undefined));
  const names = useNames(rows.rows);
  const columns = usageColumns(names, isInstallation);
  const headingId = useId();
  return (
    <section aria-labelledby={headingId}>
      <Group justify="space-between" gap="xs" mb="sm">
        <Heading id={headingId}>Recent requests</Heading>
        <Group gap="md">
          <Switch size="xs" label="Live" checked={isLive} onChange={(event) => setLive(event.currentTarget.checked)} />
          <TextLink size="sm" to="/usage" search={{ ...of }}>
            View all requests
          </TextLink>
        </Group>
      </Group>
      <DataTable
        label="Recent requests"
        columns={of.key === undefined ? columns : columns.filter(({ name }) => name !== 'source')}
        rows={rows}
        keyOf={({ request_id: id }) => id}
        linkTo={({ request_id: id }) => pathOf.request(id)}
        empty={
          <EmptyState
            icon="list"
            title={isOfRange ? 'No requests in this period' : 'No requests yet'}
            text="New requests appear here with their cost."
          />
        }
      />
    </section>
  );
}
