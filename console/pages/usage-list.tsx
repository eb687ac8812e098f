// Every request, newest first: to be narrowed down, followed as they come, opened, and saved.

import { Button, Switch, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { UsageShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { useNames } from '../names.ts';
import { CsvButton } from '../parts/csv-button.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { words } from '../words.ts';
import { usageColumns, usageCsvColumns } from './usage/usage-columns.tsx';
import { UsageFilters } from './usage/usage-filters.tsx';
import { usageQuery } from './usage/usage-query.ts';
import { useUsage } from './usage/use-usage.ts';

const { usage: its } = words;

export function UsageList() {
  const filters = useFilters();
  const [askedAtMs, setAskedAtMs] = useState(() => Date.now());
  const [isLive, setLive] = useState(false);
  const query = usageQuery(filters.values, askedAtMs);
  const rows = useUsage(query, isLive);
  const isInstallation = isOfInstallation(useMe());
  const names = useNames(rows.rows);
  const navigate = useNavigate();
  const refresh = () => {
    setAskedAtMs(Date.now());
    rows.reload();
  };
  return (
    <>
      <PageHead
        title={words.nav.usage}
        text={its.text}
        actions={
          <>
            <Switch
              label={its.live}
              title={its.liveText}
              checked={isLive}
              onChange={(event) => setLive(event.currentTarget.checked)}
            />
            <Button variant="default" onClick={refresh} leftSection={<Icon name="refresh" />}>
              {its.refresh}
            </Button>
            <CsvButton
              path="/usage"
              query={query}
              columns={usageCsvColumns(isInstallation)}
              fileName={`usage-${new Date(askedAtMs).toISOString().slice(0, 10)}.csv`}
            />
          </>
        }
      />
      <UsageFilters filters={filters} />
      <DataTable<UsageShape>
        label={its.label}
        columns={usageColumns(names, isInstallation)}
        rows={rows}
        keyOf={({ request_id }) => request_id}
        empty={<Empty isNarrowed={Object.keys(filters.values).length > 0} onClear={filters.clear} />}
        onOpen={({ request_id }) => void navigate({ to: `/usage/${request_id}` })}
      />
      {rows.isFarBack && (
        <Text size="sm" c="dimmed" mt="xs" role="status">
          {its.searchedFar}
        </Text>
      )}
    </>
  );
}

function Empty({ isNarrowed, onClear }: { isNarrowed: boolean; onClear: () => void }) {
  if (isNarrowed)
    return (
      <EmptyState
        icon="search"
        title={its.noneTitle}
        text={its.noneText}
        action={<Button onClick={onClear}>{words.parts.clearFilters}</Button>}
      />
    );
  return (
    <EmptyState
      icon="list"
      title={its.emptyTitle}
      text={its.emptyText}
      action={
        <Button component={Link} to="/playground">
          {its.emptyAction}
        </Button>
      }
    />
  );
}
