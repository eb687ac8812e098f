// The last requests as they end, asked for again every few seconds while somebody looks.

import { Group, Stack, Switch, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { useNames } from '../../names.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { words } from '../../words.ts';
import { usageColumns } from '../usage/usage-columns.tsx';
import { useLastRequests } from './use-last-requests.ts';

const { live: its } = words.overview;
const LIVE_MS = 2_500;
const HEADING_ID = 'last-requests';

export function LiveRequests() {
  const [isLive, setLive] = useState(true);
  const isInstallation = isOfInstallation(useMe());
  const answer = useLastRequests(isLive ? LIVE_MS : undefined);
  const rows = answer.data?.data ?? [];
  const names = useNames(rows);
  const navigate = useNavigate();
  return (
    <Stack component="section" gap="xs" aria-labelledby={HEADING_ID}>
      <Group justify="space-between" align="flex-end" gap="xs">
        <Stack gap={2}>
          <Title order={2} size="h5" id={HEADING_ID}>
            {its.title}
          </Title>
          <Text size="xs" c="dimmed">
            {its.text}
          </Text>
        </Stack>
        <Group gap="md">
          <Switch
            size="xs"
            label={its.pause}
            checked={isLive}
            onChange={(event) => setLive(event.currentTarget.checked)}
          />
          <Text size="sm">
            <TextLink to="/usage">{its.all}</TextLink>
          </Text>
        </Group>
      </Group>
      <DataTable<UsageShape>
        label={its.title}
        columns={usageColumns(names, isInstallation)}
        rows={{
          rows,
          isLoading: answer.isLoading,
          failure: answer.error,
          showMore: null,
          isLoadingMore: false,
          reload: () => void answer.refetch(),
        }}
        keyOf={({ request_id }) => request_id}
        empty={null}
        onOpen={({ request_id }) => void navigate({ to: `/usage/${request_id}` })}
      />
    </Stack>
  );
}
